"""Predictions of several models as one matrix, for the protocols that look at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from harness import BadInput
from harness.types import Item

Predictions = Mapping[str, Mapping[str, int | None]]


def predicted_matrix(items: Sequence[Item], predictions: Predictions) -> NDArray[np.int64]:
    """Shape (items, models), in the order given; −1 where a model's answer was unreadable (None).

    Raises
    ------
    BadInput
        If there is no model, a model has no prediction for an item or one outside its options, or
        an item is given twice.
    """
    if not predictions:
        raise BadInput("this protocol looks at predictions; give those of at least one model")
    if len({item.id for item in items}) < len(items):
        raise BadInput("item ids must be unique; one is given twice")
    matrix = np.full((len(items), len(predictions)), -1, dtype=np.int64)
    for column, (model, by_item) in enumerate(predictions.items()):
        for row, item in enumerate(items):
            if item.id not in by_item:
                raise BadInput(f"model {model!r} has no prediction for the item {item.id!r}: run it first")
            option = by_item[item.id]
            if option is None:
                continue
            if not -1 <= option < len(item.options):
                raise BadInput(
                    f"model {model!r}, item {item.id!r}: prediction {option} of {len(item.options)} options"
                )
            matrix[row, column] = option
    return matrix


def option_counts(items: Sequence[Item]) -> NDArray[np.int64]:
    """K of every item, shape (items,)."""
    return np.array([len(item.options) for item in items], dtype=np.int64)
