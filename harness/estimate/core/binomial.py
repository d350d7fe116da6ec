"""Binomial samples that tell something about the accuracy A, and intervals of their proportion q.

Every kind of label an estimator here uses is a count of successes S among n trials with success
probability q(A) = (A + K − 2)/(K − 1) for some K, possibly fractional:

* a checked prediction (the label settles whether it is right): K = 2, q = A;
* a refused option of a K-option item, success = "not the predicted option" (Eq. 2): K;
* m refused options of one item, success = "none is the predicted option": K' = 1 + (K − 1)/m,
  because P(no hit | wrong) = (K − 1 − m)/(K − 1) under uniform wrong options; m = K − 1 leaves
  one option standing, K' = 2, which is a checked prediction again.

Source: "Scalable Oversight via Partitioned Human Supervision", section 2; the fractional K' is
this project's derivation.

An interval of q is one of A by A = (K−1)q − (K−2), cut to [0, 1] (`intervals` does that): Wilson 1927; Brown,
Cai & DasGupta 2001 (Jeffreys with the ends put to 0 and 1 where no success or no failure was seen); Clopper &
Pearson 1934.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import betaincinv, ndtri

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core.validation import (
    check_level,
    check_options,
    check_positive,
    check_successes,
)


@dataclass(frozen=True, slots=True)
class BinomialSample:
    """S successes in n trials, each with probability (A + K − 2)/(K − 1).

    Attributes
    ----------
    K
        Effective number of options, ≥ 2; 2 where the label settles the prediction.
    n
        Trials, ≥ 0.
    S
        Successes, 0 ≤ S ≤ n.
    """

    K: float
    n: int
    S: int

    def __post_init__(self) -> None:
        check_options(self.K)
        check_successes("S", self.S, "n", self.n)


def effective_options(K: int, m: int) -> float:
    """K' = 1 + (K − 1)/m of an item on which m different options were refused.

    Raises
    ------
    EstimateError
        If m is not in 1..K−1: all K options cannot be wrong.
    """
    check_options(K)
    if not 1 <= m <= K - 1:
        raise EstimateError(f"m, the options refused on one item, must lie in 1..K-1 = {K - 1}, is {m}")
    return 1 + (K - 1) / m


def success_probability(K: float, A: float) -> float:
    """Return q(A) = (A + K − 2)/(K − 1), the probability of avoiding the refused option (Eq. 2)."""
    return (A + K - 2) / (K - 1)


def z_value(level: float) -> float:
    """Normal quantile of a two-sided interval: 1.96 at 0.95.

    Raises
    ------
    EstimateError
        If `level` leaves (0, 1).
    """
    check_level(level)
    return float(ndtri(0.5 + level / 2))


def wilson(S: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """{q: |q̂ − q| ≤ z √(q(1−q)/n)}. Coverage near `level` on average, below it for q near 0 or 1.

    Raises
    ------
    EstimateError
        If n < 1, S > n or the level leaves (0, 1).
    """
    check_successes("S", S, "n", n)
    check_positive("n", n, "an interval")
    z2 = z_value(level) ** 2
    centre = (S + z2 / 2) / (n + z2)
    half = math.sqrt(z2 * (S * (n - S) / n + z2 / 4)) / (n + z2)
    return (0.0 if S == 0 else centre - half, 1.0 if n == S else centre + half)


def jeffreys(S: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Equal-tailed posterior interval under Beta(½, ½); end 0 for S = 0, end 1 for S = n.

    Raises
    ------
    EstimateError
        If n < 1, S > n or the level leaves (0, 1).
    """
    return _beta_interval(S, n, level, 0.5)


def clopper_pearson(S: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """All q that neither exact one-sided binomial test rejects at (1 − level)/2; coverage ≥ level.

    Raises
    ------
    EstimateError
        If n < 1, S > n or the level leaves (0, 1).
    """
    return _beta_interval(S, n, level, 0.0)


def _beta_interval(S: int, n: int, level: float, a: float) -> tuple[float, float]:
    """Quantiles of Beta(S + a, n − S + 1 − a) below and of Beta(S + 1 − a, n − S + a) above."""
    check_successes("S", S, "n", n)
    check_positive("n", n, "an interval")
    check_level(level)
    tail = (1 - level) / 2
    low = 0.0 if S == 0 else float(betaincinv(S + a, n - S + 1 - a, tail))
    high = 1.0 if n == S else float(betaincinv(S + 1 - a, n - S + a, 1 - tail))
    return low, high
