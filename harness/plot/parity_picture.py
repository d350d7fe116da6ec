"""Human and model against a vote, by how certain the vote is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oversight.harness.plot.drawing import MARKERS, SERIES, THIN, new_axes, show_percent, text_ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from oversight.harness.panel import Parity


def parity(found: Parity, axes: Axes | None = None) -> Axes:
    """Draw accuracy of human and model with intervals per bin of certainty, and what could be expected.

    Parameters
    ----------
    found
        As `oversight.harness.panel.measure_parity` gives it.
    axes
        Where to draw; None makes axes.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    rows = (*found.bins, found.overall)
    axes = new_axes(axes)
    for j, who in enumerate(("human", "model")):
        shift = (j - 0.5) * 0.22
        for x, b in enumerate(rows):
            share = getattr(b, who)
            axes.plot([x + shift] * 2, [share.low, share.high], color=SERIES[j], lw=2.2)
            axes.plot([x + shift], [share.value], MARKERS[j], color=SERIES[j], ms=6, label=None if x else who)
    for x, b in enumerate(rows):
        expected = "expected of\nan expert" if x == 0 else None
        axes.plot([x - 0.3, x + 0.3], [b.p_d] * 2, color=text_ink(), lw=0.9, ls=THIN, label=expected)
    axes.set_xticks(range(len(rows)), [f"{b.name}\n{b.items:,} items" for b in rows])
    axes.set_xlabel("share of the votes that the winning class has")
    axes.set_title(f"Human and model against the vote, with {found.level:.0%} intervals")
    axes.set_ylabel("accuracy against the vote")
    show_percent(axes, "y")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return axes
