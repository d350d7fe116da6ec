"""Bounds of the model and the annotators, against annotators per item and with their confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oversight.harness.plot.drawing import (
    DASHES,
    LEAST_HEIGHT,
    MARKERS,
    SERIES,
    draw_grid,
    new_axes,
    text_ink,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from oversight.harness.panel import GrowthPoint, Superhuman

CERTIFICATE_HEIGHT = LEAST_HEIGHT + 0.6
_CEILINGS = {"U_t": "U(t)", "U_e": "U(e)", "U_star": "U*", "U_panel": "U(p)"}


def certificate(found: Superhuman, growth: Sequence[GrowthPoint] = (), axes: Axes | None = None) -> Axes:
    """Draw the model's lower bound and the annotators' upper bounds, with their confidence bounds.

    Parameters
    ----------
    found
        As `oversight.harness.panel.assess_superhuman` gives it: the points at the right, where every bar ends
        at the confidence bound of the point.
    growth
        As `oversight.harness.panel.compute_bounds_by_size` gives it: the lines, means over shuffles without a
        bound.
    axes
        Where to draw; None makes axes.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    axes = new_axes(axes, CERTIFICATE_HEIGHT)
    bounds = {"L": (found.L, found.L_low)}
    bounds |= {name: (c.bound, c.high) for name, c in found.against.items() if name in _CEILINGS}
    last = max((p.annotators for p in growth), default=0)
    step = max(1.0, last / 8)
    for j, name in enumerate(("L", *_CEILINGS)):
        color, label = SERIES[j], "model, at least" if name == "L" else f"annotators ≤ {_CEILINGS[name]}"
        known = [(p.annotators, value) for p in growth if (value := getattr(p, name)) is not None]
        axes.plot(
            [k for k, _ in known],
            [v for _, v in known],
            color=color,
            lw=1.8,
            ls=DASHES[j],
            marker=MARKERS[j],
            ms=4,
        )
        if name in bounds:
            x = last + step * (1 + 0.14 * (j - 2))
            axes.plot([x, x], bounds[name], color=color, lw=2.2)
            axes.plot([x], bounds[name][:1], MARKERS[j], color=color, ms=7, label=label)
    _draw_oracle(axes, found)
    _name_places(axes, found, growth, last + step)
    axes.set_ylabel("accuracy (share of items)")
    draw_grid(axes, "y")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return axes


def _draw_oracle(axes: Axes, found: Superhuman) -> None:
    if found.check is not None:
        for label, value, dashes in (
            ("annotators, by the oracle", found.check.human_accuracy, (1, 2)),
            ("model, by the oracle", found.check.model_accuracy, (4, 3)),
        ):
            axes.axhline(value, color=text_ink(), lw=0.9, ls=(0, dashes), label=label)


def _name_places(axes: Axes, found: Superhuman, growth: Sequence[GrowthPoint], right: float) -> None:
    """Title, and names of the places along the axis: numbers of annotators, and all of the panel."""
    from matplotlib.ticker import PercentFormatter

    decided = "certified" if found.certified else "not certified"
    title = f"Is the model better than the average annotator? {decided}, at {found.level:.0%}"
    if not found.holds:
        title += "\nconditional: a bound of the model only if it does not share the annotators' errors"
    axes.set_title(title, fontsize=10)
    places = [p.annotators for p in growth]
    axes.set_xticks(
        [*places, right], [*map(str, places), f"all {found.N:,} items,\nwith {found.level:.0%} bound"]
    )
    axes.set_xlabel("annotators per item" if places else "")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
