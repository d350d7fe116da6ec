"""Pictures of panels: agreement per class, bounds against annotators, human and model per bin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

from harness.report.drawing import INK, SERIES, figure, percent_axis, svg

if TYPE_CHECKING:
    from harness.panel import Parity


def alphas_svg(categories: Mapping[str, float | None], reliable: float) -> str:
    """Krippendorff's α of every class, best first; those undefined are left out and named."""
    rows = sorted(((a, c) for c, a in categories.items() if a is not None))
    left_out = [c for c, a in categories.items() if a is None]
    with figure(height=0.9 + 0.3 * max(1, len(rows))) as (drawn, axes):
        for y, (alpha, _) in enumerate(rows):
            axes.plot([0, alpha], [y, y], color=SERIES[0], lw=2.2, solid_capstyle="butt")
            axes.plot([alpha], [y], "o", color=SERIES[0], ms=6)
        axes.axvline(reliable, color=INK, lw=0.9, ls=(0, (4, 3)))
        axes.set_yticks(range(len(rows)), [c for _, c in rows])
        axes.set_ylim(-0.5, max(1, len(rows)) - 0.5)
        axes.set_xlim(min(0.0, *(a for a, _ in rows), 0.0) if rows else 0.0, 1)
        named = f"  (undefined: {', '.join(left_out)})" if left_out else ""
        axes.set_xlabel(f"Krippendorff's α against the rest; dashed: {reliable:g}{named}")
        axes.grid(axis="x", color="#888888", alpha=0.25, lw=0.8)
        return svg(drawn)


def bounds_svg(
    points: Sequence[Mapping[str, Any]],
    oracle: tuple[float, float] | None = None,
    *,
    conditional: bool = False,
) -> str:
    """Lower bound of the model and upper bounds of the annotators against annotators per item.

    Parameters
    ----------
    points
        ``annotators, L, U_e, U_t, U_star, U_panel`` each.
    oracle
        Accuracy of annotators and model by an oracle, as thin lines.
    conditional
        Whether the model's bound rests on an assumption that no oracle label has shown; then the picture
        says so.
    """
    names = {
        "L": "model, at least",
        "U_t": "annotators ≤ U(t)",
        "U_e": "≤ U(e)",
        "U_star": "≤ U*",
        "U_panel": "≤ U(p)",
    }
    with figure(height=3.4) as (drawn, axes):
        for j, (key, label) in enumerate(names.items()):
            known = [(p["annotators"], p[key]) for p in points if p[key] is not None]
            axes.plot(*zip(*known, strict=True), "o-", color=SERIES[j], lw=1.8, ms=4, label=label)
        lines = {"annotators, by the oracle": (1, 2), "model, by the oracle": (4, 3)}
        for value, (label, dashes) in zip(oracle or (), lines.items(), strict=False):
            axes.axhline(value, color=INK, lw=0.9, ls=(0, dashes), label=label)
        axes.set_xlabel("annotators per item")
        axes.set_ylabel("accuracy")
        if conditional:
            axes.set_title(
                "conditional: a bound of the model only if it does not share the annotators' errors",
                fontsize=9,
            )
        axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))
        axes.grid(axis="y", color="#888888", alpha=0.25, lw=0.8)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return svg(drawn)


def parity_svg(found: Parity) -> str:
    """Human and model accuracy with intervals per bin of certainty, and what could be expected."""
    rows = (*found.bins, found.overall)
    with figure(height=3.4) as (drawn, axes):
        for j, who in enumerate(("human", "model")):
            shift = (j - 0.5) * 0.22
            for x, b in enumerate(rows):
                s = getattr(b, who)
                axes.plot([x + shift] * 2, [s.low, s.high], color=SERIES[j], lw=2.2)
                axes.plot([x + shift], [s.value], "o", color=SERIES[j], ms=6, label=who if x == 0 else None)
        for x, b in enumerate(rows):
            axes.plot([x - 0.3, x + 0.3], [b.p_d] * 2, color=INK, lw=0.9, ls=(0, (4, 3)))
        axes.set_xticks(range(len(rows)), [f"{b.name}\n{b.items} items" for b in rows])
        axes.set_ylabel("accuracy against the vote")
        percent_axis(axes, "y")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="dashed: expected\nof an expert")
        return svg(drawn)
