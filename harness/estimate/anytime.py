"""Confidence intervals that stay valid if they are computed repeatedly while answers arrive.

A fixed 95 % interval that is computed repeatedly misses the truth in far more than 5 % of studies. With an
analysis every 10 labels up to 1000, about a third of studies miss it. There are two remedies. Intervals for a
planned number of interim analyses (`obrien_fleming_level`) are narrower. Confidence sequences
(`likelihood_sequence`, `draw_betting_sequence`) are wider, and valid at all times together.

**Items drawn with unequal, recorded probabilities** (`draw_betting_sequence`), in one draw or several. The
b-th draw takes n_b of the N_b items that remain, item i with probability ρ_i. If its answers arrive in random
order, E v_i (g_i − m) = 0 with v_i = n_b/(N_b ρ_i), where g_i is the outcome of item i and m the true share
of right predictions among the remaining items. This holds however the probabilities depend on earlier
answers. By Ville's inequality a large Π (1 + λ v_i (g_i − m)) with λ > 0 shows that the share is above m, and
with λ < 0 that it is below; a mixture over λ approximates the best λ (Waudby-Smith & Ramdas 2024, J. R. Stat.
Soc. B 86). The number of right predictions on items drawn before is at least the number known to be right,
and at most the number not known to be wrong. So an accuracy A of the pool implies a range of m, and the draw
must refute the nearer end of this range.

The outcome g is that of equation (G) (`oversight.harness.estimate.routed_means`) with p = m at the prediction
and (1 − m)/(K − 1) at every other option. If K options are asked about with equal probabilities, the constant
of smallest variance is C = m (K − 1)/(m K + K − 2). If the question is always about the prediction itself, g
is 1 for a right prediction and 0 for a wrong one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri, xlogy

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import check_count, check_level, find_edge, find_root
from oversight.harness.types import Counts, Estimate, Interval


@lru_cache(maxsize=64)
def obrien_fleming_constant(looks: int, level: float = 0.95) -> float:
    """Return c such that P(|z_j| ≤ c √(L/j) for all j = 1..L) = level, for L equally spaced analyses.

    O'Brien & Fleming (1979, Biometrics 35). z_j √j is a random walk with standard normal steps, and its bound
    is the constant ±c√L. The probability of staying within the bound is computed by repeated numerical
    integration of the density (Armitage, McPherson & Rowe 1969, JRSS A 132).

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
    """Return the level at which to compute a fixed-sample interval at analysis `look` of `looks`.

    It is 2Φ(c √(L/j)) − 1 at analysis j of L, with c of `obrien_fleming_constant`.

    The intervals of all planned analyses are jointly valid if the estimates are asymptotically normal with
    independent increments, which holds for the estimates of this package.

    Raises
    ------
    EstimateError
        If `look` is below 1 or above `looks`.

    Examples
    --------
    >>> [round(obrien_fleming_level(look, 3), 4) for look in (1, 2, 3)]
    [0.9995, 0.9859, 0.9549]
    """
    if not 1 <= look <= looks:
        raise EstimateError(f"look must lie in 1..{looks}, is {look}")
    z = obrien_fleming_constant(looks, level) * np.sqrt(looks / look)
    # The level of the first of many analyses would round to 1, which `check_level` refuses.
    return float(min(1 - 2 * ndtr(-z), 1 - 1e-15))


def likelihood_sequence(
    yes_hits: int,
    errors: int,
    no_misses: Sequence[int],
    effective_K: Sequence[float],
    *,
    level: float = 0.95,
) -> Estimate:
    """Return the confidence sequence {A : L(A) ≥ (1 − level)·∫ L dBeta(½, ½)}, valid after every answer.

    L is the likelihood of an accuracy A if the choice of questions does not depend on the truth,

        log L(A) = S_o log A + (T_o + T_c) log(1 − A) + Σ_j S_c,j log(A + K'_j − 2).

    S_o counts "yes" answers about predicted options. T_o + T_c counts predictions shown to be wrong, by a
    "yes" about another option or a "no" about the predicted one. S_c,j counts "no" answers about other
    options at effective K'_j. If A is the true accuracy, the ratio of the mixture to L(A) is a martingale
    with mean 1. By Ville's inequality this ratio ever exceeds 1/(1 − level) with probability at most
    1 − level (Robbins 1970, Ann. Math. Stat. 41). With A = sin²(πu/2) the Beta(½, ½) distribution is uniform
    in u, so the integral is taken over u.

    Parameters
    ----------
    yes_hits, errors
        The counts S_o and T_o + T_c.
    no_misses, effective_K
        The counts S_c,j, and for each its K'_j ≥ 2, which is K if every item has one question.

    Raises
    ------
    EstimateError
        If there is no answer at all, a count is below 0, or an effective K below 2.

    Examples
    --------
    >>> found = likelihood_sequence(20, 0, [], [])
    >>> round(found.low, 3), round(found.high, 3)
    (0.776, 1.0)
    """
    check_level(level)
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

    def log_likelihood(A: FloatArray | float) -> FloatArray:
        total: FloatArray = xlogy(yes_hits, A) + xlogy(errors, 1 - A)
        for m, K in zip(no_misses, effective_K, strict=True):
            total = total + xlogy(m, A + K - 2)
        return total

    def holds(A: float) -> bool:
        return bool(log_likelihood(A) >= bound)

    u = (np.arange(size := max(4000, 80 * int(np.sqrt(n)))) + 0.5) / size
    A = np.sin(np.pi * u / 2) ** 2
    with np.errstate(divide="ignore"):  # the logarithm is −inf at A = 0 or 1
        values = log_likelihood(A)
        peak = float(values.max())
        bound = peak + float(np.log(np.exp(values - peak).mean())) + np.log1p(-level)
        best = float(A[int(values.argmax())])
        low, high = (find_edge(holds, best, end) for end in (0.0, 1.0))
    return Estimate.from_interval(
        value=best,
        interval=Interval(low=low, high=high, level=level, method="likelihood sequence"),
        estimator="ml",
        n=Counts(ordinary=yes_hits, complementary=n - yes_hits),
        assumptions=("options were asked about without a look at the truth", "experts answer without error"),
    )


