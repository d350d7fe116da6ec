"""Intervals of scores that are functions of sums over independent units: items, or clusters of items.

The units get random weights (Bayesian bootstrap, Rubin 1981, Ann. Stat. 9), together with one unit more: for
the lower end the one that lowers the score most, for the upper end the one that raises it most. If units are
right or wrong as a whole, the ends are those of Clopper & Pearson. For means in known bounds, the ends are
Gaffke's (2005, Math. Methods Stat. 14), which no known distribution breaks (Learned-Miller & Thomas 2019,
arXiv 1905.06208). So an interval has a width on few units, too, and with no error seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate import check_clusters, check_least, check_level, find_equal

CLUSTERS_ARE_DRAWS = "clusters are independent draws"
_CELLS = 4_000_000
"""Weights that are in memory at once."""

Score = Callable[[FloatArray], FloatArray]
"""Score of sums, shape (…, q) to (…)."""


def explain_few_clusters(unit: IntArray) -> str:
    """Say why clusters are too few for an interval; empty if they are enough.

    Parameters
    ----------
    unit
        Shape (N,), N ≥ 1: number of every item's or row's cluster.
    """
    try:
        check_clusters(unit)
    except NotIdentified as error:
        return str(error)
    return ""


def draw_unit_more(draws: int, seed: int) -> FloatArray:
    """Random weight of the unit more in every draw; shape (draws,)."""
    return np.random.default_rng([seed, 1]).standard_exponential(draws)


def find_extremes(score: Score, total: FloatArray, units: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of what a unit may add, what lowers the score most, and what raises it most.

    Parameters
    ----------
    total
        Shape (q,): sums over all units.
    units
        Shape (c, q): what a unit of mean size may add.
    """
    reached = score(total + units)
    return units[np.argmin(reached)], units[np.argmax(reached)]


def find_ends(
    lowered: FloatArray, raised: FloatArray, level: float, effective: float | None = None
) -> tuple[float, float]:
    """Ends of an interval from draws of a score, with the lowest and with the highest unit more.

    Parameters
    ----------
    lowered, raised
        Shape (draws,).
    effective
        Effective number of clusters; None if units are items. Few or unequal clusters vary more than their
        weights do: the tails are then those of Student's t with `effective` − 1 degrees of freedom.

    Raises
    ------
    EstimateError
        If the level leaves (0, 1).
    """
    check_level(level)
    tail = (1 - level) / 2
    if effective is not None:
        tail = float(ndtr(stdtrit(max(1.0, effective - 1), tail)))
    return float(np.quantile(lowered, tail)), float(np.quantile(raised, 1 - tail))


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedUnits:
    """Units with random weights.

    Attributes
    ----------
    total
        Shape (q,): sums over all units.
    drawn
        Shape (draws, q): sums over units with random weights.
    weight
        Shape (draws,): weight of the unit more.
    """

    total: FloatArray
    drawn: FloatArray
    weight: FloatArray

    @classmethod
    def draw(cls, sums: FloatArray, draws: int, seed: int) -> WeightedUnits:
        """Draw weights of units.

        Units with equal sums share one weight, a gamma variable: the same distribution, and far smaller.

        Parameters
        ----------
        sums
            Shape (k, q): what every unit adds.

        Raises
        ------
        EstimateError
            If `draws` is below 1.
        """
        check_least("bootstrap", draws, 1)
        rng = np.random.default_rng(seed)
        first, place = find_equal(sums)
        rows, counts = sums[first], np.bincount(place)
        step = max(1, _CELLS // len(rows))
        parts = [
            rng.standard_gamma(counts, size=(min(step, draws - start), len(counts))) @ rows
            for start in range(0, draws, step)
        ]
        return cls(total=sums.sum(axis=0), drawn=np.concatenate(parts), weight=draw_unit_more(draws, seed))

    def find_interval(
        self, score: Score, units: FloatArray, level: float, effective: float | None = None
    ) -> tuple[float, float]:
        """Interval of a score; `units` as in `find_extremes`, `level` and `effective` as in `find_ends`."""
        lowest, highest = find_extremes(score, self.total, units)
        weight = self.weight[:, None]
        return find_ends(
            score(self.drawn + weight * lowest), score(self.drawn + weight * highest), level, effective
        )
