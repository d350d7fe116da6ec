"""Looking at the result while answers still come in, without losing the confidence level.

A fixed 95 % interval that is looked at again and again misses the truth far more often than 5 %:
with a look every 10 labels up to 1000, about every third time. Two remedies, from narrow to wide:
a number of looks planned beforehand (O'Brien–Fleming), and a confidence sequence from the likelihood,
valid at all times at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from oversight.harness.arrays import FloatArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import check_count, check_level, find_root
from oversight.harness.types import Counts, Estimate, Interval


@lru_cache(maxsize=64)
def obrien_fleming_constant(looks: int, level: float = 0.95) -> float:
    """C such that P(|z_j| ≤ c √(L/j) for all j = 1..L) = level, for L equally spaced looks.

    O'Brien & Fleming (1979, Biometrics 35). Since z_j √j is a random walk with unit normal steps the
    bound is the constant ±c√L, and the survival probability follows by repeated numerical
    integration of its density (Armitage, McPherson & Rowe 1969, JRSS A 132).

    Examples
    --------
    >>> round(obrien_fleming_constant(10), 3), round(obrien_fleming_constant(5), 3)
    (2.087, 2.04)
    """
    check_level(level)
    if looks < 1:
        raise EstimateError(f"looks must be at least 1, is {looks}")
    top = float(ndtri(0.5 + level / 2)) + 2.0
    return find_root(lambda c: level - _stays_inside(c * np.sqrt(looks), looks), 0.01, top)


def obrien_fleming_level(look: int, looks: int, level: float = 0.95) -> float:
    """Level at which to compute *any* fixed-sample interval at look j of L: 2Φ(c √(L/j)) − 1.

    Valid jointly at all planned looks for estimates that are asymptotically normal with independent
    increments, which all estimators here are.

    Raises
    ------
    EstimateError
        Unless 1 ≤ look ≤ looks.
    """
    if not 1 <= look <= looks:
        raise EstimateError(f"look must lie in 1..{looks}, is {look}")
    z = obrien_fleming_constant(looks, level) * np.sqrt(looks / look)
    # The first of many looks has a level so near 1 that rounding would make it 1.
    return float(min(1 - 2 * ndtr(-z), 1 - 1e-15))


def likelihood_sequence(
    yes_hits: int,
    errors: int,
    no_misses: Sequence[int],
    effective_K: Sequence[float],
    *,
    level: float = 0.95,
) -> Estimate:
    """Confidence sequence {A : L(A) ≥ (1 − level)·∫ L dBeta(½, ½)}: valid at all times at once.

    L is the likelihood of one accuracy under any routing that does not depend on the truth,

        log L(A) = S_o log A + (T_o + T_c) log(1 − A) + Σ_j S_c,j log(A + K'_j − 2),

    with S_o yes-answers about predicted options, T_o + T_c wrong predictions seen (yes about another
    option, or no about the predicted one) and S_c,j no-answers about other options at effective K'_j.
    The ratio of the mixture to L(A) is a martingale under A with mean 1, so by Ville's inequality it
    ever exceeds 1/(1 − level) with probability at most 1 − level (Robbins 1970, Ann. Math. Stat. 41).
    The Beta(½, ½) mixture is uniform in u with A = sin²(πu/2), where the integral is taken.

    Parameters
    ----------
    yes_hits, errors
        S_o and T_o + T_c.
    no_misses, effective_K
        Same length: S_c,j and K'_j ≥ 2 (K with one question per item).

    Raises
    ------
    EstimateError
        If lengths differ, a count is negative, K' < 2, or there is no answer at all.
    """
    check_level(level)
    n = _answers(yes_hits, errors, no_misses, effective_K)

    misses = [(m, K) for m, K in zip(no_misses, effective_K, strict=True) if m]

    def log_likelihood(A: FloatArray) -> FloatArray:
        total: FloatArray = yes_hits * np.log(A) if yes_hits else np.zeros_like(A)
        if errors:
            total = total + errors * np.log(1 - A)
        for m, K in misses:
            total = total + m * np.log(A + K - 2)
        return total

    u = (np.arange(size := max(4000, 80 * int(np.sqrt(n)))) + 0.5) / size
    A = np.sin(np.pi * u / 2) ** 2
    with np.errstate(divide="ignore"):  # at 0 and 1
        values = log_likelihood(A)
        peak = float(values.max())
        bound = peak + float(np.log(np.exp(values - peak).mean())) + np.log1p(-level)
        best = float(A[int(values.argmax())])
        low, high = _crossings(log_likelihood, bound, best)
    return Estimate.from_interval(
        value=best,
        interval=Interval(low=low, high=high, level=level, method="likelihood sequence"),
        estimator="ml",
        n=Counts(ordinary=yes_hits, complementary=n - yes_hits),
        assumptions=("options were asked about without a look at the truth", "experts answer without error"),
    )


def _answers(yes_hits: int, errors: int, no_misses: Sequence[int], effective_K: Sequence[float]) -> int:
    """Number of answers, after a check of every count."""
    if len(no_misses) != len(effective_K):
        raise EstimateError(
            f"no_misses and effective_K differ in length: {len(no_misses)}, {len(effective_K)}"
        )
    for name, count in (("yes_hits", yes_hits), ("errors", errors), *(("no_misses", m) for m in no_misses)):
        check_count(name, count)
    for j, K in enumerate(effective_K):
        if K < 2:
            raise EstimateError(f"effective_K[{j}] must be at least 2, is {K}")
    n = yes_hits + errors + sum(no_misses)
    if n == 0:
        raise EstimateError("a confidence sequence needs at least 1 answer, there are 0")
    return n


def _stays_inside(bound: float, steps: int) -> float:
    """P(|S_j| ≤ bound, j = 1..steps) of a random walk with standard normal steps."""
    # The kernel has width 1: ten nodes a unit integrate it to rounding.
    nodes, weights = np.polynomial.legendre.leggauss(40 + int(10 * bound))
    x, w = bound * nodes, bound * weights
    kernel = _density(x[:, None] - x[None, :])
    density = _density(x)
    for _ in range(steps - 1):
        density = kernel @ (w * density)
    return float((w * density).sum())


def _density(x: FloatArray) -> FloatArray:
    """Density of the standard normal."""
    density: FloatArray = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    return density


def _crossings(
    log_likelihood: Callable[[FloatArray], FloatArray], bound: float, inside: float
) -> tuple[float, float]:
    """Where the concave log-likelihood falls to the bound below and above a point inside; else 0 and 1."""
    far: FloatArray = np.array([0.0, 1.0])
    near: FloatArray = np.where(log_likelihood(far) >= bound, far, inside)
    for _ in range(60):
        middle = (near + far) / 2
        is_in = log_likelihood(middle) >= bound
        near, far = np.where(is_in, middle, near), np.where(is_in, far, middle)
    return float(far[0]), float(far[1])
