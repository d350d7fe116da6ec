"""How unlikely is what was seen, if the mean were m: one-sided p-values for bounded variables.

Every function is exact or an upper bound, hence valid at any sample size. X_n in [0, 1], independent.
"""

from __future__ import annotations

import math

from scipy import stats

from harness.errors import EstimateError


def binomial_at_least(successes: int, n: int, p: float) -> float:
    """P(Bin(n, p) ≥ successes); 0 for n + 1."""
    if n < 1 or not 0 <= successes <= n + 1:
        raise EstimateError(f"successes must lie in 0..n + 1 with n >= 1, are {successes} of {n}")
    return float(stats.binom.sf(successes - 1, n, p))


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
