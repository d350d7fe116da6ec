"""Axes, colours and styles of all plots, and SVG that takes its text colour from the page around it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from oversight.harness.distribution import install_line
from oversight.harness.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, LEAST_HEIGHT = 7.6, 3.6
_INK, _OWN = "#010203", "oversight"
SERIES = ("#3f7cc4", "#d0692f", "#3a9a6b", "#a35bb5", "#b39000", "#5f6b7a")
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (3, 3)), (0, (8, 2)))
"""Line styles: series differ in line style and marker, not only in colour, which print may not show."""
THIN = (0, (4, 3))
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "oversight",  # a fixed salt, so that the same study gives the same file
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
    """Return the given axes, or new ones with the given height in inches; axes of `draw_svg` get the height.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    if axes is not None:
        if axes.get_label() == _OWN:
            cast("Figure", axes.figure).set_figheight(height)
        return axes
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ConfigError(_missing(error)) from None
    made: Axes = pyplot.subplots(figsize=(WIDTH, height), layout="constrained")[1]
    return made


def draw_svg(draw: Callable[[Axes], object]) -> str:
    """Call `draw` with new axes and return the plot as SVG, as wide as the page and in its text colour.

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
        drawn = Figure(figsize=(WIDTH, LEAST_HEIGHT), layout="constrained")
        draw(drawn.add_subplot(label=_OWN))
        return _write_svg(drawn)


def rows_height(rows: int) -> float:
    """Return the height in inches of a plot with this number of rows."""
    return 1.3 + 0.34 * max(1, rows)


def text_ink() -> str:
    """Return the text colour of the current style, for lines that belong to no series."""
    import matplotlib as mpl

    return str(mpl.rcParams["text.color"])


def show_percent(axes: Axes, which: Literal["x", "y"]) -> None:
    """Set the axis x or y to the range from 0 to 100 %."""
    from matplotlib.ticker import PercentFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xlim if which == "x" else axes.set_ylim)(0, 1)
    axis.set_major_formatter(PercentFormatter(1.0))
    draw_grid(axes, which)


def draw_interval(
    axes: Axes, y: float, ends: Sequence[float], value: float, color: str, style: str = "-"
) -> None:
    """Draw a value with its interval in the row `y`; nan values are not drawn."""
    axes.plot(ends, [y, y], style, color=color, lw=2.2, solid_capstyle="butt")
    axes.plot([value], [y], "o", color=color, ms=6)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Label the rows of a plot, from the lowest row upwards."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, max(1, len(names)) - 0.4)
    draw_grid(axes, "x")


def draw_grid(axes: Axes, which: Literal["x", "y"]) -> None:
    """Draw faint grid lines at the ticks of one axis."""
    axes.grid(axis=which, color="#888888", alpha=0.25, lw=0.8)


def _missing(error: ImportError) -> str:
    return f"pictures need: {install_line('report')} ({error})"


def _write_svg(drawn: Figure) -> str:
    buffer = io.StringIO()
    drawn.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    # Without width and height, the SVG takes the page's width; the viewBox keeps its aspect ratio.
    head, body = text.split(">", 1)
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    return f"{head}>{body}".replace(_INK, "currentColor")
