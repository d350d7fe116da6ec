"""Finite-sample deviation bounds: Hoeffding, empirical Bernstein, and their union for a mixture.

Source: "Towards Scalable Oversight via Partitioned Human Supervision", Theorem 2 and Proposition 3. All
return the half-width of an interval around the estimate. The n − 1 under the empirical variance in the
statements is right, because the bound of Maurer & Pontil 2009 is about the unbiased variance; the n in
the paper's proof is a slip.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import BinomialSample, check_options, check_successes, check_unit


def hoeffding(K: float, n: int, delta: float) -> float:
    """Theorem 2, first branch: half-width (K − 1) √(log(2/δ)/(2n)) for one sample.

    K = 2 gives the bound of an ordinary sample.

    Raises
    ------
    EstimateError
        If n < 1, K < 2 or δ leaves (0, 1).
    """
    check_options(K)
    _check(n, 1, delta)
    return (K - 1) * math.sqrt(math.log(2 / delta) / (2 * n))


def bernstein(K: float, S: int, n: int, delta: float) -> float:
    """Theorem 2, second branch: (K − 1){√(2q̂(1−q̂) log(4/δ)/(n−1)) + 7 log(4/δ)/(3(n−1))}.

    Raises
    ------
    EstimateError
        If n < 2, K < 2, S > n or δ leaves (0, 1).
    """
    check_options(K)
    check_successes("S", S, "n", n)
    _check(n, 2, delta)
    q_hat = S / n
    log = math.log(4 / delta)
    return (K - 1) * (math.sqrt(2 * q_hat * (1 - q_hat) * log / (n - 1)) + 7 * log / (3 * (n - 1)))


def union_radius(
    parts: Sequence[BinomialSample], weights: Sequence[float], deltas: Sequence[float], *, empirical: bool
) -> float:
    """Σ w_j r_j, r_j the half-width of sample j at δ_j: holds for weights chosen from the data, too.

    The samples' bounds hold together with probability 1 − Σ δ_j, whatever is then made of them.
    A_ML is such a mixture (weights by information at A_ML), so the bound covers it as well.

    Parameters
    ----------
    parts
        The samples.
    weights
        Weights in [0, 1] summing to 1; a sample of weight 0 costs nothing.
    deltas
        Error probabilities of the samples.
    empirical
        Bernstein if true, else Hoeffding.

    Raises
    ------
    EstimateError
        If a weight leaves [0, 1] or a sample is too small.
    """
    total = 0.0
    for c, w, delta in zip(parts, weights, deltas, strict=True):
        check_unit("w", w)
        if w:
            total += w * (bernstein(c.K, c.S, c.n, delta) if empirical else hoeffding(c.K, c.n, delta))
    return total


def _check(n: int, least: int, delta: float) -> None:
    if n < least:
        raise EstimateError(f"n must be at least {least} for this bound, is {n}")
    if not 0 < delta < 1:
        raise EstimateError(f"delta must lie in (0, 1), is {delta!r}")
