"""Intervals of one binomial proportion q: Wilson, Jeffreys, Clopper–Pearson.

For refused options q = (A + K − 2)/(K − 1), so an interval of q is one of A by A = (K−1)q − (K−2),
cut to [0, 1] (`intervals` does that).

Sources: Wilson 1927; Brown, Cai & DasGupta 2001 (Jeffreys with the ends put to 0 and 1 where no
success or no failure was seen); Clopper & Pearson 1934.
"""

from __future__ import annotations

import math

from scipy.special import betaincinv, ndtri

from harness.estimate.core.validation import check_level, check_positive, check_successes


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
    _check(S, n)
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
    _check(S, n)
    check_level(level)
    tail = (1 - level) / 2
    low = 0.0 if S == 0 else float(betaincinv(S + a, n - S + 1 - a, tail))
    high = 1.0 if n == S else float(betaincinv(S + 1 - a, n - S + a, 1 - tail))
    return low, high


def _check(S: int, n: int) -> None:
    check_successes("S", S, "n", n)
    check_positive("n", n, "an interval")
