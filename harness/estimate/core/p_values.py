"""p-values: of a normal or χ² statistic, of a bounded mean, and of many tests adjusted as one family.

`binomial_at_least`, `chernoff_low` and `chernoff_high` are exact or upper bounds, hence valid at any
sample size: X_n in [0, 1], independent, one-sided tests that the mean is m.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, betainc, chdtrc, ndtr

from oversight.harness.arrays import FloatArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core.validation import check_count, check_rows


def two_sided(z: float) -> float:
    """P(|N(0,1)| ≥ |z|)."""
    return float(2 * ndtr(-abs(z)))


def chi2_tail(statistic: float, df: int) -> float:
    """P(χ²_df ≥ statistic)."""
    return float(chdtrc(df, statistic))


def z_of_sum(observed: float, expected: float, variance: float) -> float:
    """Standardised sum; ±inf where a difference has no variance, 0 where there is none either."""
    if variance > 0:
        return (observed - expected) / math.sqrt(variance)
    return 0.0 if observed == expected else math.copysign(math.inf, observed - expected)


def binomial_at_least(successes: int, n: int, p: float) -> float:
    """P(Bin(n, p) ≥ successes); 0 for n + 1."""
    if n < 1 or not 0 <= successes <= n + 1:
        raise EstimateError(f"successes must lie in 0..n + 1 with n >= 1, are {successes} of {n}")
    if successes == 0:
        return 1.0
    return float(betainc(successes, n - successes + 1, p)) if successes <= n else 0.0


def kl(p: float, q: float) -> float:
    """KL(p‖q) of two coins, in nats; infinite where q is certain and p is not."""
    total = 0.0
    for a, b in ((p, q), (1 - p, 1 - q)):
        if a > 0:
            if b <= 0:
                return math.inf
            total += a * math.log(a / b)
    return max(0.0, total)


def chernoff_low(mean: float, n: int, m: float) -> float:
    """Bound of P(X̄ ≤ mean) if E X ≥ m: exp(−n KL(mean‖m)) below m, else 1 (Chernoff; Hoeffding 1963)."""
    return math.exp(-n * kl(mean, m)) if mean < m else 1.0


def chernoff_high(mean: float, n: int, m: float) -> float:
    """Bound of P(X̄ ≥ mean) if E X ≤ m: exp(−n KL(mean‖m)) above m, else 1."""
    return math.exp(-n * kl(mean, m)) if mean > m else 1.0


def bonferroni(p_values: ArrayLike) -> FloatArray:
    """min(1, m·p): the probability of any false finding among m is at most the level."""
    p = _p_values(p_values)
    adjusted: FloatArray = np.minimum(1.0, p * len(p))
    return adjusted


def holm(p_values: ArrayLike) -> FloatArray:
    """Step-down p̃_(i) = max_{j ≤ i} min(1, (m − j + 1) p_(j)) (Holm 1979, Scand. J. Stat. 6).

    Never larger than Bonferroni's, and as safe. Order of the input is kept.
    """
    p = _p_values(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, stepped)
    return adjusted


def _p_values(p_values: ArrayLike) -> FloatArray:
    p = np.asarray(p_values, dtype=np.float64)
    check_rows("p_values", p, (p >= 0) & (p <= 1), "lie in [0, 1]")
    return p


def sign_p_value(n_10: int, n_01: int) -> float:
    """Two-sided exact P(|X − m/2| ≥ |n_10 − m/2|), X ~ Binomial(m, ½), m = n_10 + n_01; 1 at m = 0."""
    check_count("n_10", n_10)
    check_count("n_01", n_01)
    m = n_10 + n_01
    return 1.0 if m == 0 else min(1.0, 2 * float(bdtr(min(n_10, n_01), m, 0.5)))
