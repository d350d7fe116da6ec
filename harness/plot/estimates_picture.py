"""Plots of every model's estimates with intervals, and of how intervals narrow with more answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from oversight.harness.argument_checks import check_mapping
from oversight.harness.errors import BadInput
from oversight.harness.plot.drawing import (
    DASHES,
    LEAST_HEIGHT,
    SERIES,
    draw_interval,
    name_rows,
    new_axes,
    rows_height,
    show_percent,
    text_ink,
)
from oversight.harness.types import Estimate, estimator_name, main_estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from oversight.harness.analysis import EstimatesOverTime, StudyReport

Results = Estimate | Mapping[str, Estimate] | Mapping[str, Mapping[str, Estimate]]
"""Estimates in memory: one estimate, one model's estimates by estimator, or those of several models."""


@dataclass(frozen=True, eq=False)
class _Drawn:
    name: str
    estimates: Mapping[str, Estimate]
    truth: float | None = None


def estimates(report: StudyReport | Results, axes: Axes | None = None) -> Axes:
    """Draw every model's estimates with intervals, and its true accuracy if the answer key was unsealed.

    Parameters
    ----------
    report
        Result of `oversight.harness.analysis.report_study`, `oversight.accuracy`,
        `oversight.accuracies` or `oversight.model_accuracies`.
    axes
        Axes to draw on; None for new ones.

    Raises
    ------
    BadInput
        If `report` is not such a result.
    ConfigError
        If the ``report`` extra is missing.
    """
    models = _models_of(report)
    rows = [(m, name, e) for m in models for name, e in m.estimates.items()]
    axes = new_axes(axes, rows_height(len(rows)))
    for y, (model, _, estimate) in enumerate(reversed(rows)):
        color = SERIES[models.index(model) % len(SERIES)]
        ends = (estimate.low, estimate.high)
        draw_interval(axes, y, ends, estimate.clipped, color, "-" if estimate.holds else ":")
        if estimate is main_estimate(model.estimates):
            axes.plot([estimate.clipped], [y], "o", color=color, ms=8)
        if model.truth is not None:
            axes.plot([model.truth] * 2, [y - 0.35, y + 0.35], color=text_ink(), lw=1.2)
    several = len(models) > 1
    labels = [
        f"{m.name}: " * several + estimator_name(n) + ("" if e.holds else " (!)")
        for m, n, e in reversed(rows)
    ]
    name_rows(axes, labels)
    levels = " and ".join(f"{level:.0%}" for level in sorted({e.level for _, _, e in rows}))
    n_answers = getattr(report, "n_answers", None)
    source = "" if n_answers is None else f" from {n_answers:,} answers,"
    axes.set_title(f"Accuracy{source} with {levels or 'no'} intervals")
    said = ("upright line: by the opened key",) * getattr(report, "opened", False)
    said += ("(!) dotted: the interval may not hold",) * any(not e.holds for _, _, e in rows)
    axes.set_xlabel("accuracy" + (f"  ({'; '.join(said)})" if said else ""))
    show_percent(axes, "x")
    return axes


def _models_of(report: StudyReport | Results) -> list[_Drawn]:
    if isinstance(report, Estimate):
        return [_Drawn("", {report.estimator: report})]
    if isinstance(report, Mapping):
        if all(isinstance(each, Estimate) for each in report.values()):
            return [_Drawn("", cast("Mapping[str, Estimate]", report))]
        if all(isinstance(each, Mapping) for each in report.values()):
            return [_Drawn(name, cast("Mapping[str, Estimate]", each)) for name, each in report.items()]
    elif hasattr(report, "models"):
        return [_Drawn(model.name, model.estimates, model.truth) for model in report.models]
    raise BadInput(
        "plot.estimates: give a study's report or the result of accuracy, accuracies or model_accuracies, "
        f"not a value of type {type(report).__name__}"
    )


_ABREAST = 3
"""Number of models per row of the legend below the axes."""


def closing(closings: Mapping[str, EstimatesOverTime], axes: Axes | None = None) -> Axes:
    """Draw how every model's estimate changes as answers are added in the order their questions were drawn.

    The name of a model is marked (!) if one of its intervals may not hold.

    Parameters
    ----------
    closings
        Name of the model → result of `oversight.harness.analysis.close_interval`.
    axes
        Axes to draw on; None for new ones.

    Raises
    ------
    BadInput
        If `closings` is not a mapping.
    ConfigError
        If the ``report`` extra is missing.
    """
    check_mapping("closings", closings, "name of the model to what close_interval returned")
    doubtful = {name for name, found in closings.items() if any(not e.holds for _, e in found.points)}
    several = len(closings) > 1
    axes = new_axes(axes, LEAST_HEIGHT + 0.24 * several * -(-len(closings) // _ABREAST))
    for j, (name, found) in enumerate(closings.items()):
        color, dashes = SERIES[j % len(SERIES)], DASHES[j % len(DASHES)]
        n = [count for count, _ in found.points]
        ends = ([e.low for _, e in found.points], [e.high for _, e in found.points])
        axes.fill_between(n, *ends, color=color, alpha=0.22, lw=0)
        axes.plot(
            n,
            [e.clipped for _, e in found.points],
            ls=dashes,
            color=color,
            lw=1.8,
            label=name + " (!)" * (name in doubtful),
        )
    levels = sorted({e.level for found in closings.values() for _, e in found.points})
    axes.set_title(
        f"Accuracy with {' and '.join(f'{level:.0%}' for level in levels)} intervals as answers came in"
        if levels
        else "No model has an estimate from part of the answers"
    )
    said = "  ((!): the interval may not hold)" if doubtful else ""
    axes.set_xlabel(f"answers, in the order of the draw{said}")
    axes.set_ylabel("accuracy")
    show_percent(axes, "y")
    if levels and (several or doubtful):
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=_ABREAST)
    return axes
