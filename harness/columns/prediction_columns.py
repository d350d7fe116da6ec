"""One model's predictions as a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oversight.harness.arrays import FAILED, UNREADABLE, AnyIntArray, BoolArray, FloatArray
from oversight.harness.columns.item_index import ItemIndex
from oversight.harness.errors import EstimateError
from oversight.harness.types import Prediction, PredictionStatus

ABSENT = -3
"""In place of a predicted option: the model was not asked about the item."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PredictionColumns:
    """What a model predicts of every item.

    Attributes
    ----------
    index
        The items.
    option
        Shape (N,): the option, from 0; −1 unreadable, −2 failed, −3 not asked.
    confidence
        Shape (N,), in [0, 1]: what the model gave to its own option, NaN where it said nothing; None if
        it never did.
    """

    index: ItemIndex
    option: AnyIntArray
    confidence: FloatArray | None = None

    @classmethod
    def of(cls, predictions: Sequence[Prediction], index: ItemIndex) -> PredictionColumns:
        """From records about items of the index.

        Raises
        ------
        EstimateError
            If an item is predicted twice, or an option is missing or negative; names row and value.
        """
        place = index.find(p.item_id for p in predictions)
        _refuse_double(predictions, place, index.size)
        option = np.full(index.size, ABSENT, dtype=np.int64)
        option[place] = [_code(p, row) for row, p in enumerate(predictions)]
        confidence = None
        if any(p.confidence is not None for p in predictions):
            confidence = np.full(index.size, np.nan)
            confidence[place] = [np.nan if p.confidence is None else p.confidence for p in predictions]
        return cls(index=index, option=option, confidence=confidence)

    @cached_property
    def is_there(self) -> BoolArray:
        """Items that the model was asked about, shape (N,)."""
        return np.asarray(self.option != ABSENT)

    @cached_property
    def ran(self) -> BoolArray:
        """Items of which an answer came, readable or not, shape (N,)."""
        return np.asarray(self.option >= UNREADABLE)

    @property
    def has_failed(self) -> BoolArray:
        """Items on which every call failed, shape (N,)."""
        return np.asarray(self.option == FAILED)

    @property
    def is_unreadable(self) -> BoolArray:
        """Items whose answer names no option, shape (N,)."""
        return np.asarray(self.option == UNREADABLE)

    def on(self, items: BoolArray) -> PredictionColumns:
        """The predictions of these items, shape (N,), as if the model was not asked about the others."""
        if not (self.is_there & ~items).any():
            return self
        return replace(self, option=np.where(items, self.option, ABSENT))

    def __len__(self) -> int:
        """Number of items that the model was asked about."""
        return int(np.count_nonzero(self.is_there))


def _code(p: Prediction, row: int) -> int:
    if p.status is PredictionStatus.FAILED:
        return FAILED
    if p.status.no_option:
        return UNREADABLE
    if p.option is None or p.option < 0:
        raise EstimateError(f"predictions[{row}]: option must be ≥ 0 for item {p.item_id!r}, is {p.option}")
    return p.option


def _refuse_double(predictions: Sequence[Prediction], place: AnyIntArray, size: int) -> None:
    if place.size == 0 or np.bincount(place, minlength=size).max() < 2:
        return
    first: dict[str, int] = {}
    for row, p in enumerate(predictions):
        if first.setdefault(p.item_id, row) != row:
            raise EstimateError(
                f"predictions[{row}]: item {p.item_id!r} must be predicted once, is already in "
                f"predictions[{first[p.item_id]}]; pass one sample at a time"
            )
