"""Intervals of scores that depend on sums over independent units: items, or clusters of items.

The units get random weights (Bayesian bootstrap, Rubin 1981, Ann. Stat. 9), and one invented unit is added.
For the lower end of the interval, the invented unit is the possible unit that lowers the score most; for the
upper end, the one that raises it most. So the interval has a positive width even for few units or if no unit
is wrong. If each unit is right or wrong as a whole, the ends are those of Clopper & Pearson. For means with
known bounds, the ends are Gaffke's (2005, Math. Methods Stat. 14). No distribution is known for which
Gaffke's interval covers the mean too rarely (Learned-Miller & Thomas 2019, arXiv 1905.06208).

For a share of judgements, a unit is an item with all its judgements, or a cluster of items.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtr, stdtrit

from oversight.harness.arrays import FloatArray, IntArray, find_equal
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate import check_clusters, check_least, check_level

CLUSTERS_ARE_DRAWS = "clusters are independent draws"
_CELLS = 4_000_000
"""Largest number of weights in memory at once."""

Score = Callable[[FloatArray], FloatArray]
"""Function that computes scores, shape (…), from sums over units, shape (…, q)."""


def explain_few_clusters(unit: IntArray) -> str:
    """Return the reason why there are too few clusters for an interval; empty if there are enough.

    Parameters
    ----------
    unit
        Shape (N,), N ≥ 1: index of the cluster of every item or row.
    """
    try:
        check_clusters(unit)
    except NotIdentified as error:
        return str(error)
    return ""


def draw_unit_more(draws: int, seed: int) -> FloatArray:
    """Draw random weights of the invented unit that every interval adds to the sample; shape (draws,)."""
    return np.random.default_rng([seed, 1]).standard_exponential(draws)


def find_ends(
    lowered: FloatArray, raised: FloatArray, level: float, effective: float | None = None
) -> tuple[float, float]:
    """Return the ends of an interval of a score, from random draws to which one extreme unit was added.

    Parameters
    ----------
    lowered, raised
        Shape (draws,): the drawn scores if the added unit lowers the score most, and if it raises the score
        most.
    effective
        Effective number of clusters; None if units are items. Random weights underestimate the variation of
        few or unequal clusters, so the tails are widened to those of Student's t with `effective` − 1
        degrees of freedom.

    Raises
    ------
    EstimateError
        If the level lies outside (0, 1).
    """
    check_level(level)
    tail = (1 - level) / 2
    if effective is not None:
        tail = float(ndtr(stdtrit(max(1.0, effective - 1), tail)))
    return float(np.quantile(lowered, tail)), float(np.quantile(raised, 1 - tail))


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedUnits:
    """Sums of q quantities over units with random weights.

    Attributes
    ----------
    total
        Shape (q,): sums over all units.
    drawn
        Shape (draws, q): sums over units with random weights.
    weight
        Shape (draws,): random weight of the one invented unit that every interval adds to the sample.
    """

    total: FloatArray
    drawn: FloatArray
    weight: FloatArray

    @classmethod
    def draw(cls, sums: FloatArray, draws: int, seed: int) -> WeightedUnits:
        """Draw random weights of units, and sum the units' contributions with these weights.

        For units with equal contributions, only the sum of their weights is drawn, from its gamma
        distribution, which is much faster than drawing each weight.

        Parameters
        ----------
        sums
            Shape (k, q): contribution of every unit to the q sums.

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
        """Return the interval of a score.

        Parameters
        ----------
        score
            Function that computes the score from sums.
        units
            Shape (c, q): c candidates for the invented unit. Each row has a candidate's contributions to the
            q sums. All candidates have the same size.
        level, effective
            As in `find_ends`.
        """
        reached = score(self.total + units)
        lowest = units[np.argmin(reached)]
        highest = units[np.argmax(reached)]
        weight = self.weight[:, None]
        return find_ends(
            score(self.drawn + weight * lowest), score(self.drawn + weight * highest), level, effective
        )


