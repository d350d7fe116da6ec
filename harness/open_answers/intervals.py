"""Intervals for means over items, valid also for few items and near the limits of the range.

θ solves Σ_i (a_i − θ b_i) = 0 over items; b is 1 for a mean, and the denominator for a ratio. The upper end
is the θ at which

    P( Σ_i E_i (a_i − θ b_i) + E_0 s (h − θ) ≥ 0 ) = α/2,   E independent standard exponentials,

where h is the largest possible value of an item. The lower end mirrors this with the smallest possible value.
This is the Bayesian bootstrap (Rubin 1981, Ann. Stat. 9) with one extra item at the limit of the range, whose
weight s = Σb²/Σb is the weighted mean of the items' weights b. For items that are right or wrong, the
interval is nearly that of Clopper & Pearson. For independent values in a known range with b = 1, it is
Gaffke's bound (2005). This bound is conjectured to be valid for every distribution; no counterexample is
known (Learned-Miller & Thomas 2019, arXiv 1905.06208). The tail probability is the saddlepoint approximation
of Lugannani & Rice (1980, Adv. Appl. Probab. 12) with K(t) = −Σ log(1 − t r), where r are the factors of the
exponentials E.

`betting_sequence` gives an interval that is valid under repeated inspection.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri

from oversight.harness.arrays import FloatArray, IntArray, find_equal
from oversight.harness.estimate import find_root

_ROUNDS = 60
_NEAR_ZERO = 1e-5
_LEAST, _ROUNDING = 1e-30, 1e-15
_HALVINGS = 24
_BETS = np.geomspace(0.01, 0.999, 16)
"""Bets as shares of the bet at which the wealth could reach 0."""
_SHARES = 400


def chance_below(residual: FloatArray, count: FloatArray) -> float:
    """Return P(Σ E r ≤ 0), where each residual r occurs `count` times, each time with its own E ~ Exp(1).

    Parameters
    ----------
    residual, count
        Shape (R,).

    Examples
    --------
    >>> round(chance_below(np.array([1.0, -1.0]), np.array([1.0, 1.0])), 3)
    0.5
    """
    low, high = float(residual.min()), float(residual.max())
    if high <= 0 or low >= 0:
        return float(high <= 0)
    left, right = 1 / low, 1 / high
    t = 0.0
    for _ in range(_ROUNDS):
        part = residual / (1 - t * residual)
        slope = float(count @ part)
        if slope > 0:
            right = t
        else:
            left = t
        step = slope / float(count @ (part * part))
        following = t - step
        if not left < following < right:
            following = (left + right) / 2
        if abs(following - t) < 1e-10 * (abs(t) + 1e-3 * min(-1 / low, 1 / high)):
            t = following
            break
        t = following
    part = residual / (1 - t * residual)
    spread = t * math.sqrt(float(count @ (part * part)))
    exponent = float(count @ np.log1p(-t * residual))
    signed = math.copysign(math.sqrt(max(0.0, 2 * exponent)), t)
    if min(abs(spread), abs(signed)) < _NEAR_ZERO:
        return 0.5
    density = math.exp(-signed * signed / 2) / math.sqrt(2 * math.pi)
    return min(1.0, max(0.0, float(ndtr(signed)) - density * (1 / spread - 1 / signed)))


def _find_equal_items(a: FloatArray, b: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the first item with each distinct pair (a, b), and the index of each item's pair."""
    rounded = np.round(np.column_stack([a, b]), 12) + 0.0
    return find_equal(np.asarray(rounded, dtype=np.float64))


def bootstrap_interval(
    a: FloatArray,
    b: FloatArray,
    ends: tuple[float, float],
    level: float,
    *,
    limits: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """Return the bootstrap interval of the value θ for which Σ (a − θ b) = 0.

    Parameters
    ----------
    a, b
        Shape (N,): terms of the items, with Σb > 0.
    ends
        Smallest and largest value that θ can have.
    level
        Confidence level.
    limits
        Values of an extra item that is added to the sample: the first when the lower end is computed, the
        second when the upper end is computed. By default `ends`.

    Examples
    --------
    >>> low, high = bootstrap_interval(np.zeros(20), np.ones(20), (0.0, 1.0), 0.95)
    >>> round(low, 3), round(high, 3)
    (0.0, 0.169)
    """
    first, inverse = _find_equal_items(a, b)
    count = np.append(np.bincount(inverse).astype(np.float64), 1.0)
    a, b = a[first], b[first]
    total, times = float(b @ count[:-1]), count[:-1]
    weight = float(times @ (b * b)) / total
    value = float(times @ a) / total
    at = float(ndtri((1 - level) / 2))

    def end(last: float, limit: float, sign: int) -> float:
        reach = sign * (last - value)
        if reach <= 0:
            return last

        def excess(step: float) -> float:
            theta = value + sign * step
            residual = sign * np.append(theta * b - a, weight * (theta - limit))
            # On the normal scale the function is nearly linear in theta, so its root is found in few steps.
            chance = min(1 - _ROUNDING, max(_LEAST, chance_below(residual, count)))
            return float(ndtri(chance)) - at

        at_ends = excess(0.0), excess(reach)
        return (
            value + sign * find_root(excess, 0.0, reach, at_ends, halvings=_HALVINGS)
            if at_ends[1] < 0
            else last
        )

    lowest, highest = limits or ends
    return end(ends[0], lowest, -1), end(ends[1], highest, 1)


def betting_sequence(
    a: FloatArray, b: FloatArray, ends: tuple[float, float], level: float
) -> tuple[float, float]:
    """Return an interval of the value θ for which Σ (a − θ b) = 0; it stays valid under repeated inspection.

    Many values of θ are tested, each by bets that the true θ is larger and by bets that the true θ is
    smaller. For the true θ, the residual a − θ b has mean 0 and is bounded. So Π (1 + λ residual) is a
    martingale, which reaches 1/α with probability at most α (Ville 1939). The mean over λ and both directions
    is also a martingale (Waudby-Smith & Ramdas 2024, J. R. Stat. Soc. B 86). The interval contains the values
    that are not rejected. Parameters are those of `bootstrap_interval`.
    """
    first, inverse = _find_equal_items(a, b)
    times = np.bincount(inverse).astype(np.float64)
    a, b = a[first], b[first]
    low, high = ends
    grid = low + (high - low) * np.sin(np.pi * np.arange(_SHARES + 1) / (2 * _SHARES)) ** 2
    residual = a - grid[:, None] * b
    logs = []
    for sign, room in ((1, grid - low), (-1, high - grid)):
        # At an end of the range, any residual of the wrong sign rejects this value of theta.
        largest = np.maximum(room, _ROUNDING)[:, None] * float(b.max())
        gain = np.maximum(sign * residual / largest, -1.0)
        logs += [np.log1p(bet * gain) @ times for bet in _BETS.tolist()]
    evidence = np.logaddexp.reduce(logs, axis=0) - math.log(len(logs))
    places = np.flatnonzero(evidence < -math.log1p(-level))
    if not places.size:
        value = float(times @ a / (times @ b))
        return value, value
    return float(grid[max(0, places[0] - 1)]), float(grid[min(_SHARES, places[-1] + 1)])
