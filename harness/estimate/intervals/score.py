"""Approximate intervals of A by inverting a test: score and likelihood ratio.

Both invert (★) of `likelihood` and so allow any number of samples of different K: pooled by K, at least
one, and with their A_ML. Neither is exact; `exact` is. By exact enumeration (K = 3 to 16, 30 to 300
labels) they cover .95 on average, but as little as .84 (score) and .82 (likelihood ratio), mostly near
A = 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from oversight.harness.estimate.core import BinomialSample, z_value
from oversight.harness.estimate.estimators import log_likelihood

_GRID = 64
_HALVINGS = 60


def score_interval(parts: tuple[BinomialSample, ...], A: float, level: float = 0.95) -> tuple[float, float]:
    """Hull of {A: U(A)² ≤ z² I(A)} with the expected information.

    With V = Σ S_j/q_j − N the condition is V² ≤ z² (1 − A) Σ n_j/(A + K_j − 2). One sample gives
    Wilson's interval of q carried over to A and cut to [0, 1].

    Raises
    ------
    EstimateError
        If the level leaves (0, 1).
    """
    z2 = z_value(level) ** 2
    checked = parts[0].n if parts[0].K == 2 else 0
    right = parts[0].S if checked else 0

    def holds(a: float) -> bool:
        if a <= 0 and checked:  # the information of a checked prediction is infinite at 0
            return right == 0
        V = sum(p.S * (p.K - 1) / (a + p.K - 2) for p in parts) - sum(p.n for p in parts)
        return z2 * (1 - a) * sum(p.n / (a + p.K - 2) for p in parts) * (1 + 1e-12) >= V * V

    return _hull(holds, A)


def likelihood_ratio_interval(
    parts: tuple[BinomialSample, ...], A: float, level: float = 0.95
) -> tuple[float, float]:
    """{A: 2(ℓ(A_ML) − ℓ(A)) ≤ z²}; an interval because ℓ is concave.

    Raises
    ------
    EstimateError
        If the level leaves (0, 1).
    """
    floor = log_likelihood(parts, A) - z_value(level) ** 2 / 2

    def holds(a: float) -> bool:
        return log_likelihood(parts, a) >= floor

    return _hull(holds, A)


def _hull(holds: Callable[[float], bool], A: float) -> tuple[float, float]:
    """Outermost points that hold, found on a grid and then by bisection; (A, A) if there are none.

    The second case arises only at A = 0, when fewer refusals were avoided than any A allows.
    """
    return _edge(holds, A, 0.0), _edge(holds, A, 1.0)


def _edge(holds: Callable[[float], bool], A: float, end: float) -> float:
    if holds(end):
        return end
    outside, inner = end, A
    for a in np.linspace(end, A, _GRID)[1:]:
        if holds(float(a)):
            inner = float(a)
            break
        outside = float(a)
    for _ in range(_HALVINGS):
        middle = (outside + inner) / 2
        if math.isclose(outside, inner, rel_tol=1e-14, abs_tol=1e-14):
            break
        outside, inner = (outside, middle) if holds(middle) else (middle, inner)
    return inner
