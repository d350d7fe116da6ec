"""Predictions and labels as arrays over the labelled items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.arrays import FAILED, UNREADABLE, AnyIntArray
from harness.errors import EstimateError
from harness.estimate.data.conditioning import ABSTAINED, NO, YES
from harness.types import Label, LabelKind, Prediction, PredictionStatus

_KIND = {LabelKind.ORDINARY: YES, LabelKind.COMPLEMENTARY: NO, LabelKind.ABSTAINED: ABSTAINED}


@dataclass(frozen=True, slots=True)
class Arrays:
    """One model's predictions on the items with labels, and the labels; as in `tally.tally_arrays`.

    `n_unlabelled` predictions on other items are left out.
    """

    y_hat: AnyIntArray
    n_options: AnyIntArray
    stratum: AnyIntArray | None
    stratum_names: list[str] | None
    names: list[str]
    option: AnyIntArray
    kind: AnyIntArray
    item: AnyIntArray
    propensity: NDArray[np.float64]
    n_unlabelled: int


def to_arrays(
    predictions: Sequence[Prediction], labels: Sequence[Label], strata: Mapping[str, str] | None
) -> Arrays:
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
    return Arrays(
        y_hat=y_hat[labelled],
        n_options=n_options[labelled],
        stratum=codes,
        stratum_names=known,
        names=names,
        option=np.array([x.option for x in labels], np.int64),
        kind=np.array([_KIND[x.kind] for x in labels], np.int64),
        item=(np.cumsum(labelled) - 1)[item],
        propensity=np.array([x.propensity for x in labels], np.float64),
        n_unlabelled=int(np.count_nonzero(~labelled)),
    )


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
    known = sorted({strata[n] for n in names})
    code = {s: c for c, s in enumerate(known)}
    return np.array([code[strata[n]] for n in names], np.int64), known
