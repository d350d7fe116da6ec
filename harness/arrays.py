"""Types of arrays, codes for missing options, and division with undefined cases."""

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from oversight.harness.errors import NotIdentified

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
AnyIntArray = NDArray[np.integer[Any]]

UNREADABLE = -1
"""Code instead of a predicted option: the model answered, but named no option."""
FAILED = -2
"""Code instead of a predicted option: there is no answer, because the call failed or was not made."""
UNKNOWN = -1
"""Code in a correctness matrix: no expert's answer says whether the predicted option is right."""
NO_LABEL = -1
"""Code in a grid of ratings: the annotator gave the item no label."""


_Record = TypeVar("_Record", bound="DataclassInstance")


def take_rows(record: _Record, rows: AnyIntArray | BoolArray | slice) -> _Record:
    """Select rows of all fields of a dataclass that are arrays, in the given order."""
    found = {field.name: getattr(record, field.name) for field in fields(record)}
    return replace(record, **{name: x[rows] for name, x in found.items() if isinstance(x, np.ndarray)})


def divide(over: Any, under: Any, where: BoolArray, empty: float = np.nan) -> FloatArray:
    """Return over/under where `where` is true, else `empty`; the result has the shape of `under`."""
    quotient: FloatArray = np.divide(over, under, out=np.full(np.shape(under), empty), where=where)
    return quotient


_ODD = np.uint64(0x9E3779B97F4A7C15)


def find_equal(table: FloatArray) -> tuple[IntArray, IntArray]:
    """Find distinct rows.

    Returns two arrays. The first has the position at which each of R distinct rows first occurs, shape (R,).
    The second has, for every row, the index of the equal distinct row, shape (N,). NaN does not equal NaN,
    and 0 does not equal −0. Rows are hashed, because sorting them is slow.
    """
    words = np.ascontiguousarray(table).view(np.uint64)
    key = np.zeros(len(table), dtype=np.uint64)
    for column in words.T:
        key = (key ^ column) * _ODD
        key ^= key >> np.uint64(29)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    if not (table[first][inverse] == table).all():  # two different rows have the same hash, or a row has NaN
        _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first, inverse.ravel()


def fix_constant(c: FloatArray, never: BoolArray) -> FloatArray:
    """Return, per item, the value c shared by all options that are never asked about.

    The value is NaN for an item without such options.

    Parameters
    ----------
    c
        Shape (N, K): value of each option.
    never
        Shape (N, K): whether the option is never asked about.

    Raises
    ------
    NotIdentified
        If an item's options that are never asked about differ in c.
    """
    if not never.any():
        return np.full(len(c), np.nan)
    high = np.where(never, c, -np.inf).max(axis=1)
    bad = np.flatnonzero(high - np.where(never, c, np.inf).min(axis=1) > 1e-12)
    if bad.size:
        options = ", ".join(str(k) for k in np.flatnonzero(never[bad[0]]))
        raise NotIdentified(
            f"the questions were drawn for other predictions and cannot evaluate the given predictions: in "
            f"{bad.size} of {len(c)} items, the estimate needs answers about options with propensity 0 (in "
            f"the first of these items: options {options})"
        )
    return np.where(np.isinf(high), np.nan, high)
