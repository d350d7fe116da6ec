"""Where a function falls through 0; of our own, as to load scipy's takes longer than most verbs compute."""

from __future__ import annotations

import math
from collections.abc import Callable

HALVINGS = 48


def find_root(
    falling: Callable[[float], float],
    left: float,
    right: float,
    ends: tuple[float, float] | None = None,
    *,
    halvings: int = HALVINGS,
) -> float:
    """The root between two ends of opposite signs, by the ITP method: never slower than halving, mostly fast.

    Off by at most (right − left)/2^(halvings + 1), or a float. Source: Oliveira & Takahashi 2020,
    ACM Trans. Math. Softw. 47, with κ₁ = .2/(b − a), κ₂ = 2, n₀ = 1.

    Parameters
    ----------
    falling
        Above 0 left of the root, below it on the right; of several zeros the first is found.
    ends
        Its values at `left` and `right`, where they are known.
    """
    at_left, at_right = ends or (falling(left), falling(right))
    near = (right - left) / 2 ** (halvings + 1)
    radius, truncation = 2 * (right - left), 0.2 / (right - left)
    while right - left > 2 * near:
        radius /= 2
        half, width = (left + right) / 2, right - left
        if not left < half < right:  # as near as floats come
            break
        fall = at_left - at_right
        secant = (at_left * right - at_right * left) / fall if fall > 0 else half
        step = min(truncation * width**2, abs(half - secant))
        towards = secant + math.copysign(step, half - secant)
        reach = max(0.0, radius - width / 2)
        middle = towards if abs(towards - half) <= reach else half - math.copysign(reach, half - secant)
        value = falling(middle)
        if value > 0:
            left, at_left = middle, value
        else:  # of several zeros the first
            right, at_right = middle, value
    return (left + right) / 2