def _stays_inside(bound: float, steps: int) -> float:
    """Return P(|S_j| ≤ bound, j = 1..steps) of a random walk with standard normal steps."""
    # The kernel has standard deviation 1, so 10 nodes per unit make the integral exact up to rounding.
    nodes, weights = np.polynomial.legendre.leggauss(40 + int(10 * bound))
    x, w = bound * nodes, bound * weights
    kernel = _density(x[:, None] - x[None, :])
    density = _density(x)
    for _ in range(steps - 1):
        density = kernel @ (w * density)
    return float((w * density).sum())


def _density(x: FloatArray) -> FloatArray:
    """Return the density of the standard normal distribution."""
    density: FloatArray = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    return density


_SHARES = 1000
_CLUSTER_BETS = np.geomspace(1e-3, 1.0, 12)
"""Bets as fractions of the largest bet that keeps the wealth positive; the wealth is averaged over them."""


def score_betting_sequence(
    right: IntArray,
    wrong: IntArray,
    open_: IntArray,
    effective_K: FloatArray,
    *,
    largest: int,
    level: float = 0.95,
) -> Interval:
    """Return a confidence sequence from bets on likelihood scores, with clusters as independent units.

    An item's score is 1/A if its prediction was shown to be right, −1/(1 − A) if shown to be wrong, and
    1/(A + K' − 2) if neither is known and other options were refused. At the true accuracy A each score has
    mean 0, even if the items of a cluster are dependent. So Π_j (1 + λ s_j(A)) over the sums s_j of the
    clusters' scores is a martingale with mean 1, and so is its mixture over λ. An A at which the mixture
    reaches 1/(1 − level) is excluded (Ville's inequality). |λ| is limited so that no factor is negative, even
    for the largest cluster.

    A partly answered cluster contributes the answers it has. The coverage is then only asymptotic (central
    limit theorem), and requires answers in random order.

    Parameters
    ----------
    right, wrong
        Shape (J,): number of items per cluster with a prediction shown to be right, and shown to be wrong.
    open_
        Shape (J, m): number of items per cluster on which experts refused only options other than the
        prediction, for each of the m values in `effective_K`.
    effective_K
        Shape (m,): values of K'.
    largest
        Number of items of the largest cluster, fixed before any answer.
    """
    check_level(level)
    counts, times = np.unique(np.column_stack([right, wrong, open_]), axis=0, return_counts=True)
    A = np.sin(np.pi * (np.arange(_SHARES) + 0.5) / (2 * _SHARES)) ** 2
    scores = np.stack([1 / A, -1 / (1 - A), *(1 / (A + K - 2) for K in effective_K)])
    sums = counts @ scores
    most, least = scores.max(axis=0), -scores.min(axis=0)
    logs = [
        times @ np.log1p(bet * share * sums)
        for share in _CLUSTER_BETS
        for bet in (0.999 / (largest * least), -0.999 / (largest * most))
    ]
    evidence = np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))
    kept = np.flatnonzero(evidence < -np.log1p(-level))
    low, high = int(kept[0]), int(kept[-1])
    return Interval(
        low=0.0 if low == 0 else float(A[low - 1]),
        high=1.0 if high == _SHARES - 1 else float(A[high + 1]),
        level=level,
        method="score betting",
    )


