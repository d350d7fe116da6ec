"""Types of arrays, codes for missing options, and division with undefined cases."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oversight.harness.errors import NotIdentified

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
AnyIntArray = NDArray[np.integer[Any]]

UNREADABLE = -1
"""In place of a predicted option: the model answered, but named none."""
FAILED = -2
"""In place of a predicted option: there is no answer, because the call failed or was not made."""
UNKNOWN = -1
"""In a correctness matrix: the expert of a predicted option did not say."""
NO_LABEL = -1
"""In a grid of ratings: the annotator gave the item no label."""


def divide(over: Any, under: Any, where: BoolArray, empty: float = np.nan) -> FloatArray:
    """over/under if `where` holds, otherwise `empty`; arrays of one shape, or a number over an array."""
    quotient: FloatArray = np.divide(over, under, out=np.full(np.shape(under), empty), where=where)
    return quotient


_ODD = np.uint64(0x9E3779B97F4A7C15)


def find_equal(table: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the first of all equal rows, and the index of each row among them; shapes (R,) and (N,).

    NaN is not equal to itself, nor 0 to −0. By a hash, since rows sort slowly.
    """
    words = np.ascontiguousarray(table).view(np.uint64)
    key = np.zeros(len(table), dtype=np.uint64)
    for column in words.T:
        key = (key ^ column) * _ODD
        key ^= key >> np.uint64(29)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    if not (table[first][inverse] == table).all():  # two rows with the same hash
        _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first, inverse.ravel()


def fix_constant(c: FloatArray, never: BoolArray) -> FloatArray:
    """C of every item with options that are never asked about: their common c; NaN if there are none.

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