DRAWS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share, or a difference of shares, with its interval.

    Attributes
    ----------
    low, high
        Ends of the interval. In simulations, the interval has its nominal coverage if there are 5 or more
        items.
    why
        Reason why the interval may have less than its nominal coverage; empty if none exists.

    Examples
    --------
    >>> Share(value=0.8, low=0.7, high=0.9).holds
    True
    """

    value: float
    low: float
    high: float
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether the interval has its nominal coverage."""
        return not self.why


def estimate_share(
    sums: FloatArray,
    counts: FloatArray,
    level: float = 0.95,
    *,
    size: float | None = None,
    effective: float | None = None,
    seed: int = 0,
    why: str = "",
) -> Share:
    """Estimate the share Σ sums/Σ counts of right rows, with an interval over independent units.

    If the rows of each unit are all right or all wrong, the interval is that of Clopper & Pearson for units.

    Parameters
    ----------
    sums, counts
        Shape (k,): number of right rows, and number of rows (> 0), of every unit.
    size
        Number of rows of the invented unit that the interval adds; by default the mean of `counts`.
    effective
        Effective number of clusters; None if units are items.
    seed
        Seed of the random weights.
    why
        Reason why the interval may have less than its nominal coverage.
    """
    units = (size or float(counts.mean())) * np.array([[0.0, 1.0], [1.0, 1.0]])
    weighted = WeightedUnits.draw(np.stack([sums, counts], axis=1), DRAWS, seed)
    return make_share(weighted, _share, units, level=level, effective=effective, why=why)


def make_share(
    weighted: WeightedUnits,
    score: Score,
    units: FloatArray,
    *,
    level: float,
    effective: float | None,
    why: str = "",
) -> Share:
    """Return a score over all units with its interval; arguments as in `WeightedUnits.find_interval`."""
    value = float(score(weighted.total))
    low, high = weighted.find_interval(score, units, level, effective)
    return Share(value=value, low=min(value, low), high=max(value, high), why=why)


def _share(sums: FloatArray) -> FloatArray:
    share: FloatArray = sums[..., 0] / sums[..., 1]
    return share


def estimate_difference(
    sums: FloatArray,
    counts: FloatArray,
    level: float = 0.95,
    *,
    size: float | None = None,
    effective: float | None = None,
    why: str = "",
) -> tuple[Share, float]:
    """Estimate a paired difference Δ = Σ sums/Σ counts, with its interval and the two-sided p-value of Δ = 0.

    The interval is Student's t over units, after adding two pseudo-units of mean size, one with differences
    of +1 and one of −1 (Bonett & Price 2012, here for clusters). It never has width 0, and its coverage is
    nearly nominal for few units and rare differences.

    Parameters
    ----------
    sums, counts
        Shape (k,): sum of the differences over the unit's rows, in [−counts, counts]; number of the unit's
        rows, above 0.
    size
        Mean number of rows per unit; by default the mean of `counts`.
    effective
        Effective number of clusters, which gives the degrees of freedom; None if units are items.
    why
        Reason why the interval may have less than its nominal coverage.
    """
    k = len(counts)

    value = float(sums.sum() / counts.sum())
    typical = size or float(counts.mean())
    d = np.concatenate([sums, [typical, -typical]])
    c = np.concatenate([counts, [typical, typical]])
    centre = float(d.sum() / c.sum())
    se = math.sqrt((k + 2) / (k + 1) * float(((d - centre * c) ** 2).sum())) / float(c.sum())
    freedom = (k if effective is None else effective) + 1
    half = float(stdtrit(freedom, 0.5 + level / 2)) * se
    p = float(2 * stdtr(freedom, -abs(centre) / se))
    low = max(-1.0, min(value, centre - half))
    high = min(1.0, max(value, centre + half))
    return Share(value=value, low=low, high=high, why=why), p
