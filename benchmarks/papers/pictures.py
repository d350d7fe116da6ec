"""Write the pictures of the pages as reproducible PNG files in the project's style."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oversight.harness.plot.drawing import draw_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def save(path: Path, draw: Callable[..., None], *, panels: int = 1, height: float = 3.8) -> None:
    """Write a picture; `draw` receives one matplotlib axes per panel, and the panels are side by side."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        drawn = Figure(figsize=(7.6, height), layout="constrained", dpi=130)
        FigureCanvasAgg(drawn)
        axes: list[Axes] = list(drawn.subplots(1, panels, squeeze=False)[0])
        draw(*axes)
        for one in axes:
            draw_grid(one, "y")
        drawn.savefig(path, metadata={"Software": None})
