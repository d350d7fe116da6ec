"""Axes, ink and colours that all pictures share, and SVG that takes its ink from the page around it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from oversight.harness.distribution import install_line
from oversight.harness.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, LEAST_HEIGHT = 7.6, 3.6
_INK = "#010203"
SERIES = ("#3f7cc4", "#d0692f", "#3a9a6b", "#a35bb5", "#b39000", "#5f6b7a")
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (3, 3)), (0, (8, 2)))
"""Marks also distinguish the series: a colour alone says nothing to many, nor in print."""
THIN = (0, (4, 3))
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "oversight",  # the same study gives the same file
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
}


def new_axes(axes: Axes | None, height: float = LEAST_HEIGHT) -> Axes:
    """The axes to draw on, or new ones of a height in inches.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ConfigError(_missing(error)) from None
    made: Axes = pyplot.subplots(figsize=(WIDTH, height), layout="constrained")[1]
    return made


def draw_svg(draw: Callable[[Axes], object], height: float = LEAST_HEIGHT) -> str:
    """Return a function's drawing as SVG, as wide as a page and in the page's text colour.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError(_missing(error)) from None
    with mpl.rc_context(_STYLE):
        drawn = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(drawn.add_subplot())
        return _write_svg(drawn)


def rows_height(rows: int) -> float:
    """Height in inches of a picture with this number of rows."""
    return 1.3 + 0.34 * max(1, rows)


def text_ink() -> str:
    """The ink of texts in the style that is set, for lines that belong to no series."""
    import matplotlib as mpl

    return str(mpl.rcParams["text.color"])


def show_percent(axes: Axes, which: Literal["x", "y"]) -> None:
    """Let the axis x or y run from 0 to 100 %."""
    from matplotlib.ticker import PercentFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xlim if which == "x" else axes.set_ylim)(0, 1)
    axis.set_major_formatter(PercentFormatter(1.0))
    draw_grid(axes, which)


def draw_interval(
    axes: Axes, y: float, ends: Sequence[float], value: float, color: str, style: str = "-"
) -> None:
    """Draw a value with its interval in the row `y`; what is nan is left out."""
    axes.plot(ends, [y, y], style, color=color, lw=2.2, solid_capstyle="butt")
    axes.plot([value], [y], "o", color=color, ms=6)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Name the rows of intervals, from the lowest one."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, max(1, len(names)) - 0.4)
    draw_grid(axes, "x")


def draw_grid(axes: Axes, which: Literal["x", "y"]) -> None:
    """Faint lines at the ticks of one axis."""
    axes.grid(axis=which, color="#888888", alpha=0.25, lw=0.8)


def _missing(error: ImportError) -> str:
    return f"pictures need: {install_line('report')} ({error})"


def _write_svg(drawn: Figure) -> str:
    buffer = io.StringIO()
    drawn.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    # Without a size of its own the picture takes the page's width; its viewBox keeps the shape.
    head, body = text.split(">", 1)
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    return f"{head}>{body}".replace(_INK, "currentColor")
