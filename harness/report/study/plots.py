"""Plots as SVG that takes its ink from the page, so that it reads in light, dark and print."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from harness.report.study.contents import ESTIMATOR_NAMES, StudyReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes


INK = "#010203"
SERIES = ("#3f7cc4", "#d0692f", "#3a9a6b", "#a35bb5", "#b39000", "#5f6b7a")
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "oversight",  # the same study gives the same file
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}


def intervals_svg(study: StudyReport) -> str:
    """Every model's estimates with their intervals, and the truth where the key was opened."""
    rows = [(m, name, e) for m in study.models for name, e in m.estimates.items()]
    with mpl.rc_context(STYLE):
        drawn, axes = figure(height=0.9 + 0.34 * len(rows))
        for y, (model, name, estimate) in enumerate(reversed(rows)):
            color = SERIES[study.models.index(model) % len(SERIES)]
            axes.plot([estimate.low, estimate.high], [y, y], color=color, lw=2.2, solid_capstyle="butt")
            quoted = name == next(iter(model.estimates))
            axes.plot([estimate.clipped], [y], "o", color=color, ms=6 if quoted else 4)
            if model.truth is not None:
                axes.plot([model.truth] * 2, [y - 0.35, y + 0.35], color=INK, lw=1.2)
        axes.set_yticks(range(len(rows)), [_row_label(study, m.name, n) for m, n, _ in reversed(rows)])
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_xlabel("accuracy" + ("  (upright line: by the opened key)" if _opened(study) else ""))
        percent_axis(axes, "x")
        return svg(drawn)


def curve_svg(study: StudyReport) -> str:
    """How the interval closes as labels arrive: the first estimate after every so many answers."""
    with mpl.rc_context(STYLE):
        drawn, axes = figure(height=3.4)
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
        axes.set_xlabel("answers received" + ("  (dashed: by the opened key)" if _opened(study) else ""))
        axes.set_ylabel("accuracy")
        percent_axis(axes, "y")
        if len(study.models) > 1:
            axes.legend()
        return svg(drawn)


def _row_label(study: StudyReport, model: str, name: str) -> str:
    label = ESTIMATOR_NAMES.get(name, name)
    return label if len(study.models) == 1 else f"{model}: {label}"


def _opened(study: StudyReport) -> bool:
    return any(model.truth is not None for model in study.models)


def figure(height: float) -> tuple[Figure, Axes]:
    """One pair of axes as wide as the page."""
    drawn = Figure(figsize=(7.6, height), layout="constrained")
    return drawn, drawn.add_subplot()


def percent_axis(axes: Axes, which: str) -> None:
    """Let the axis x or y run from 0 to 100 %."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xlim if which == "x" else axes.set_ylim)(0, 1)
    axis.set_major_formatter(mpl.ticker.PercentFormatter(1.0))
    axes.grid(axis=which, color="#888888", alpha=0.25, lw=0.8)  # type: ignore[arg-type]  # "x" or "y"


def svg(drawn: Figure) -> str:
    """Turn a figure into SVG without a size and in the page's own ink."""
    buffer = io.StringIO()
    drawn.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    # Without a size of its own the picture takes the page's width; its viewBox keeps the shape.
    head, body = text.split(">", 1)
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    return f"{head}>{body}".replace(INK, "currentColor")
