"""The plots of a study's report: intervals of every estimate, and how they close with more answers."""

from __future__ import annotations

import math

from harness.analysis import StudyReport
from harness.report.drawing import INK, SERIES, figure, percent_axis, svg
from harness.report.estimate_words import estimator_name

_INSIDE, _ABREAST = 8, 3
"""Names of models that a legend has room for inside of its axes; names in a row of one below them."""


def intervals_svg(study: StudyReport) -> str:
    """Every model's estimates with their intervals, and the truth where the key was opened."""
    rows = [(m, name, e) for m in study.models for name, e in m.estimates.items()]
    with figure(height=0.9 + 0.34 * len(rows)) as (drawn, axes):
        for y, (model, name, estimate) in enumerate(reversed(rows)):
            color = SERIES[study.models.index(model) % len(SERIES)]
            style = "-" if estimate.holds else ":"
            axes.plot(
                [estimate.low, estimate.high], [y, y], style, color=color, lw=2.2, solid_capstyle="butt"
            )
            quoted = name == next(iter(model.estimates))
            axes.plot([estimate.clipped], [y], "o", color=color, ms=6 if quoted else 4)
            if model.truth is not None:
                axes.plot([model.truth] * 2, [y - 0.35, y + 0.35], color=INK, lw=1.2)
        several = len(study.models) > 1
        labels = [
            f"{m.name}: " * several + estimator_name(n) + ("" if e.holds else " (!)")
            for m, n, e in reversed(rows)
        ]
        axes.set_yticks(range(len(rows)), labels)
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_xlabel("accuracy" + ("  (upright line: by the opened key)" if study.opened else ""))
        percent_axis(axes, "x")
        return svg(drawn)


def curve_svg(study: StudyReport) -> str:
    """How the interval closes with more answers: the first estimate from every so many of them."""
    rows = math.ceil(len(study.models) / _ABREAST) if len(study.models) > _INSIDE else 0
    with figure(height=3.4 + 0.22 * rows) as (drawn, axes):
        for j, model in enumerate(study.models):
            if not model.curve:
                continue
            color = SERIES[j % len(SERIES)]
            n = [count for count, _ in model.curve]
            low, high = [e.low for _, e in model.curve], [e.high for _, e in model.curve]
            axes.fill_between(n, low, high, color=color, alpha=0.22, lw=0)
            axes.plot(n, [e.clipped for _, e in model.curve], color=color, lw=1.8, label=model.name)
            if model.truth is not None:
                axes.axhline(model.truth, color=INK, lw=0.9, ls=(0, (4, 3)))
        axes.set_xlabel(
            "answers, in the order of the draw" + ("  (dashed: by the opened key)" if study.opened else "")
        )
        axes.set_ylabel("accuracy")
        percent_axis(axes, "y")
        if rows:
            drawn.legend(loc="outside lower center", ncols=_ABREAST)
        elif len(study.models) > 1:
            axes.legend()
        return svg(drawn)
