"""Ink, colours and axes that all plots share, and SVG that takes its ink from the page."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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


@contextmanager
def figure(height: float) -> Iterator[tuple[Figure, Axes]]:
    """One pair of axes as wide as the page, in the style of all plots as long as it is drawn."""
    with mpl.rc_context(STYLE):
        drawn = Figure(figsize=(7.6, height), layout="constrained")
        yield drawn, drawn.add_subplot()


def percent_axis(axes: Axes, which: Literal["x", "y"]) -> None:
    """Let the axis x or y run from 0 to 100 %."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xlim if which == "x" else axes.set_ylim)(0, 1)
    axis.set_major_formatter(mpl.ticker.PercentFormatter(1.0))
    axes.grid(axis=which, color="#888888", alpha=0.25, lw=0.8)


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
