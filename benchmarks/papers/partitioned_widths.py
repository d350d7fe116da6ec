"""Compare the half-widths of the bounds with those of the exact interval."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.numbers import Findings, Settings
from benchmarks.papers.partitioned_bounds import DELTA, mixed_bound, plugin_bound
from benchmarks.papers.partitioned_maths import complementary_radius
from benchmarks.papers.partitioned_printed import COLUMNS, TABLE_1, TABLE_2
from benchmarks.papers.pictures import save
from oversight.harness.estimate import estimate_counts
from oversight.harness.estimate.core import success_probability
from oversight.harness.estimate.intervals import bernstein, hoeffding
from oversight.harness.plot.drawing import DASHES, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def half_widths(_settings: Settings) -> Findings:
    """Compute half-widths of bounds and exact intervals, in points, for the first run of every column."""
    header = (
        "half-width, points",
        "Theorem 2",
        "Proposition 3",
        "Eq. 16",
        "exact interval, ML",
        "Eq. 16 over exact",
    )
    rows = []
    for name in (*TABLE_1, *TABLE_2):
        c = COLUMNS[name]
        counts = c.K, c.right[0], c.n_o, c.n_c - c.violations[0], c.n_c
        made = estimate_counts(*counts)["ml"]
        exact = (made.high - made.low) / 2
        radii = (
            complementary_radius(c.K, counts[3], c.n_c, DELTA, published=True),
            mixed_bound(*counts)[1],
            plugin_bound(*counts)[1],
        )
        rows.append((name, *(f"{100 * r:.1f}" for r in (*radii, exact)), f"{radii[2] / exact:.2f}"))
    return Findings(table=(header, *rows))


def draw_bounds(folder: Path) -> None:
    """Draw the half-widths of both bounds of Theorem 2 and of the exact interval against n_c."""
    sizes = np.unique(np.geomspace(30, 3000, 40).astype(int))
    K, A = 4, 0.9266

    def exact(n: int) -> float:
        made = estimate_counts(K, 0, 0, passed(n), n)["comp"]
        return (made.high - made.low) / 2

    def passed(n: int) -> int:
        return round(success_probability(K, A) * n)

    radii: dict[str, Callable[[int], float]] = {
        "Theorem 2, Hoeffding": lambda n: hoeffding(K, n, DELTA),
        "Theorem 2, Bernstein": lambda n: bernstein(K, passed(n), n, DELTA),
        "exact interval, clipped to [0, 1]": exact,
    }

    def draw(axes: Axes) -> None:
        for j, (label, radius) in enumerate(radii.items()):
            drawn = [radius(int(n)) for n in sizes]
            axes.loglog(sizes, drawn, color=SERIES[j], ls=DASHES[j], lw=2, label=label)
        axes.set(
            title="Half-width at 95 % from complementary labels alone, K = 4, A = .9266",
            xlabel="complementary labels",
            ylabel="half-width",
        )
        axes.legend()

    save(folder / "002-bounds.png", draw)
