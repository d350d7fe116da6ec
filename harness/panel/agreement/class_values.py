"""What classes measure, read from their names: numbers, for agreement at levels that need an order."""

from __future__ import annotations

import math
import re

import numpy as np

from oversight.harness.arrays import FloatArray
from oversight.harness.errors import EstimateError
from oversight.harness.panel.ratings import Panel

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_MINUS = str.maketrans("−–﹣－", "----")
_SHOWN = 8


def parse_number(name: str) -> float | None:
    """Number that a label is, with a point before its decimals; None if it is none.

    Examples
    --------
    >>> parse_number("10"), parse_number("−1.5"), parse_number("1 star"), parse_number("1,5")
    (10.0, -1.5, None, None)
    """
    text = name.strip().translate(_MINUS)
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


def find_class_values(panel: Panel, level: str) -> FloatArray | None:
    """Numbers of the classes, shape (K,); None if the level needs none or the classes stand in a given order.

    Raises
    ------
    EstimateError
        Naming a class that is no number, at a level that needs numbers or an order.
    """
    if level == "nominal" or (level == "ordinal" and panel.ordered):
        return None
    numbers = [parse_number(name) for name in panel.classes]
    word = next((c for c, x in zip(panel.classes, numbers, strict=True) if x is None), None)
    if word is None:
        return np.array(numbers, dtype=np.float64)
    if level != "ordinal":
        raise EstimateError(f"labels must be numbers; could not convert string to float: {word!r}")
    seen = ", ".join(map(repr, panel.classes[:_SHOWN])) + " …" * (len(panel.classes) > _SHOWN)
    raise EstimateError(
        f"labels must be numbers or have a given order; {word!r} is no number; name all labels from lowest "
        f"to highest, as in --classes low,medium,high (classes=[...] in Python); labels are {seen}"
    )
