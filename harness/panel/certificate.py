"""Confidence that a model is better than the average annotator, valid at any sample size.

The model's accuracy is at least L = P(aggregate = model). The annotators' average accuracy is at most c(x), a
ceiling that depends on their agreement x = E X (module `ceiling`). For a split point u, let p_L(u) be the
p-value of L ≤ u and p_U(u) the p-value of c(x) ≥ u. If L ≤ c(x) is true, a u0 exists with L ≤ u0 ≤ c(x), and
for every u either p_L(u0) ≤ p_L(u) or p_U(u0) ≤ p_U(u). So

    S = 1 − 2 · min_u max(p_L(u), p_U(u))

reaches 1 − α with probability at most α, although u is chosen after seeing the data. p_L is exact binomial,
or Chernoff–KL if ties make the agreement fractional. p_U is exact binomial if X takes only two values (two
annotators, or three annotators of two classes), otherwise Chernoff–KL. For items in clusters, p_L and p_U are
Chernoff–KL over clusters (`Units`), for any number of clusters and any dependence within them.

This replaces sections 2.4–2.5 of "Humanly Certifying Superhuman Classifiers" (ICLR 2023), and keeps the
paper's lower bound (Theorem 3) and assumptions.

`Units` are items, or clusters of items. Let a random cluster have m ≤ M items whose values in [0, 1] add up
to T, and let θ = E T/E m be the mean over items. For a bound u, W = (T − u m)/M + u lies in [0, 1] however
the items of a cluster depend on each other, and E W ≤ u is equivalent to θ ≤ u. So the inequality of Chernoff
and Hoeffding for means of independent values in [0, 1] applies to W, whose mean over clusters is u + (θ̂ − u)
m̄/M. With m = M = 1 this is the inequality for items.

The paper's scores HMS and OMS are computed as published, and OMS also at its true optimum. Both scores are
values of S = 1 − exp(−2N t_u²) − exp(−2N t_l²) with t_l = L − √(t_u + U²): 1 minus the error probabilities of
two Hoeffding bounds that share the margin between L and U.

Source: "Humanly Certifying Superhuman Classifiers" (ICLR 2023), Theorems 5 and 6 and section 2.5,
Algorithms 1 and 2. Both algorithms choose the split after seeing L and U, so they guarantee only
P(S ≥ 1 − α) ≤ 2α; `certify` guarantees α. Published OMS makes 100 gradient steps of 1e-4 from
t_u = (L − U)/2, which has not converged at N = 10,000. If HMS is negative, the published code returns it
unchanged, although the optimum may be positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import (
    binomial_at_least,
    check_least,
    check_unit,
    chernoff_high,
    chernoff_low,
    find_root,
)
from oversight.harness.panel.ceiling import empirical, pool_agreement, pool_ceiling, theoretical


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """Independent units: items, or clusters of items.

    Attributes
    ----------
    number
        Number of units.
    fullness
        Mean number of items per unit divided by the largest number, in (0, 1].
    """

    number: int
    fullness: float = 1.0

    def at_most(self, mean: float, bound: float) -> float:
        """Return an upper bound on the p-value of "θ ≤ `bound`"; `mean` is the observed mean over items."""
        return chernoff_high(self._over_units(mean, bound), self.number, bound)

    def at_least(self, mean: float, bound: float) -> float:
        """Return an upper bound on the p-value of "θ ≥ `bound`"; `mean` is the observed mean over items."""
        return chernoff_low(self._over_units(mean, bound), self.number, bound)

    def highest(self, mean: float, alpha: float) -> float:
        """Return the upper confidence bound of θ, at which the p-value `at_least` falls to `alpha`."""
        if mean >= 1:
            return 1.0
        return find_root(lambda bound: self.at_least(mean, bound) - alpha, mean, 1.0)

    def lowest(self, mean: float, alpha: float) -> float:
        """Return the lower confidence bound of θ, at which the p-value `at_most` falls to `alpha`."""
        return 1 - self.highest(1 - mean, alpha)

    def _over_units(self, mean: float, bound: float) -> float:
        return mean if self.fullness == 1 else bound + (mean - bound) * self.fullness


def count_units(unit: IntArray) -> Units:
    """Return the units of items; `unit`, shape (N,), is the index of every item's unit."""
    _, sizes = np.unique(unit, return_counts=True)
    return Units(number=len(sizes), fullness=float(sizes.mean() / sizes.max()))


