"""Intervals of means over questions that were drawn with known, unequal propensities.

A share of questions is a ratio of weighted sums. With equal weights and one question per cluster, its
interval is the exact binomial interval (Clopper & Pearson 1934). Otherwise it is the gamma interval of Fay &
Feuer (1997, Statistics in Medicine 16) for weighted sums of rare events, applied to the rarer answer. The
gamma interval uses the larger of two variances, each summed by cluster: Fay & Feuer's variance, and the
variance of the ratio.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate import clopper_pearson

FEWEST = 5
"""Smallest number of answers from which a share is computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A value with its interval, or the reason why it is withheld.

    Attributes
    ----------
    value, low, high
        Value and ends of the interval; None if withheld.
    n
        Number of answers from which the value is computed.
    why
        Reason why the value is withheld; empty if it is given.

    Examples
    --------
    >>> Measure.withheld("fewer than 20 answers", n=3).why
    'fewer than 20 answers'
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    why: str = ""

    @classmethod
    def withheld(cls, why: str, n: int = 0) -> Measure:
        """Return a measure without a value, with the reason.

        >>> Measure.withheld("2 answers, at least 5 are needed", 2).value is None
        True
        """
        return cls(value=None, low=None, high=None, n=n, why=why)


def weighted_share(yes: FloatArray, weight: FloatArray, cluster: IntArray, level: float = 0.95) -> Measure:
    """Return the share of questions answered with yes, with an interval.

    Parameters
    ----------
    yes
        Shape (R,): 1 or 0.
    weight
        Shape (R,), positive: weight of each question, for example its inverse propensity.
    cluster
        Shape (R,): index of the item or cluster; questions with the same index are not independent.

    Examples
    --------
    >>> import numpy as np
    >>> found = weighted_share(np.repeat([1.0, 0.0], 10), np.ones(20), np.arange(20))
    >>> print(f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]")
    0.50 [0.27, 0.73]
    """
    n = len(yes)
    if n < FEWEST:
        return Measure.withheld(f"{n} answers, at least {FEWEST} are needed", n)
    share = float(weight @ yes / weight.sum())
    if np.ptp(weight) < 1e-9 * weight[0] and np.bincount(cluster).max() == 1:
        low, high = clopper_pearson(int(yes.sum()), n, level)
        return Measure(value=share, low=low, high=high, n=n)
    _, place = np.unique(cluster, return_inverse=True)
    low, high = _gamma_ends(yes if share <= 0.5 else 1 - yes, weight / weight.sum(), place, level)
    if share > 0.5:
        low, high = 1 - high, 1 - low
    return Measure(value=share, low=max(0.0, low), high=min(1.0, high), n=n)


def _gamma_ends(rare: FloatArray, share: FloatArray, cluster: IntArray, level: float) -> tuple[float, float]:
    """Return the ends of the gamma interval of the weighted sum Σ share·rare."""
    mean, tail = float(share @ rare), (1 - level) / 2
    poisson = float((np.bincount(cluster, share * rare) ** 2).sum())
    linear = float((np.bincount(cluster, share * (rare - mean)) ** 2).sum())
    variance, most = max(poisson, linear), float(np.bincount(cluster, share).max())
    low = 0.0
    if mean > 0:
        low = variance / mean * float(gammaincinv(mean**2 / variance, tail))
    up, spread = mean + most, variance + most**2
    return low, spread / up * float(gammaincinv(up**2 / spread, 1 - tail))


def deviation_of_mean(values: FloatArray, weight: FloatArray, cluster: IntArray) -> float:
    """Return the standard error of a weighted mean of values in [−1, 1]; it is never 0.

    The squared standard error is the variance of a ratio estimate with clusters, plus a term for one
    additional cluster whose mean differs by 1 from the sample's mean.
    """
    _, place = np.unique(cluster, return_inverse=True)
    share = weight / weight.sum()
    sums = np.bincount(place, share * (values - float(share @ values)))
    each = np.bincount(place, share)
    effective = 1 / float((each**2).sum())
    scale = effective / max(1.0, effective - 1)
    floor = 1 / (effective + 2) ** 2
    return float(np.sqrt(scale * (sums**2).sum() + floor))
