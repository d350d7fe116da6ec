"""The working distribution of items whose options were drawn with unequal propensities.

q_i(k) ∝ π_ik^(γ + δ|c_ik|) e^{β|c_ik| + η c_ik}. The propensities order the options by what the draw thought
likely. γ says how far the answers bear that out, and is negative where they contradict it; δ says how much
more or less they do for options that the target names. β and η are levels of these options; the tilt of the
interval moves them anyway. The four are the posterior mode under normal priors. At the true mean the
derivative of the score by any of them has expectation 0, so fitting them to the same answers changes its
distribution only by O(1/N).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oversight.harness.arrays import BoolArray, FloatArray, IntArray

_PRIOR_MEAN = np.array([1.0, 0.0, 0.0, 0.0])
_PRIOR_SD = np.array([0.4, 0.5, 3.0, 3.0])
"""Of γ, δ, β and η. Intervals cover .94 in places without δ, and .90 where its prior has a deviation of 1."""
_LEAST = 1e-3
"""Options asked about more rarely, or never, count as asked about with this propensity."""
_ROUNDS = 60
_ENOUGH = 1e-10


def fit_working(
    c: FloatArray,
    propensities: FloatArray,
    own: BoolArray,
    asked: IntArray,
    yes: FloatArray,
    count: FloatArray,
) -> FloatArray:
    """Fit q to the answers; shape (N, K), rows sum to 1.

    Parameters
    ----------
    c, propensities, own
        Shape (N, K): the target, π, and which columns are options of the item.
    asked, yes, count
        Shape (N,): option asked about (−1 for none), 1 for yes and 0 for no, number of equal items.
    """
    features = _describe(c, propensities, own)
    drawn = np.flatnonzero(asked >= 0)
    theta = _PRIOR_MEAN.copy()
    if drawn.size:
        first, number = _join_alike(
            [x[drawn] for x in features], own[drawn], asked[drawn], yes[drawn], count[drawn]
        )
        rows = drawn[first]
        theta = _find_mode([x[rows] for x in features], own[rows], asked[rows], yes[rows], number)
    return _distribute(features, own, theta)


def prior_working(c: FloatArray, propensities: FloatArray, own: BoolArray) -> FloatArray:
    """Make q before any answer, q ∝ π; shapes as in `fit_working`."""
    return _distribute(_describe(c, propensities, own), own, _PRIOR_MEAN)


def _describe(c: FloatArray, propensities: FloatArray, own: BoolArray) -> list[FloatArray]:
    """What γ, δ, β and η multiply."""
    total = np.where(own, propensities, 0.0).sum(axis=1, keepdims=True)
    share = np.divide(propensities, total, out=np.zeros_like(propensities), where=total > 0)
    log_share, named = np.log(np.maximum(share, _LEAST)), np.abs(c)
    return [log_share, named * log_share, named, c]


def _distribute(features: list[FloatArray], own: BoolArray, theta: FloatArray) -> FloatArray:
    log_q = np.where(own, sum(t * x for t, x in zip(theta.tolist(), features, strict=True)), -np.inf)
    q = np.exp(log_q - log_q.max(axis=1, keepdims=True))
    q = np.where(own, np.maximum(q, 1e-9), 0.0)
    working: FloatArray = q / q.sum(axis=1, keepdims=True)
    return working


def _join_alike(
    features: list[FloatArray], own: BoolArray, asked: IntArray, yes: FloatArray, count: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Join rows that the likelihood cannot tell apart: the first row of every kind, and its number of items.

    They have the same options in any order, the same option asked about, and the same answer. Few kinds are
    left of very many items, because propensities follow from how many models predict an option.
    """
    cell = _mix(own.astype(np.uint64), *(np.round(x, 9).view(np.uint64) for x in features))
    told = cell[np.arange(len(asked)), asked]
    key = _mix(told, yes.astype(np.uint64), *np.sort(cell, axis=1).T)
    _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    return first.astype(np.int64), np.bincount(kind, count).astype(np.float64)


def _mix(start: NDArray[np.uint64], *values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A 64-bit hash of values in their order, element by element (the finaliser of SplitMix64)."""
    mixed = start
    for value in values:
        mixed = (mixed ^ value) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = mixed ^ (mixed >> np.uint64(27))
    return mixed


def _find_mode(
    features: list[FloatArray], own: BoolArray, asked: IntArray, yes: FloatArray, count: FloatArray
) -> FloatArray:
    """γ, δ, β and η of the largest posterior density, by Fisher scoring with halved steps."""
    row = np.arange(len(asked))
    told = np.stack([x[row, asked] for x in features])
    precision = _PRIOR_SD**-2.0

    def density(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        q = _distribute(features, own, theta)
        p = np.clip(q[row, asked], 1e-12, 1 - 1e-12)
        likelihood = float(count @ np.where(yes > 0, np.log(p), np.log1p(-p)))
        return likelihood - float(precision @ (theta - _PRIOR_MEAN) ** 2) / 2, q, p

    theta, size = _PRIOR_MEAN.copy(), 1.0
    best, q, p = density(theta)
    for _ in range(_ROUNDS):
        slope = told - np.stack([(q * x).sum(axis=1) for x in features])
        odds = p / (1 - p)
        gradient = slope @ (count * np.where(yes > 0, 1.0, -odds)) - precision * (theta - _PRIOR_MEAN)
        step = np.linalg.solve((slope * (count * odds)) @ slope.T + np.diag(precision), gradient)
        step *= size / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < _ENOUGH:
            break
        found, q_next, p_next = density(theta + step)
        if found > best - 1e-10 * (1 + abs(best)):  # near the mode the density is flat, the steps are not
            theta, best, q, p, size = theta + step, found, q_next, p_next, min(1.0, 2 * size)
        else:
            size /= 4
    return np.round(theta, 6)  # the same whatever the order of the items
