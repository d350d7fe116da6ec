"""Predictions and labels as checked arrays over the labelled items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from oversight.harness.arrays import AnyIntArray, BoolArray, FloatArray, IntArray
from oversight.harness.columns import ItemIndex, ItemValues, LabelColumns, PredictionColumns
from oversight.harness.errors import EstimateError


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledArrays:
    """Labels on items, and what one or several models predict there.

    Attributes
    ----------
    y_hat
        Predicted options, shape (n_models, n_items) or (n_items,); −1 unreadable, −2 failed.
    option, kind, item
        One entry per label, shape (n_labels,): the option asked about (from 0); 1 yes, 0 no,
        −1 abstained; the index of the item.
    n_options
        K of every item, shape (n_items,).
    propensity
        With which the option was asked, in (0, 1], shape (n_labels,); None: drawn uniformly.
    stratum
        Code ≥ 0 of every item's stratum, shape (n_items,), named by `stratum_names`.
    names
        What items are called in messages; their index by default.
    n_unlabelled
        Predictions on other items, which are left out.
    """

    y_hat: AnyIntArray
    option: AnyIntArray
    kind: AnyIntArray
    n_options: AnyIntArray
    item: AnyIntArray
    propensity: FloatArray | None = None
    stratum: AnyIntArray | None = None
    stratum_names: Sequence[str] | None = None
    names: Sequence[object] | None = None
    n_unlabelled: int = 0

    @property
    def asked_with(self) -> FloatArray:
        """`propensity`, 1/K where it is None."""
        return 1 / self.n_options[self.item] if self.propensity is None else self.propensity

    def name(self, item: np.integer[Any] | int) -> str:
        """What an item is called in a message."""
        return repr(int(item) if self.names is None else self.names[int(item)])

    def check(self) -> None:
        """Refuse impossible labels.

        Raises
        ------
        EstimateError
            Naming the first row and value that break a bound.
        """
        option, kind, item, n_options = self.option, self.kind, self.item, self.n_options
        if option.size == 0:
            raise EstimateError("labels must not be empty: without a label nothing can be estimated")
        if n_options.size == 0:
            raise EstimateError("predictions must not be empty")
        if not option.shape == kind.shape == item.shape:
            raise EstimateError(
                f"option, kind and item must have one shape, have {option.shape}, {kind.shape}, {item.shape}"
            )
        _refuse((item < 0) | (item >= n_options.size), "item", item, f"lie in 0..{n_options.size - 1}")
        for i in np.flatnonzero(n_options < 2):
            raise EstimateError(f"n_options must be at least 2, is {n_options[i]} for item {self.name(i)}")
        _refuse((kind < -1) | (kind > 1), "kind", kind, "be 1 (yes), 0 (no) or -1 (abstained)")
        for r in np.flatnonzero((option < 0) | (option >= n_options[item])):
            raise EstimateError(
                f"labels[{r}]: option must lie in 0..{n_options[item[r]] - 1} for item "
                f"{self.name(item[r])}, is {option[r]}"
            )
        if self.propensity is not None:
            p = self.propensity
            if p.shape != option.shape:
                raise EstimateError(f"propensity must have shape {option.shape}, has {p.shape}")
            _refuse(~((p > 0) & (p <= 1)), "propensity", p, "lie in (0, 1]")


def to_arrays(
    predictions: PredictionColumns, labels: LabelColumns, strata: ItemValues | None
) -> LabelledArrays:
    """The labels with the predictions of their items, over the items that have one.

    Raises
    ------
    EstimateError
        If something is missing or double; names row and value.
    """
    if not len(predictions):
        raise EstimateError("predictions must not be empty")
    if not len(labels):
        raise EstimateError("labels must not be empty: without a label nothing can be estimated")
    for row in np.flatnonzero(~predictions.is_there[labels.item]):
        name = labels.index.ids[labels.item[row]]
        raise EstimateError(f"labels[{row}]: item {name!r} has no prediction")
    return replace(
        label_arrays(labels, strata),
        y_hat=predictions.option[labels.places].astype(np.int64),
        n_unlabelled=len(predictions) - labels.places.size,
    )


@lru_cache(maxsize=2)
def label_arrays(labels: LabelColumns, strata: ItemValues | None) -> LabelledArrays:
    """The labels without predictions; those of several models in turn are gathered once.

    Raises
    ------
    EstimateError
        If labels are impossible, those of an item do not agree on how many options it has, or it has no
        stratum.
    """
    k, first = labels.questions.n_options, labels.n_options[labels.rank]
    for row in np.flatnonzero(first != k):
        name = labels.index.ids[labels.item[row]]
        raise EstimateError(
            f"labels[{row}]: n_options must be {first[row]} as before for item {name!r}, is {k[row]}"
        )
    for row in np.flatnonzero(k < 2):
        raise EstimateError(f"labels[{row}]: n_options must be at least 2, is {k[row]}")
    codes, known = _stratum_codes(labels, strata)
    arrays = LabelledArrays(
        y_hat=np.zeros(0, np.int64),
        option=labels.option,
        kind=labels.kind,
        n_options=labels.n_options,
        item=labels.rank,
        propensity=labels.questions.propensity,
        stratum=codes,
        stratum_names=known,
        names=_Names(labels.index, labels.places),
    )
    arrays.check()
    return arrays


class _Names(Sequence[str]):
    """Ids of some items, looked up when one is shown."""

    def __init__(self, index: ItemIndex, places: IntArray) -> None:
        self._index, self._places = index, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self._index.ids[i] for i in self._places[place].tolist()]
        return self._index.ids[int(self._places[place])]


def _refuse(wrong: BoolArray, name: str, values: NDArray[Any], bound: str) -> None:
    for r in np.flatnonzero(wrong):
        raise EstimateError(f"labels[{r}]: {name} must {bound}, is {values[r]}")


def _stratum_codes(
    labels: LabelColumns, strata: ItemValues | None
) -> tuple[AnyIntArray | None, list[str] | None]:
    if strata is None:
        return None, None
    code = strata.code[labels.places]
    for place in labels.places[code < 0]:
        name = labels.index.ids[place]
        raise EstimateError(f"strata: the labelled item {name!r} has no stratum")
    known, codes = np.unique(code, return_inverse=True)
    return codes, [strata.names[name] for name in known.tolist()]
