"""Every model's estimates with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.plot.drawing import SERIES, new_axes, rows_height, show_percent, text_ink
from harness.types import estimator_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.analysis import StudyReport


def estimates(report: StudyReport, axes: Axes | None = None) -> Axes:
    """Draw every estimate of every model with its interval, and the truth where the key was opened.

    Parameters
    ----------
    report
        As `harness.analysis.report_study` gives it.
    axes
        Where to draw; None makes axes.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    rows = [(m, name, e) for m in report.models for name, e in m.estimates.items()]
    axes = new_axes(axes, estimates_height(report))
    for y, (model, name, estimate) in enumerate(reversed(rows)):
        color = SERIES[report.models.index(model) % len(SERIES)]
        style = "-" if estimate.holds else ":"
        axes.plot([estimate.low, estimate.high], [y, y], style, color=color, lw=2.2, solid_capstyle="butt")
        quoted = name == next(iter(model.estimates))
        axes.plot([estimate.clipped], [y], "o", color=color, ms=6 if quoted else 4)
        if model.truth is not None:
            axes.plot([model.truth] * 2, [y - 0.35, y + 0.35], color=text_ink(), lw=1.2)
    several = len(report.models) > 1
    labels = [
        f"{m.name}: " * several + estimator_name(n) + ("" if e.holds else " (!)")
        for m, n, e in reversed(rows)
    ]
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(-0.6, max(1, len(rows)) - 0.4)
    levels = " and ".join(f"{level:.0%}" for level in sorted({e.level for _, _, e in rows}))
    axes.set_title(f"Accuracy from {report.n_answers:,} answers, with {levels or 'no'} intervals")
    said = ("upright line: by the opened key",) * report.opened
    said += ("(!) dotted: the interval may not hold",) * any(not e.holds for _, _, e in rows)
    axes.set_xlabel("accuracy" + (f"  ({'; '.join(said)})" if said else ""))
    show_percent(axes, "x")
    return axes


def estimates_height(report: StudyReport) -> float:
    """Height in inches that all rows take."""
    return rows_height(sum(len(model.estimates) for model in report.models))
