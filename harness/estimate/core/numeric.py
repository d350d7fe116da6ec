"""Numerics of our own: roots, equal rows, and effective numbers of weighted units."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.errors import NotIdentified

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


_ODD = np.uint64(0x9E3779B97F4A7C15)


def find_equal(table: FloatArray) -> tuple[IntArray, IntArray]:
    """The first of all equal rows, and which of these every row is; both shapes (R,) and (N,) of places.

    NaN is not equal to itself, nor 0 to −0. By a hash, since rows sort slowly.
    """
    words = np.ascontiguousarray(table).view(np.uint64)
    key = np.zeros(len(table), dtype=np.uint64)
    for column in words.T:
        key = (key ^ column) * _ODD
        key ^= key >> np.uint64(29)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    if not (table[first][inverse] == table).all():  # two rows of one hash
        _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first, inverse.ravel()


FEWEST_EFFECTIVE = 4.0
"""Fewest effective clusters (`effective_clusters`) for an interval; with fewer, one cluster decides it."""


def count_effective(weight: FloatArray) -> float:
    """Number of units of equal weight that leave a mean as exact as these, (Σw)²/Σw².

    Parameters
    ----------
    weight
        Shape (N,), at least 0, not all 0.

    Examples
    --------
    >>> count_effective(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    return float(weight.sum() ** 2 / (weight**2).sum())


def effective_clusters(cluster: IntArray) -> float:
    """Number of clusters of equal size that leave a mean as exact as these, (Σm)²/Σm² of their sizes m.

    The number of clusters if all have one size; nearly 1 if one cluster holds nearly all items. Source: Kish
    1965, Survey Sampling, with clusters that are right or wrong as a whole.

    Parameters
    ----------
    cluster
        Shape (N,), N ≥ 1: number of every item's cluster, 0 or more; gaps are allowed.

    Examples
    --------
    >>> effective_clusters(np.array([0, 0, 1, 1]))
    2.0
    >>> round(effective_clusters(np.array([0] * 10 + [1, 2])), 2)
    1.41
    """
    return count_effective(np.bincount(cluster).astype(np.float64))


def check_clusters(cluster: IntArray) -> None:
    """Refuse clusters that are effectively fewer than `FEWEST_EFFECTIVE`.

    Items that are all of different clusters pass, however few.

    Parameters
    ----------
    cluster
        As in `effective_clusters`.

    Raises
    ------
    NotIdentified
        If they are fewer; the message gives their effective number and the share of the largest cluster.
    """
    size = np.bincount(cluster)
    effective = effective_clusters(cluster)
    if size.max() > 1 and effective < FEWEST_EFFECTIVE - 1e-9:
        raise NotIdentified(
            f"{np.count_nonzero(size)} clusters, the largest with {size.max() / size.sum():.0%} of the "
            f"items, count as {effective:.1f} of equal size; an interval needs {FEWEST_EFFECTIVE:g}: label "
            "more items of other clusters"
        )


def fix_constant(c: FloatArray, never: BoolArray) -> FloatArray:
    """C of every item some options of which are never asked about: their common c; NaN where all can be.

    Both arguments have shape (N, K).

    Raises
    ------
    NotIdentified
        If they differ in c.
    """
    high = np.where(never, c, -np.inf).max(axis=1)
    bad = np.flatnonzero(high - np.where(never, c, np.inf).min(axis=1) > 1e-12)
    if bad.size:
        options = ", ".join(str(k) for k in np.flatnonzero(never[bad[0]]))
        raise NotIdentified(
            f"{bad.size} of {len(c)} items, the first with the options {options}: they have propensity 0, "
            "but the target tells them apart; these answers were asked for other predictions and cannot "
            "score these"
        )
    return np.where(np.isinf(high), np.nan, high)
