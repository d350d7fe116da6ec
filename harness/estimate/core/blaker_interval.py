"""Blaker's exact interval of one binomial proportion.

The acceptability of q is γ(q) = t + t', t the smaller of P(X ≥ S) and P(X ≤ S), t' the largest
probability of an opposite tail that does not exceed t; the interval is the hull of {q: γ(q) > 1 − level}.
It covers with probability ≥ level and lies within Clopper & Pearson's. Source: Blaker 2000, Canad.
J. Statist. 28. Below the estimate γ(q) = P(X ≥ S) + P(X ≤ k), k growing with q: it jumps up where k does,
and between jumps falls before it rises, so that its first crossing is found piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable

from scipy.special import bdtr, bdtrc

from oversight.harness.estimate.core.binomial import clopper_pearson

_HALVINGS = 60
_MANY = 5_000
"""Trials beyond which the two intervals differ by less than a thousandth of their width."""


def blaker(S: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of q from S successes in n trials, its ends rounded outwards.

    Beyond 5,000 trials it is Clopper & Pearson's.

    Raises
    ------
    EstimateError
        If n < 1, S > n or the level leaves (0, 1).
    """
    low, high = clopper_pearson(S, n, level)
    if n > _MANY:
        return low, high
    alpha = 1 - level
    return _lower_end(S, n, low, alpha), 1 - _lower_end(n - S, n, 1 - high, alpha)


def _lower_end(S: int, n: int, start: float, alpha: float) -> float:
    """The smallest q with γ(q) > alpha, from an end of Clopper & Pearson's interval upwards."""
    if S == 0:
        return 0.0

    def upper(q: float) -> float:
        return float(bdtrc(S - 1, n, q))

    left, k = start, -1
    while k + 1 < S and bdtr(k + 1, n, left) <= upper(left):
        k += 1
    while True:

        def gamma(q: float, k: int = k) -> float:
            return upper(q) + (float(bdtr(k, n, q)) if k >= 0 else 0.0)

        if gamma(left) > alpha:
            return left
        right = S / n
        if k + 1 < S:
            right = _cross(lambda q, k=k: upper(q) - float(bdtr(k + 1, n, q)), left, right)  # type: ignore[misc]
        if gamma(right) > alpha:
            return _cross(lambda q: gamma(q) - alpha, left, right)
        left, k = right, k + 1


def _cross(rising: Callable[[float], float], left: float, right: float) -> float:
    """The left side of where a function that is negative at `left` becomes positive."""
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        left, right = (left, middle) if rising(middle) > 0 else (middle, right)
    return left
