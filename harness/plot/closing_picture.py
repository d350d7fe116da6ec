"""How every model's interval closes with more answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oversight.harness.errors import BadInput
from oversight.harness.plot.drawing import (
    DASHES,
    LEAST_HEIGHT,
    SERIES,
    THIN,
    new_axes,
    show_percent,
    text_ink,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from oversight.harness.analysis import StudyReport

_ABREAST = 3
"""Names of models in a row of the legend, which stands below the axes."""


def closing(report: StudyReport, axes: Axes | None = None) -> Axes:
    """Draw the first estimate of every model from so many answers, in the order of the draw.

    Parameters
    ----------
    report
        As `oversight.harness.analysis.report_study` gives it with ``curve=True``; the picture says so if
        there is none.
    axes
        Where to draw; None makes axes.

    Raises
    ------
    BadInput
        If `report` is no study's report: estimates in memory do not know the order of the answers.
    ConfigError
        If the ``report`` extra is missing.
    """
    if not hasattr(report, "models"):
        raise BadInput(f"plot.closing: needs a study's report; this is of type {type(report).__name__}")
    axes = new_axes(axes, closing_height(report))
    for j, model in enumerate(report.models):
        if not model.curve:
            continue
        color, dashes = SERIES[j % len(SERIES)], DASHES[j % len(DASHES)]
        n = [count for count, _ in model.curve]
        axes.fill_between(
            n,
            [e.low for _, e in model.curve],
            [e.high for _, e in model.curve],
            color=color,
            alpha=0.22,
            lw=0,
        )
        axes.plot(n, [e.clipped for _, e in model.curve], ls=dashes, color=color, lw=1.8, label=model.name)
        if model.truth is not None:
            axes.axhline(model.truth, color=text_ink(), lw=0.9, ls=THIN)
    levels = sorted({e.level for m in report.models for _, e in m.curve})
    axes.set_title(
        f"Accuracy with {' and '.join(f'{level:.0%}' for level in levels)} intervals as answers came in"
        if levels
        else "No model has an estimate from part of the answers (curve=True asks for them)"
    )
    axes.set_xlabel(
        "answers, in the order of the draw" + ("  (thin dashes: by the opened key)" if report.opened else "")
    )
    axes.set_ylabel("accuracy")
    show_percent(axes, "y")
    if levels and len(report.models) > 1:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=_ABREAST)
    return axes


def closing_height(report: StudyReport) -> float:
    """Height in inches that the picture and its legend take."""
    several = len(report.models) > 1
    return LEAST_HEIGHT + 0.24 * several * -(-len(report.models) // _ABREAST)
