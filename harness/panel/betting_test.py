"""Test whether a model is better than the average annotator, by betting on one mean.

The tested claim is L > c(E X). L is the model's mean agreement with the aggregate, c is a concave ceiling of
the annotators' accuracy (module `ceiling`), and X is the argument of c on one item. A concave function lies
below its tangents: c(E X) ≤ c(x0) + c'(x0)(E X − x0) for every x0. With D the agreement of model and
aggregate on an item, define

    Z = D − c(x0) − c'(x0)(X − x0),        E Z > 0  ⇒  L > c(E X),

and test E Z ≤ 0. For c = √ this is Z = D − X/(2 U0) − U0/2 with U0 = √x0. Z uses the correlation of D and X
on the same item, unlike the two separate bounds of the module `certificate`.

If E Z ≤ 0, the wealth Π (1 + λ_n Z_n) with 0 ≤ λ_n < 1/|min Z_n| is a supermartingale that starts at 1, and
it reaches 1/p with probability at most p (Ville). x0 and λ may change from item to item if they depend only
on earlier items. So x0 is the mean X of the earlier items, and no pilot sample is needed. The test is valid
for any number of items and any distribution.

If items are in clusters, one bet is made per cluster, on the sum of Z over its items divided by the largest
cluster size M. This value has the same bounds as Z, and its mean has the same sign, whatever the dependence
within clusters.

Source: the margin is that of "Humanly Certifying Superhuman Classifiers" (ICLR 2023); its paired form is this
project's derivation. The bets are those of Waudby-Smith & Ramdas 2024, "Estimating means of bounded random
variables by betting".
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import check_rows
from oversight.harness.panel.ceiling import pool_ceiling

CAP = 0.75
"""Largest bet as a share of the bet at which the wealth could reach 0."""

Tangent = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""x0 → (c(x0), c'(x0))."""


def root(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the value and the slope of c(x) = √x, for the ceilings U(e) and U(t), at points `x`.

    Points below 0.001 count as 0.001.
    """
    c = np.sqrt(np.maximum(x, 1e-3))
    return c, 1 / (2 * c)


def pool_tangent(C: int) -> Tangent:
    """Return a function that computes tangents of the ceiling U*(x) for C classes.

    The returned function receives points x0, and returns two arrays: the tangents' values at x0, and their
    slopes. A tangent touches U* at x0. If x0 is below 1/C + 0.001, the tangent touches U* at 1/C + 0.001
    instead, because the slope of U* is infinite at 1/C.
    """

    def tangent(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        inside = np.maximum(x, 1 / C + 1e-3)
        c = np.array([pool_ceiling(float(v), C) for v in inside])
        slope = (C - 1) / (2 * np.sqrt((C - 1) * (C * inside - 1)))
        return c - (inside - x) * slope, slope

    return tangent


def itself(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the value and the slope of the function c(x) = x, which is the ceiling U(p), at points `x`."""
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
    """Return 1 − p, where p is the p-value of "the model's agreement does not exceed the ceiling".

    Parameters
    ----------
    hits
        Shape (n,): agreement of model and aggregate, in [0, 1].
    x
        Shape (n,): the items' values X in [0, 1], for example the share of agreeing pairs of annotators; the
        ceiling is a function of the mean of X.
    tangent
        Function that returns the value and the slope of the ceiling's tangent.
    seed
        Seed of the random order of the bets.
    level
        Level for which the bets are chosen; the result is valid at every level.
    unit
        Shape (n,): index of the item's independent unit (`Panel.unit`); by default every item is a unit.

    Raises
    ------
    EstimateError
        If there is no item, shapes differ, or a value lies outside [0, 1].
    """
    if hits.shape != x.shape or hits.ndim != 1 or not len(hits):
        raise EstimateError(f"hits and x must have the same shape (n >= 1,), have {hits.shape} and {x.shape}")
    for name, values in (("hits", hits), ("x", x)):
        check_rows(name, values, (values >= 0) & (values <= 1), "lie in [0, 1]")
    _, place = np.unique(np.arange(len(hits)) if unit is None else unit, return_inverse=True)
    n = int(place.max()) + 1
    order = np.random.default_rng(seed).permutation(n)
    rows = (hits, x, np.ones(len(hits)))
    d, x, size = (np.bincount(place, w)[order].astype(np.float64) for w in rows)
    past = np.arange(1, n + 1)  # number of earlier units plus 1, so that all means below are defined
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
    """Return, for each position, the sum of all earlier values."""
    return np.concatenate([[0.0], np.cumsum(values)[:-1]])