WHOLE = 1e-9
ITEMS_ARE_DRAWS = "items are an independent sample of those meant"
CEILING_ASSUMPTIONS = (
    "for U(e) and U*: an item's annotators are drawn from a pool, and one is right more often where "
    "another is (Theorem 1, assumption 2)",
    "where the aggregate is wrong, the model names the truth at least as often as the aggregate's "
    "wrong class (Theorem 3, assumption 6)",
)

CEILINGS = ("U_e", "U_t", "U_star", "U_panel")
PValue = Callable[[float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Agreement and counts on N items, from which the certificate's confidences are computed.

    Attributes
    ----------
    L
        Share of items on which the model gives the aggregate's class. If several classes are tied, the item
        counts in part.
    x
        Share of agreeing pairs of different annotators per item, averaged over items.
    N, C
        Number of items, and number of classes.
    m
        Number of annotators per item; 0 if it varies.
    whole
        Whether the model's agreement with the aggregate is 0 or 1 on every item, which means that no tie
        counts in part.
    x_t, largest
        Means over items: the agreement of all pairs of annotators, including each annotator with itself; and
        the share of votes for the item's most frequent class. None if only published counts are known.
    clusters
        Clusters of the items; None if items are independent.
    """

    L: float
    x: float
    N: int
    m: int
    C: int
    whole: bool = True
    x_t: float | None = None
    largest: float | None = None
    clusters: Units | None = None

    @property
    def units(self) -> Units:
        """Independent units of the items."""
        return self.clusters or Units(number=self.N)

    @property
    def tail(self) -> str:
        """Name of the bound for means that have no exact binomial p-value."""
        return "Chernoff-KL over clusters" if self.clusters else "Chernoff-KL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certainty:
    """Confidence that the model beats one ceiling.

    Attributes
    ----------
    ceiling
        One of `CEILINGS`.
    bound
        Estimate of the ceiling.
    high
        One-sided upper confidence bound of the ceiling at the chosen level.
    confidence
        The confidence S, in [0, 1); the module defines S, p_L and p_U.
    split
        Split point u that minimises max(p_L(u), p_U(u)); None if the confidence is 0.
    tails
        Names of the methods that computed p_L and p_U.
    """

    ceiling: str
    bound: float
    high: float
    confidence: float
    split: float | None
    tails: tuple[str, str]


def certify(e: Evidence, ceilings: Iterable[str] = CEILINGS, *, level: float = 0.95) -> dict[str, Certainty]:
    """Return the confidence that the model beats each named ceiling.

    `level` is the level of the ceilings' upper confidence bounds.

    Raises
    ------
    EstimateError
        If a share lies outside [0, 1], or N or C is too small.
    """
    _check(e)
    p_L, tail_L = lower_tail(e)
    found = {}
    for name in ceilings:
        bound, p_U, tail_U = _upper_tail(name, e)
        confidence, split = _against(p_L, p_U)
        found[name] = Certainty(
            ceiling=name,
            bound=bound,
            high=_where(p_U, 1 - level, bound, 1.0),
            confidence=confidence,
            split=split,
            tails=(tail_L, tail_U),
        )
    return found


def lower_bound(e: Evidence, level: float = 0.95) -> float:
    """Return the one-sided lower confidence bound of L: the smallest u with p_L(u) above 1 − level."""
    _check(e)
    p_L, _ = lower_tail(e)
    return _where(p_L, 1 - level, e.L, 0.0)


def _where(p: PValue, alpha: float, likely: float, unlikely: float) -> float:
    """Return the u between `likely` and `unlikely` at which the p-value p(u) falls to `alpha`.

    Return `likely` if p(`likely`) ≤ α, and `unlikely` if p(`unlikely`) > α.
    """
    if p(likely) <= alpha:
        return likely
    if p(unlikely) > alpha:
        return unlikely
    if likely < unlikely:
        return find_root(lambda u: p(u) - alpha, likely, unlikely)
    return find_root(lambda u: alpha - p(u), unlikely, likely)


def lower_tail(e: Evidence) -> tuple[PValue, str]:
    """Return the function p_L and the name of the method that computes it.

    p_L(u) is the p-value of "the model and the annotators' aggregate label agree on at most the share u of
    the items".
    """
    if e.whole and not e.clusters:
        hits = round(e.L * e.N)
        return (lambda u: binomial_at_least(hits, e.N, u)), "exact binomial"
    return (lambda u: e.units.at_most(e.L, u)), e.tail


def agreement_tail(e: Evidence) -> tuple[PValue, str]:
    """Return the function p_x and the name of the method that computes it.

    p_x(x0) is the p-value of "the expected share of agreeing pairs is at least x0".
    """
    units, least = e.units, two_point(e)
    if least is not None and e.clusters:
        share = (e.x - least) / (1 - least)
        return (lambda x0: units.at_least(share, max(0.0, (x0 - least) / (1 - least)))), e.tail
    if least is not None:
        n = units.number
        # An item's agreement is `least` with probability (1 − x)/(1 − least), and otherwise 1.
        splits = min(n, round((1 - e.x) / (1 - least) * n))

        def exact(x0: float) -> float:
            rate = (1 - x0) / (1 - least)
            return 1.0 if rate >= 1 else binomial_at_least(splits, n, max(0.0, rate))

        return exact, "exact binomial"
    return (lambda x0: units.at_least(e.x, x0)), e.tail


def two_point(e: Evidence) -> float | None:
    """Return the only value below 1 that an item's share of agreeing pairs can have.

    The value is 0 for two annotators, and 1/3 for three annotators of two classes. In every other case, None
    is returned.
    """
    if e.m == 2:
        return 0.0
    return 1 / 3 if (e.m, e.C) == (3, 2) else None


def _upper_tail(ceiling: str, e: Evidence) -> tuple[float, PValue, str]:
    """Return a ceiling's estimate, the function p_U, and the name of the method that computes p_U.

    p_U(u) is the p-value of "the true ceiling is at least u".
    """
    p_x, tail = agreement_tail(e)
    if ceiling == "U_e":
        return empirical(e.x), lambda u: p_x(u * u), tail
    if ceiling == "U_star":
        return pool_ceiling(e.x, e.C), lambda u: p_x(pool_agreement(u, e.C)) if u > 1 / e.C else 1.0, tail
    if ceiling == "U_panel":
        return _largest(e, p_x, tail)
    if e.m:
        return theoretical(e.x, e.m), lambda u: p_x(_different(u * u, e.m)), tail
    if e.x_t is None:
        raise EstimateError("x_t is needed if the number of annotators varies")
    x_t, units = e.x_t, e.units
    return empirical(x_t), lambda u: units.at_least(x_t, u * u), e.tail


def _largest(e: Evidence, p_x: PValue, tail: str) -> tuple[float, PValue, str]:
    least = two_point(e)
    if least is not None:  # if the annotators disagree, the largest class has 1 of 2 votes, or 2 of 3
        share = 1 / 2 if e.m == 2 else 2 / 3
        slope = (1 - share) / (1 - least)
        return 1 - slope * (1 - e.x), lambda u: p_x(max(0.0, 1 - (1 - u) / slope)), tail
    if e.largest is not None:
        mean, units, floor = e.largest, e.units, 1 / e.C

        def p_largest(u: float) -> float:
            # Map [1/C, 1] to [0, 1]: the largest share is at least 1/C, and a smaller range gives a sharper
            # bound.
            return units.at_least((mean - floor) / (1 - floor), max(0.0, (u - floor) / (1 - floor)))

        return mean, p_largest, e.tail
    # by Jensen's inequality, because only the mean agreement x is known
    bound = pool_ceiling(1 / e.m + (e.m - 1) / e.m * e.x, e.C)
    return bound, lambda u: p_x(_different(pool_agreement(u, e.C), e.m)), tail


def _different(all_pairs: float, m: int) -> float:
    """Convert the agreement of all pairs of m annotators into that of pairs of different annotators.

    All pairs include each annotator with itself.
    """
    return max(0.0, (all_pairs * m - 1) / (m - 1))


def _against(p_L: PValue, p_U: PValue) -> tuple[float, float | None]:
    """Return the confidence S against one ceiling, and the split point u, which is None if S is 0.

    p_L increases and p_U decreases in u, so max(p_L, p_U) is smallest where they cross.
    """
    u = 1.0
    if p_L(u) > p_U(u):  # otherwise u = 1 is best: p_L increases and p_U decreases in u
        # If both p-values underflow to 0, the search for the crossing continues to the right of t.
        u = find_root(lambda t: -1.0 if p_L(t) > p_U(t) else 1.0, 0.0, 1.0, (1.0, -1.0))
    p = min(max(p_L(v), p_U(v)) for v in (max(0.0, u - 1e-10), u, min(1.0, u + 1e-10)))
    confidence = max(0.0, 1 - 2 * p)
    return confidence, u if confidence > 0 else None


def _check(e: Evidence) -> None:
    check_unit("L", e.L)
    check_unit("x", e.x)
    check_least("N", e.N, 1)
    check_least("classes", e.C, 2)
    if e.m == 1 or e.m < 0:
        raise EstimateError(
            f"annotators must be at least 2, is {e.m}: one annotator has nobody to agree with"
        )


def margin_score(t_u: float, L: float, U: float, N: int) -> float:
    """Return S(t_u) = 1 − exp(−2N t_u²) − exp(−2N t_l²), for t_u ≥ 0 and t_l = L − √(t_u + U²).

    A negative t_l is set to 0, because Hoeffding's inequality gives no bound for it.
    """
    t_l = max(0.0, L - math.sqrt(t_u + U * U))
    return 1 - math.exp(-2 * N * t_u * t_u) - math.exp(-2 * N * t_l * t_l)


def heuristic_score(L: float, U: float, N: int) -> float | None:
    """Return the score HMS: S with t_u = (L − U)/2, half of the margin (Algorithm 1); None if L ≤ U."""
    _check_score(L, U, N)
    return margin_score((L - U) / 2, L, U, N) if L > U else None


def published_score(L: float, U: float, N: int) -> float | None:
    """Return the score OMS as published: S after the gradient ascent of Algorithm 2; None if L ≤ U."""
    _check_score(L, U, N)
    if L <= U:
        return None
    t_u = (L - U) / 2
    if margin_score(t_u, L, U, N) < 0:
        return margin_score(t_u, L, U, N)
    for _ in range(100):
        t_u += 1e-4 * _slope(t_u, L, U, N)
    return margin_score(t_u, L, U, N)


def optimal_score(L: float, U: float, N: int) -> float | None:
    """Return the score OMS: the maximum of `margin_score` over t_u in [0, L² − U²]; None if L ≤ U."""
    _check_score(L, U, N)
    if L <= U:
        return None
    most = L * L - U * U
    grid = [most * j / 200 for j in range(201)]
    start = max(range(201), key=lambda j: margin_score(grid[j], L, U, N))
    low, high = grid[max(0, start - 1)], grid[min(200, start + 1)]
    # The signs (1.0, -1.0) of the slope at both ends are given, because the slope is infinite at U = t_u = 0.
    best = find_root(lambda t: _slope(t, L, U, N), low, high, (1.0, -1.0))
    return max(margin_score(best, L, U, N), margin_score(grid[start], L, U, N))


def _slope(t_u: float, L: float, U: float, N: int) -> float:
    """Return the derivative dS/dt_u of the score S (`margin_score`), for t_u + U² > 0."""
    root = math.sqrt(t_u + U * U)
    t_l = L - root
    return 4 * N * (t_u * math.exp(-2 * N * t_u**2) - t_l * math.exp(-2 * N * t_l**2) / (2 * root))


def _check_score(L: float, U: float, N: int) -> None:
    check_unit("L", L)
    check_unit("U", U)
    check_least("N", N, 1)
