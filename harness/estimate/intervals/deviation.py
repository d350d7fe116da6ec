"""Finite-sample deviation bounds: Hoeffding, empirical Bernstein, and those for mixtures.

Source: "Scalable Oversight via Partitioned Human Supervision", Theorem 2, Proposition 3,
Theorem 4, Eq. 15–16. All return the half-width of an interval around the estimate.

Two corrections; `published=True` turns the first one off. The minimum of two bounds that each hold
with probability 1 − δ holds with 1 − 2δ only, because which one is smaller depends on the data:
each gets δ/2 here. The n − 1 under the empirical variance in the statements is right (the bound of
Maurer & Pontil 2009 is about the unbiased variance); the n in the paper's proof is a slip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import BinomialSample, check_options, check_successes, check_unit
from oversight.harness.estimate.estimators import mix_variance, safe_plugin_weight


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


def complementary_radius(K: float, S_c: int, n_c: int, delta: float, *, published: bool = False) -> float:
    """Theorem 2: the smaller of `hoeffding` and `bernstein` for A_comp, at δ/2 each (δ if `published`).

    Raises
    ------
    EstimateError
        If n_c < 2, the counts are impossible or δ leaves (0, 1).
    """
    each = delta if published else delta / 2
    return min(hoeffding(K, n_c, each), bernstein(K, S_c, n_c, each))


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


def mixture_radius(
    hits: BinomialSample,
    misses: BinomialSample,
    w: float,
    delta_o: float,
    delta_c: float,
    *,
    published: bool = False,
) -> float:
    """Proposition 3: the smaller of the Hoeffding and Bernstein union bounds for A_mix, for any weight w.

    Holds with probability 1 − (δ_o + δ_c); each branch gets half of either δ unless `published`.

    Raises
    ------
    EstimateError
        If a sample is too small, w leaves [0, 1] or a δ leaves (0, 1).
    """
    parts, weights = (hits, misses), (w, 1 - w)
    deltas = (delta_o, delta_c) if published else (delta_o / 2, delta_c / 2)
    return min(union_radius(parts, weights, deltas, empirical=kind) for kind in (False, True))


def fixed_weight_radius(v: float, c: float, delta: float) -> float:
    """Theorem 4 (Eq. 10): √(2 v log(2/δ)) + c log(2/δ), for a weight fixed before the data are seen.

    Parameters
    ----------
    v
        *True* variance of A_mix, which involves the unknown A: the bound is not computable from
        data. Eq. 15 and 16 put estimates in its place and are therefore heuristics.
    c
        Largest influence of one label, max(w/n_o, (1 − w)(K − 1)/n_c).
    delta
        Error probability, in (0, 1).

    Raises
    ------
    EstimateError
        If v or c is negative or δ leaves (0, 1).
    """
    _check(1, 1, delta)
    if v < 0 or c < 0:
        raise EstimateError(f"v and c must be ≥ 0, are {v!r} and {c!r}")
    log = math.log(2 / delta)
    return math.sqrt(2 * v * log) + c * log


def influence(K: float, w: float, n_o: int, n_c: int) -> float:
    """C = max(w/n_o, (1 − w)(K − 1)/n_c) of Eq. 13."""
    return max(w / n_o, (1 - w) * (K - 1) / n_c)


def estimated_variance_radius(hits: BinomialSample, misses: BinomialSample, w: float, delta: float) -> float:
    """Theorem 4 with estimated variances (Eq. 15). No guarantee: see `fixed_weight_radius`.

    By exact enumeration of Eq. 15 over designs of 30 to 176 labels (K = 4, 10, 16) it covered at
    least .985 at δ = .05, at 1.9–2.9 times the width of the score interval.

    Raises
    ------
    EstimateError
        If a sample is empty, w leaves [0, 1] or δ leaves (0, 1).
    """
    _check(hits.n, 1, delta)
    _check(misses.n, 1, delta)
    v = mix_variance(w, _plug_in_variance(hits), _plug_in_variance(misses))
    return fixed_weight_radius(v, influence(misses.K, w, hits.n, misses.n), delta)


def plugin_weight_radius(hits: BinomialSample, misses: BinomialSample, delta: float) -> float:
    """Eq. 16: Eq. 15 at the plug-in weight of Eq. 7. No guarantee, the weight depends on the data, too.

    Raises
    ------
    EstimateError
        If a sample is empty or δ leaves (0, 1).
    """
    w = safe_plugin_weight(misses.K, hits.S, hits.n, misses.S, misses.n)
    return estimated_variance_radius(hits, misses, w, delta)


def grid_radius(
    bound: Callable[[float, float], float], w: float, grid: Sequence[float], delta: float
) -> float:
    """Half-width at a weight chosen from a finite grid: the fixed-weight bound at δ/|grid|.

    Parameters
    ----------
    bound
        ``bound(w, δ)``, valid for every fixed w.
    w
        The weight chosen, a member of `grid`.
    grid
        All weights that could have been chosen.
    delta
        Error probability, in (0, 1).

    Raises
    ------
    EstimateError
        If w is not on the grid.
    """
    if w not in grid:
        raise EstimateError(f"w must be one of the grid {tuple(grid)}, is {w!r}")
    return bound(w, delta / len(grid))


def _plug_in_variance(c: BinomialSample) -> float:
    q_hat = c.S / c.n
    return (c.K - 1) ** 2 * q_hat * (1 - q_hat) / c.n


def _check(n: int, least: int, delta: float) -> None:
    if n < least:
        raise EstimateError(f"n must be at least {least} for this bound, is {n}")
    if not 0 < delta < 1:
        raise EstimateError(f"delta must lie in (0, 1), is {delta!r}")
