"""Confidence scores of the superhuman paper: HMS and OMS as published, and OMS at its true optimum.

S = 1 − exp(−2N t_u²) − exp(−2N t_l²) with t_l = L − √(t_u + U²): what is left of certainty after two
Hoeffding bounds that share the margin between L and U.

Source: "Humanly Certifying Superhuman Classifiers" (ICLR 2023), Theorems 5 and 6 and section 2.5,
Algorithms 1 and 2. Both
choose the split after seeing L and U, so S is a score: the guarantee is P(S ≥ 1 − α) ≤ 2α, not α.
`certificate` gives one that holds. Published OMS is 100 gradient steps of 1e-4 from t_u = (L − U)/2; it
has not converged at N = 10,000, and the published code keeps HMS where that is below 0, although the
optimum may be above.
"""

from __future__ import annotations

import math

from oversight.harness.estimate import check_least, check_unit, find_root


def margin_score(t_u: float, L: float, U: float, N: int) -> float:
    """S(t_u) = 1 − exp(−2N t_u²) − exp(−2N t_l²), for 0 ≤ t_u.

    A negative t_l bounds nothing (probability 1), though its square would look as good as a positive.
    """
    t_l = max(0.0, L - math.sqrt(t_u + U * U))
    return 1 - math.exp(-2 * N * t_u * t_u) - math.exp(-2 * N * t_l * t_l)


def heuristic_score(L: float, U: float, N: int) -> float | None:
    """S at t_u = (L − U)/2, half of the margin (Algorithm 1). None without a margin, L ≤ U."""
    _check(L, U, N)
    return margin_score((L - U) / 2, L, U, N) if L > U else None


def published_score(L: float, U: float, N: int, *, steps: int = 100, rate: float = 1e-4) -> float | None:
    """OMS: S after gradient ascent as the paper runs it (Algorithm 2); None without a margin."""
    _check(L, U, N)
    if L <= U:
        return None
    t_u = (L - U) / 2
    if margin_score(t_u, L, U, N) < 0:
        return margin_score(t_u, L, U, N)
    for _ in range(steps):
        t_u += rate * _slope(t_u, L, U, N)
    return margin_score(t_u, L, U, N)


def optimal_score(L: float, U: float, N: int) -> float | None:
    """OMS at its optimum: max of S over t_u in [0, L² − U²]; None without a margin."""
    _check(L, U, N)
    if L <= U:
        return None
    most = L * L - U * U
    grid = [most * j / 200 for j in range(201)]
    start = max(range(201), key=lambda j: margin_score(grid[j], L, U, N))
    low, high = grid[max(0, start - 1)], grid[min(200, start + 1)]
    best = find_root(lambda t: _slope(t, L, U, N), low, high, (1.0, -1.0))  # at U = 0 it starts infinite
    return max(margin_score(best, L, U, N), margin_score(grid[start], L, U, N))


def _slope(t_u: float, L: float, U: float, N: int) -> float:
    """dS/dt_u, for t_u + U² > 0."""
    root = math.sqrt(t_u + U * U)
    t_l = L - root
    return 4 * N * (t_u * math.exp(-2 * N * t_u**2) - t_l * math.exp(-2 * N * t_l**2) / (2 * root))


def _check(L: float, U: float, N: int) -> None:
    check_unit("L", L)
    check_unit("U", U)
    check_least("N", N, 1)