_DRAW_SHARES = 500
_MOST = 700.0
"""Largest logarithm of a wealth: exp of a larger number would overflow."""
_DRAW_BETS = np.geomspace(1e-3, 0.999, 12)
"""Bets as fractions of the largest bet that keeps the wealth positive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnAnswers:
    """Answers so far about the items of one draw; arrays have shape (n,) for n answered items.

    Attributes
    ----------
    n_options
        Number of options K; 1 if every question was certain to be about the prediction itself.
    readable, own, yes
        Whether the prediction is readable, whether it was asked about, and whether the answer was yes.
    scale
        Weight v = n_b/(N_b ρ) of each item: the draw took n_b of N_b items, and this item with probability ρ.
    largest
        K → the largest v of the draw's items with K options, answered or not.
    remaining
        N_b, the number of items that were not drawn before this draw.
    known_right, known_wrong
        Number of items of earlier draws whose prediction is known to be right, and known to be wrong.
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


def draw_betting_sequence(draws: Sequence[DrawnAnswers], *, level: float = 0.95) -> Interval:
    """Return a confidence sequence of the share of right predictions among all items of the pool."""
    check_level(level)
    grid = np.sin(np.pi * np.arange(_DRAW_SHARES + 1) / (2 * _DRAW_SHARES)) ** 2
    above, below = np.zeros(_DRAW_SHARES + 1), np.zeros(_DRAW_SHARES + 1)
    for draw in draws:
        over, under = _bet(draw, grid)
        least, most = _remaining_share(draw, draws[0].remaining, grid)
        # round outwards to the grid, so that the evidence is not overstated
        above += over[np.searchsorted(grid, most - 1e-12)]
        below += under[np.searchsorted(grid, least + 1e-12, side="right") - 1]
    evidence = np.logaddexp(above, below) - np.log(2)
    kept = np.flatnonzero(evidence < -np.log1p(-level))
    low, high = max(0, int(kept[0]) - 1), min(_DRAW_SHARES, int(kept[-1]) + 1)
    return Interval(low=float(grid[low]), high=float(grid[high]), level=level, method="draw betting")


def draw_wealth(draws: Sequence[DrawnAnswers], share: float) -> tuple[float, float]:
    """Return the wealth of bets against "right share ≤ `share`" and against "right share ≥ `share`".

    The right share is the share of right predictions among all items. If a hypothesis is true, the wealth of
    the bets against it ever reaches 1/α with probability at most α, even if it is computed after every
    answer.
    """
    above = below = 0.0
    for draw in draws:
        least, most = _remaining_share(draw, draws[0].remaining, np.array([share]))
        above += float(_bet(draw, most)[0][0])
        below += float(_bet(draw, least)[1][0])
    return float(np.exp(min(above, _MOST))), float(np.exp(min(below, _MOST)))


def weigh_outcomes(draws: Sequence[DrawnAnswers], share: float) -> FloatArray:
    """Return the weight times (outcome − `share`) of every answered item of all draws, in one array."""
    return np.concatenate([draw.scale * (_outcomes(draw, share) - share) for draw in draws])


def _remaining_share(draw: DrawnAnswers, size: int, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bound the share of right predictions on the items that were not drawn before `draw`.

    The bounds assume that `share` is the share of right predictions on all `size` items.
    """
    right_at_most = size - draw.remaining - draw.known_wrong
    most = np.clip((size * share - draw.known_right) / draw.remaining, 0, 1)
    least = np.clip((size * share - right_at_most) / draw.remaining, 0, 1)
    return least, most


def _bet(draw: DrawnAnswers, grid: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the log wealth of bets against "right share ≤ m" and "right share ≥ m", for all m in `grid`."""
    over, under = np.zeros(len(grid)), np.zeros(len(grid))
    if not len(draw.scale):
        return over, under
    for place, m in enumerate(np.clip(grid, 1e-9, 1 - 1e-9).tolist()):
        seen = draw.scale * (_outcomes(draw, m) - m)
        falls, rises = zip(*(_reach(K, m, v) for K, v in draw.largest.items()), strict=True)
        for logs, sign, room in ((over, 1, max(falls)), (under, -1, max(rises))):
            won = np.log1p(sign * _DRAW_BETS[:, None] / room * seen).sum(axis=1)
            logs[place] = np.logaddexp.reduce(won) - np.log(len(_DRAW_BETS))
    return over, under


def _outcomes(draw: DrawnAnswers, m: float) -> FloatArray:
    """Return the outcome g of every item, shape (n,); an unreadable prediction counts as wrong, g = 0."""
    K, others = draw.n_options, np.maximum(draw.n_options - 1, 1)
    constant = m * (K - 1) / (m * K + np.maximum(K - 2, 0) + (K < 2))
    surprise = draw.yes - np.where(draw.own, m, (1 - m) / others)
    g = m + (draw.own - constant) * surprise * K
    return np.where(draw.readable, g, 0.0)


def _reach(K: int, m: float, v: float) -> tuple[float, float]:
    """Return the maxima of v (m − g) and of v (g − m) over the possible outcomes g of an item with K options.

    v is the weight of the item.
    """
    if K == 1:
        return v * m, v * (1 - m)
    C, other = m * (K - 1) / (m * K + K - 2), (1 - m) / (K - 1)
    falls = max((1 - C) * m * K, C * (1 - other) * K, m)
    return v * falls, v * max((1 - C) * (1 - m) * K, C * other * K)
