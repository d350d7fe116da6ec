"""Predictions and labels brought over one index of items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from oversight.harness.columns.item_index import ItemIndex
from oversight.harness.columns.label_columns import LabelColumns
from oversight.harness.columns.prediction_columns import PredictionColumns
from oversight.harness.expected import check_records
from oversight.harness.types import Label, Prediction, design_of

AnyLabels: TypeAlias = Sequence[Label] | LabelColumns
"""Labels as records or as columns."""

AnyPredictions: TypeAlias = Sequence[Prediction] | PredictionColumns
"""One model's predictions as records, one an item, or as columns."""


def align(predictions: AnyPredictions, labels: AnyLabels) -> tuple[PredictionColumns, LabelColumns]:
    """One model's predictions and labels as columns over one index, see `align_models`."""
    (one,), columns = align_models([predictions], labels)
    return one, columns


def align_models(
    models: Sequence[AnyPredictions], labels: AnyLabels
) -> tuple[list[PredictionColumns], LabelColumns]:
    """As `align_pool`, without predictions of items that were not drawn from a pool."""
    columns, said = align_pool(models, labels)
    return [keep_drawn(rows, said) for rows in columns], said


def align_pool(
    models: Sequence[AnyPredictions], labels: AnyLabels
) -> tuple[list[PredictionColumns], LabelColumns]:
    """Predictions of several models and labels as columns over one index.

    Columns stay as they are. The items of records are those predicted, in their order, then others that
    have a label or a question.

    Raises
    ------
    EstimateError
        If an item is predicted twice, or an option is missing; names the row.
    WrongType
        If one is no list of predictions or labels.
    TypeError
        If records meet columns, or columns are of several indexes.
    """
    for rows in models:
        if not isinstance(rows, PredictionColumns):
            check_records("predictions", rows, Prediction)
    if not isinstance(labels, LabelColumns):
        check_records("labels", labels, Label)
    columns = [rows for rows in models if isinstance(rows, PredictionColumns)]
    records = [rows for rows in models if not isinstance(rows, PredictionColumns)]
    if isinstance(labels, LabelColumns):
        if records or any(rows.index is not labels.index for rows in columns):
            raise TypeError("labels as columns need predictions as columns over the same items")
        return columns, labels
    if columns:
        raise TypeError("predictions as columns need labels as columns over the same items")
    design = design_of(labels)
    ids = dict[str, None]()
    for rows in records:
        ids.update(dict.fromkeys([p.item_id for p in rows]))
    ids.update(dict.fromkeys([x.item_id for x in labels]))
    ids.update(dict.fromkeys([q.item_id for q in design.drawn]))
    ids.update(dict.fromkeys(sorted(design.asked)))
    index = ItemIndex.of(list(ids))
    said = LabelColumns.of(labels, index)
    return [PredictionColumns.of(rows, index) for rows in records], said


def keep_drawn(predictions: PredictionColumns, labels: LabelColumns) -> PredictionColumns:
    """The predictions of the items that were drawn from a pool; all where there was no such draw.

    What a model predicts of an item that nobody means to ask about is neither wrong nor waiting.
    """
    return predictions if labels.pool is None else predictions.on(labels.pool.drawn)


def keep_predicted(labels: LabelColumns, predictions: PredictionColumns) -> LabelColumns:
    """The labels of items that have a prediction, with their design: a run under way has fewer items."""
    kept = predictions.is_there[labels.item]
    return labels if kept.all() else labels.take(np.flatnonzero(kept))
