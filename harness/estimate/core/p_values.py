"""p-values of the checks."""

from __future__ import annotations

import math

from scipy.special import chdtrc, ndtr


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
