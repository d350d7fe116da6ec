"""Looking on while answers come in about items drawn with unequal, recorded chances, in one draw or several.

The b-th draw takes n_b of the N_b items that remain, item i with chance ρ_i. In random order its answers
have E v_i (g_i − m) = 0 with v_i = n_b/(N_b ρ_i) at the true share m of what remains, whatever earlier
answers made of the chances. So Π (1 + λ v_i (g_i − m)) with λ > 0 shows by Ville's inequality that the share
is above m, with λ < 0 that it is below; a mixture over λ stands in for the best one (Waudby-Smith & Ramdas
2024, J. R. Stat. Soc. B 86). Of the items drawn before, the sum of truths lies between those known right and
those not known wrong, so that an accuracy A of the pool leaves a range for m, whose nearer end the draw has
to refute.

The outcome g is that of equation (G) (`oversight.harness.estimate.routed.doubly_robust`) with p = m at the
prediction and (1 − m)/(K − 1) at every other option: of K options asked about with equal chances the constant
of least variance is C = m (K − 1)/(m K + K − 2). Where the prediction itself is asked about for certain, g is
right or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.estimate.core import check_level
from oversight.harness.types import Interval

_SIZE = 500
_MOST = 700.0
"""Largest logarithm of a wealth, so that it stays a number."""
_BETS = np.geomspace(1e-3, 0.999, 12)
"""Shares of the largest bet that cannot ruin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnAnswers:
    """What one draw has told so far of its n answered items; arrays have shape (n,).

    Attributes
    ----------
    n_options
        K; 1 where the prediction itself was asked about for certain.
    readable, own, yes
        Whether the item's prediction is readable, whether it was asked about, and the answer.
    scale
        v of each.
    largest
        K → the largest v of the draw's items of so many options, answered or not.
    remaining
        N_b.
    known_right, known_wrong
        How many of the items drawn before are known to be.
    """

    n_options: IntArray
    readable: BoolArray
    own: BoolArray
    yes: BoolArray
    scale: FloatArray
    largest: Mapping[int, float]
    remaining: int
    known_right: int
    known_wrong: int


def draw_betting_sequence(draws: Sequence[DrawnAnswers], size: int, *, level: float = 0.95) -> Interval:
    """Confidence sequence of the share of right predictions among all `size` items of the pool."""
    check_level(level)
    grid = np.sin(np.pi * np.arange(_SIZE + 1) / (2 * _SIZE)) ** 2
    above, below = np.zeros(_SIZE + 1), np.zeros(_SIZE + 1)
    for draw in draws:
        over, under = _bet(draw, grid)
        least, most = _remaining_share(draw, size, grid)
        # the next share on the grid that is no nearer to what was seen
        above += over[np.searchsorted(grid, most - 1e-12)]
        below += under[np.searchsorted(grid, least + 1e-12, side="right") - 1]
    evidence = np.logaddexp(above, below) - np.log(2)
    kept = np.flatnonzero(evidence < -np.log1p(-level))
    low, high = max(0, int(kept[0]) - 1), min(_SIZE, int(kept[-1]) + 1)
    return Interval(low=float(grid[low]), high=float(grid[high]), level=level, method="draw betting")


def draw_wealth(draws: Sequence[DrawnAnswers], size: int, share: float) -> tuple[float, float]:
    """Return what bets win against "the share of right predictions is at most `share`", and "at least".

    Each reaches 1/α with probability at most α if what it bets against is true, however often one looks.
    """
    above = below = 0.0
    for draw in draws:
        least, most = _remaining_share(draw, size, np.array([share]))
        above += float(_bet(draw, most)[0][0])
        below += float(_bet(draw, least)[1][0])
    return float(np.exp(min(above, _MOST))), float(np.exp(min(below, _MOST)))


def weigh_outcomes(draws: Sequence[DrawnAnswers], share: float) -> FloatArray:
    """Return v g − v `share` of every item of all draws, in one array."""
    return np.concatenate([draw.scale * (_outcomes(draw, share) - share) for draw in draws])


def _remaining_share(draw: DrawnAnswers, size: int, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least and greatest share of right ones among what remained before the draw, by a share of the pool."""
    right_at_most = size - draw.remaining - draw.known_wrong
    most = np.clip((size * share - draw.known_right) / draw.remaining, 0, 1)
    least = np.clip((size * share - right_at_most) / draw.remaining, 0, 1)
    return least, most


def _bet(draw: DrawnAnswers, grid: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logarithms of what bets win against "the share is m, or less", and "m, or more", for every m."""
    over, under = np.zeros(len(grid)), np.zeros(len(grid))
    if not len(draw.scale):
        return over, under
    for place, m in enumerate(np.clip(grid, 1e-9, 1 - 1e-9).tolist()):
        seen = draw.scale * (_outcomes(draw, m) - m)
        falls, rises = zip(*(_reach(K, m, v) for K, v in draw.largest.items()), strict=True)
        for logs, sign, room in ((over, 1, max(falls)), (under, -1, max(rises))):
            won = np.log1p(sign * _BETS[:, None] / room * seen).sum(axis=1)
            logs[place] = np.logaddexp.reduce(won) - np.log(len(_BETS))
    return over, under


def _outcomes(draw: DrawnAnswers, m: float) -> FloatArray:
    """Outcomes g of all items, shape (n,); 0 where the prediction is unreadable, which is wrong."""
    K, others = draw.n_options, np.maximum(draw.n_options - 1, 1)
    constant = m * (K - 1) / (m * K + np.maximum(K - 2, 0) + (K < 2))
    surprise = draw.yes - np.where(draw.own, m, (1 - m) / others)
    g = m + (draw.own - constant) * surprise * K
    outcomes: FloatArray = np.where(draw.readable, g, 0.0)
    return outcomes


def _reach(K: int, m: float, v: float) -> tuple[float, float]:
    """How far v g may lie below v m and above it, with K options."""
    if K == 1:
        return v * m, v * (1 - m)
    C, other = m * (K - 1) / (m * K + K - 2), (1 - m) / (K - 1)
    falls = max((1 - C) * m * K, C * (1 - other) * K, m)
    return v * falls, v * max((1 - C) * (1 - m) * K, C * other * K)
