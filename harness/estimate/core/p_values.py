"""p-values: of a normal or χ² statistic, and of many tests adjusted as one family."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtr

from harness.arrays import FloatArray
from harness.errors import EstimateError


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
    for row in np.flatnonzero(~((p >= 0) & (p <= 1))):
        raise EstimateError(f"p_values[{row}] must lie in [0, 1], is {p[row]}")
    return p
