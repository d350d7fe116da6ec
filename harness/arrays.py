"""Types of arrays, codes for missing options, and division with undefined cases."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
