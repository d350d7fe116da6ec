"""Predictions and labels as checked arrays over the labelled items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.arrays import FAILED, UNREADABLE, AnyIntArray, BoolArray, FloatArray
from harness.errors import EstimateError
from harness.types import Label, LabelKind, Prediction, PredictionStatus

YES, NO, ABSTAINED = 1, 0, -1
_KIND = {LabelKind.ORDINARY: YES, LabelKind.COMPLEMENTARY: NO, LabelKind.ABSTAINED: ABSTAINED}


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
    predictions: Sequence[Prediction], labels: Sequence[Label], strata: Mapping[str, str] | None
) -> LabelledArrays:
    """Look up every label's prediction.

    Raises
    ------
    EstimateError
        If something is missing or double; names row and value.
    """
    index, y_hat = _index(predictions)
    item, n_options = _label_items(labels, index)
    labelled = n_options > 0
    names = [n for n, keep in zip(index, labelled.tolist(), strict=True) if keep]
    codes, known = _stratum_codes(names, strata)
    return LabelledArrays(
        y_hat=y_hat[labelled],
        option=np.array([x.option for x in labels], np.int64),
        kind=np.array([_KIND[x.kind] for x in labels], np.int64),
        n_options=n_options[labelled],
        item=(np.cumsum(labelled) - 1)[item],
        propensity=np.array([x.propensity for x in labels], np.float64),
        stratum=codes,
        stratum_names=known,
        names=names,
        n_unlabelled=int(np.count_nonzero(~labelled)),
    )


def _refuse(wrong: BoolArray, name: str, values: NDArray[Any], bound: str) -> None:
    for r in np.flatnonzero(wrong):
        raise EstimateError(f"labels[{r}]: {name} must {bound}, is {values[r]}")


def _index(predictions: Sequence[Prediction]) -> tuple[dict[str, int], AnyIntArray]:
    if not predictions:
        raise EstimateError("predictions must not be empty")
    index: dict[str, int] = {}
    y_hat = np.empty(len(predictions), np.int64)
    for row, p in enumerate(predictions):
        if index.setdefault(p.item_id, row) != row:
            raise EstimateError(
                f"predictions[{row}]: item {p.item_id!r} must be predicted once, is already in "
                f"predictions[{index[p.item_id]}]; pass one sample at a time"
            )
        y_hat[row] = _option(p, row)
    return index, y_hat


def _option(p: Prediction, row: int) -> int:
    if p.status is PredictionStatus.FAILED:
        return FAILED
    if p.status.no_option:
        return UNREADABLE
    if p.option is None or p.option < 0:
        raise EstimateError(f"predictions[{row}]: option must be ≥ 0 for item {p.item_id!r}, is {p.option}")
    return p.option


def _label_items(labels: Sequence[Label], index: Mapping[str, int]) -> tuple[AnyIntArray, AnyIntArray]:
    if not labels:
        raise EstimateError("labels must not be empty: without a label nothing can be estimated")
    item = np.empty(len(labels), np.int64)
    n_options = np.zeros(len(index), np.int64)
    for row, x in enumerate(labels):
        if x.item_id not in index:
            raise EstimateError(f"labels[{row}]: item {x.item_id!r} has no prediction")
        i = index[x.item_id]
        if n_options[i] and n_options[i] != x.n_options:
            raise EstimateError(
                f"labels[{row}]: n_options must be {n_options[i]} as before for item {x.item_id!r}, "
                f"is {x.n_options}"
            )
        if x.n_options < 2:
            raise EstimateError(f"labels[{row}]: n_options must be at least 2, is {x.n_options}")
        item[row], n_options[i] = i, x.n_options
    return item, n_options


def _stratum_codes(
    names: Sequence[str], strata: Mapping[str, str] | None
) -> tuple[AnyIntArray | None, list[str] | None]:
    if strata is None:
        return None, None
    for name in names:
        if name not in strata:
            raise EstimateError(f"strata: the labelled item {name!r} has no stratum")
    known, codes = np.unique([strata[name] for name in names], return_inverse=True)
    return codes, known.tolist()
