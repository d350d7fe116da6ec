"""Is the model better than the average annotator? One test of one mean, unit by unit.

L − c(E X) > 0 is asked, c being a concave ceiling (`ceiling`) and X what it is made of. A concave function
lies below its tangents: c(E X) ≤ c(x0) + c'(x0)(E X − x0) for every x0. So with D the agreement of model and
aggregate on an item,

    Z = D − c(x0) − c'(x0)(X − x0),        E Z > 0  ⇒  L > c(E X),

and E Z ≤ 0 is tested. For c = √ it is D − X/(2 U0) − U0/2 with U0 = √x0. That keeps the model's agreement
and the annotators' on the same item together, which two separate tails (`certificate`) cannot.

The test bets: wealth Π (1 + λ_n Z_n) with 0 ≤ λ_n < 1/|least Z_n| is, if E Z ≤ 0, a supermartingale from 1,
and reaches 1/p with probability at most p (Ville). x0 and λ may change from item to item as long as they
look at earlier items alone; so x0 is their mean X, and no pilot sample is spent on it. Valid at any number
of items, whatever the distribution.

Of items in clusters one bet is laid on a whole cluster: Σ Z of its items over M, the most items that a
cluster has, is bounded as Z is and has a mean of the same sign, however they depend on each other.

Source: the paired form of the margin of "Humanly Certifying Superhuman Classifiers" (ICLR 2023) is ours;
bets as in Waudby-Smith & Ramdas 2024, "Estimating means of bounded random variables by betting".
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import check_level, check_rows
from oversight.harness.panel.ceiling import pool_ceiling

CAP = 0.75
"""Share of the largest bet that cannot lose everything."""

Tangent = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""x0 → (c(x0), c'(x0))."""


def root(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Tangent of √x, for U(e) and U(t)."""
    c = np.sqrt(np.maximum(x, 1e-3))
    return c, 1 / (2 * c)


def pool_tangent(C: int) -> Tangent:
    """Tangent of U*; its x is at least 1/C, where the slope is infinite."""

    def tangent(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        inside = np.maximum(x, 1 / C + 1e-3)
        c = np.array([pool_ceiling(float(v), C) for v in inside])
        return c - (inside - x) * (slope := (C - 1) / (2 * np.sqrt((C - 1) * (C * inside - 1)))), slope

    return tangent


def itself(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Tangent of c(x) = x, for U(p)."""
    return x, np.ones_like(x)


def betting_confidence(
    hits: FloatArray,
    x: FloatArray,
    tangent: Tangent,
    *,
    seed: int = 0,
    level: float = 0.95,
    unit: IntArray | None = None,
) -> float:
    """1 − p of "the model does not exceed the ceiling"; reaches `level` wrongly with probability ≤ 1 − level.

    Parameters
    ----------
    hits
        Shape (n,): agreement of model and aggregate, in [0, 1].
    x
        Shape (n,): the ceiling's X of the same items, in [0, 1].
    tangent
        Tangent of the ceiling.
    seed
        Seed of the order in which units are taken.
    level
        At which bets are most powerful; the result holds at every level.
    unit
        Shape (n,): number of the independent unit that an item belongs to (`Panel.unit`); by default itself.

    Raises
    ------
    EstimateError
        If there is no item, shapes differ, or a value leaves [0, 1].
    """
    check_level(level)
    if hits.shape != x.shape or hits.ndim != 1 or not len(hits):
        raise EstimateError(f"hits and x must have one shape (n >= 1,), have {hits.shape} and {x.shape}")
    for name, values in (("hits", hits), ("x", x)):
        check_rows(name, values, (values >= 0) & (values <= 1), "lie in [0, 1]")
    _, place = np.unique(np.arange(len(hits)) if unit is None else unit, return_inverse=True)
    n = int(place.max()) + 1
    order = np.random.default_rng(seed).permutation(n)
    d, x, size = (np.bincount(place, w)[order].astype(np.float64) for w in (hits, x, np.ones(len(hits))))
    past = np.arange(1, n + 1)  # with one made-up item or cluster before the first
    x0 = (1 + _before(x)) / (1 + _before(size))
    c, slope = tangent(x0)
    z = (d - size * c - slope * (x - size * x0)) / size.max()
    mean = _before(z) / past
    spread = (0.25 + _before((z - mean) ** 2)) / past
    most = CAP / (c + slope * (1 - x0))
    bets = np.minimum(np.sqrt(2 * math.log(1 / (1 - level)) / (n * spread)), most)
    wealth = float(np.cumsum(np.log1p(bets * z)).max())
    return -math.expm1(-max(0.0, wealth))


def _before(values: FloatArray) -> FloatArray:
    """Sum of what stands before every value."""
    return np.concatenate([[0.0], np.cumsum(values)[:-1]])
