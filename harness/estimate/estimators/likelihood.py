"""Maximum likelihood: one likelihood for hits, misses and refusals from any admissible routing.

A question asks whether the truth of an item is option k. With Z = 1 if the prediction ŷ is right,
P(yes | k = ŷ) = A and P(yes | k ≠ ŷ) = (1 − A)/(K − 1), so that all answers together give

    ℓ(A) = S_o log A + (T_o + T_c) log(1 − A) + Σ_j S_j log(A + K_j − 2).                       (★)

It holds for every routing, also one that looks at ŷ, as long as (i) whether the predicted option
is asked does not depend on Z and (ii) the other options asked are uniform over the wrong ones.
With one K it is the paper's joint likelihood and its root is Eq. 9.

With q_j = (A + K_j − 2)/(K_j − 1) the score is (Σ S_j/q_j − N)/(1 − A): the estimate solves

    f(A) = Σ_j S_j / q_j(A) = N,

and f falls and is convex, so there is one root and Newton's method climbs to it from the left.

Source: "Towards Scalable Oversight via Partitioned Human Supervision", section 2.2 and Appendix C; (★) and
its root in this form are the project's derivation.
"""

from __future__ import annotations

import math

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import BinomialSample, check_counts, check_unit, success_probability

_MAX_STEPS = 200


def pool_samples(components: tuple[BinomialSample, ...]) -> tuple[BinomialSample, ...]:
    """Merge components of equal K, whose sums are sufficient, and drop the empty ones; K ascending."""
    sums: dict[float, tuple[int, int]] = {}
    for c in components:
        n, S = sums.get(c.K, (0, 0))
        sums[c.K] = (n + c.n, S + c.S)
    return tuple(BinomialSample(K, n, S) for K, (n, S) in sorted(sums.items()) if n)


def information(component: BinomialSample, A: float) -> float:
    """Fisher information on A in a component: n/((A + K − 2)(1 − A)), the inverse of Eq. 3.

    Parameters
    ----------
    component
        The sample; its successes do not matter.
    A
        Accuracy at which to evaluate, 0 < A < 1 (A = 0 is fine for K > 2).

    Raises
    ------
    EstimateError
        If the information is infinite or undefined at A: A = 1, or A = 0 with K = 2.
    """
    scale = (A + component.K - 2) * (1 - A)
    if not scale > 0:
        raise EstimateError(f"A must lie inside (0, 1) for the information to be finite, is {A!r}")
    return component.n / scale


def closed_form(K: float, S_o: int, n_o: int, S_c: int, n_c: int) -> float:
    """A_ML of one ordinary and one complementary sample (Eq. 9), in [0, 1].

    With T = n − S, N = n_o + n_c, β = (K−2)(T_o+T_c) + (K−3)S_o − S_c and γ = −(K−2)S_o it is the
    positive root of N A² + β A + γ. For β > 0 the printed −β + √(β² − 4Nγ) cancels; the same root
    is then taken as 2|γ|/(β + √(β² + 4N|γ|)).

    Reductions: n_c = 0 gives A_ord; n_o = 0 gives max(0, A_comp), not A_comp as the paper says,
    because a likelihood lives on [0, 1]; K = 2 gives (S_o + S_c)/N.

    Raises
    ------
    EstimateError
        If the counts are impossible or all zero.
    """
    check_counts(K, S_o, n_o, S_c, n_c)
    N = n_o + n_c
    beta = (K - 2) * (N - S_o - S_c) + (K - 3) * S_o - S_c
    minus_gamma = (K - 2) * S_o
    if minus_gamma == 0:
        return max(0.0, -beta / N)
    root = math.sqrt(beta * beta + 4 * N * minus_gamma)
    A = 2 * minus_gamma / (beta + root) if beta > 0 else (root - beta) / (2 * N)
    return min(1.0, A)


def maximum_likelihood(components: tuple[BinomialSample, ...]) -> float:
    """A_ML of any number of components, in [0, 1].

    Closed form where at most one K besides 2 occurs, else Newton's method on f.

    Raises
    ------
    EstimateError
        If there is no trial at all.
    """
    parts = pool_samples(components)
    if not parts:
        raise EstimateError("n must be at least 1 for maximum likelihood, is 0")
    if parts[0].K > 2:
        parts = (BinomialSample(2, 0, 0), *parts)
    if len(parts) <= 2:
        hits, misses = parts if len(parts) == 2 else (parts[0], BinomialSample(2, 0, 0))
        return closed_form(misses.K, hits.S, hits.n, misses.S, misses.n)
    return _newton(parts)


def _newton(parts: tuple[BinomialSample, ...]) -> float:
    """Root of f(A) = N from the left, where Newton's steps on a convex falling f never overshoot."""
    N = sum(p.n for p in parts)
    S_o = next((p.S for p in parts if p.K == 2), 0)
    if S_o == 0 and sum(p.S / success_probability(p.K, 0.0) for p in parts if p.K > 2) <= N:
        return 0.0
    A = S_o / N  # f(S_o/N) ≥ N, as the ordinary term alone is N there
    for _ in range(_MAX_STEPS):
        terms = [(p, success_probability(p.K, A)) for p in parts if p.S]
        slope = sum(p.S / (q * q * (p.K - 1)) for p, q in terms)
        step = (sum(p.S / q for p, q in terms) - N) / slope
        A += step
        if step <= 1e-15:
            break
    return min(1.0, max(0.0, A))


def log_likelihood(components: tuple[BinomialSample, ...], A: float) -> float:
    """ℓ(A) of (★) up to a constant; −inf where the data are impossible at A.

    Raises
    ------
    EstimateError
        If A lies outside [0, 1].
    """
    check_unit("A", A)
    terms = []
    for c in components:
        q = success_probability(c.K, A)
        for count, probability in ((c.S, q), (c.n - c.S, (1 - A) / (c.K - 1))):
            if count and probability <= 0:
                return -math.inf
            if count:
                terms.append(count * math.log(probability))
    return math.fsum(terms)


def inside(A: float, N: int) -> float:
    """Move A into [1/(2N), 1 − 1/(2N)], where informations and variances are finite and not zero."""
    edge = 1 / (2 * N)
    return min(1 - edge, max(edge, A))


def published_se(K: float, A: float, n_o: int, S_c: int, n_c: int) -> float:
    """Standard error of A_ML as published: A in the ordinary term, raw q̂ in the complementary.

    [n_o/(A(1 − A)) + n_c/((K − 1)² q̂(1 − q̂))]^(−1/2), with n (not n − 1) as the paper's digits
    show. Kept for parity; 0 where a term is infinite.

    Raises
    ------
    EstimateError
        If the counts are impossible.
    """
    check_counts(K, 0, n_o, S_c, n_c)
    q_hat = S_c / n_c if n_c else 0.5
    v_o, v_c = A * (1 - A), (K - 1) ** 2 * q_hat * (1 - q_hat)
    if (n_o and v_o <= 0) or (n_c and v_c <= 0):
        return 0.0
    return 1 / math.sqrt((n_o / v_o if n_o else 0.0) + (n_c / v_c if n_c else 0.0))
