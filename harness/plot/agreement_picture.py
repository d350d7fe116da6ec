"""How well annotators agree, in all and class by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oversight.harness.panel import RELIABLE
from oversight.harness.plot.drawing import SERIES, THIN, draw_grid, new_axes, rows_height, text_ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from oversight.harness.panel import AgreementReport

_ROWS, _NAMED = 40, 12
"""Classes that are drawn, and undefined ones that are named."""


def agreement(report: AgreementReport, axes: Axes | None = None) -> Axes:
    """Draw Krippendorff's α with its interval, and that of every class against the rest, best first.

    Of more than 40 classes those with the lowest α are drawn.

    Parameters
    ----------
    report
        As `oversight.harness.panel.measure_agreement` gives it; a class whose α is undefined is named below.
    axes
        Where to draw; None makes axes.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    known = sorted((a, c) for c, a in report.categories.items() if a is not None)
    rows, left_out = known[:_ROWS], [c for c, a in report.categories.items() if a is None]
    axes = new_axes(axes, agreement_height(report))
    for y, (value, _) in enumerate(rows):
        axes.plot([0, value], [y, y], color=SERIES[0], lw=2.2, solid_capstyle="butt")
        axes.plot([value], [y], "o", color=SERIES[0], ms=6)
    names, ends, told = [name for _, name in rows], [0.0, *(a for a, _ in rows)], ""
    if report.alpha is not None:
        y, a = len(rows), report.alpha
        if a.low is not None and a.high is not None:
            axes.plot([a.low, a.high], [y, y], color=SERIES[1], lw=2.2, solid_capstyle="butt")
            ends.append(a.low)
            told = f", {a.level:.0%} interval"
        axes.plot([a.value], [y], "s", color=SERIES[1], ms=7)
        ends.append(a.value)
        names.append(f"all classes{told}")
    axes.axvline(RELIABLE, color=text_ink(), lw=0.9, ls=THIN)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.5, max(1, len(names)) - 0.5)
    axes.set_xlim(min(ends) - 0.02 * (min(ends) < 0), 1)
    axes.set_title(f"Agreement of {report.annotators} annotators on {report.items:,} items")
    named = f"\nundefined: {', '.join(left_out[:_NAMED])}" if left_out else ""
    named += f" and {len(left_out) - _NAMED:,} more" if len(left_out) > _NAMED else ""
    named += f"\nnot drawn: {len(known) - _ROWS:,} classes of higher α" if len(known) > _ROWS else ""
    axes.set_xlabel(
        f"Krippendorff's α, {report.level}; of a class against the rest\n"
        f"dashed: {RELIABLE:g}, reliable{named}"
    )
    draw_grid(axes, "x")
    return axes


def agreement_height(report: AgreementReport) -> float:
    """Height in inches that all rows take."""
    return rows_height(min(len(report.categories), _ROWS) + 1)
