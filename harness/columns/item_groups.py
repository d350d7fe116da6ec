"""A study cut into groups of items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from harness.arrays import AnyIntArray, IntArray
from harness.columns.item_index import ItemIndex
from harness.columns.item_values import ItemValues
from harness.columns.label_columns import LabelColumns
from harness.columns.prediction_columns import PredictionColumns
from harness.columns.question_columns import QuestionColumns


def split_items(
    groups: ItemValues, predictions: PredictionColumns, labels: LabelColumns
) -> Iterator[tuple[str, PredictionColumns, LabelColumns]]:
    """Every group of items by name: a model's predictions, and what was asked and said, as if of no others.

    Each has an index of its own, of the group's items in their order, so that all together take little more
    time than the whole; items without a group are in none.
    """
    size = len(groups.names)
    items = _find_rows(groups.code, size)
    inside = np.zeros(predictions.index.size, dtype=np.int64)
    said = _find_rows(groups.code[labels.item], size)
    drawn = labels.drawn
    asked = [] if drawn is None else _find_rows(groups.code[drawn.item], size)
    for group, (name, places) in enumerate(zip(groups.names, items, strict=True)):
        index = _index_of(predictions.index, places)
        inside[places] = np.arange(places.size)
        yield (
            name,
            PredictionColumns(
                index=index,
                option=predictions.option[places],
                confidence=None if predictions.confidence is None else predictions.confidence[places],
            ),
            replace(
                labels,
                questions=_move(labels.questions.take(said[group]), index, inside),
                kind=labels.kind[said[group]],
                drawn=None if drawn is None else _move(drawn.take(asked[group]), index, inside),
                asked=labels.asked[places],
                cluster=None
                if labels.cluster is None
                else replace(labels.cluster, code=labels.cluster.code[places]),
            ),
        )


def _find_rows(code: AnyIntArray, size: int) -> list[IntArray]:
    """Rows of every code from 0, in order."""
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(size + 1))
    return [order[start:end] for start, end in pairwise(ends.tolist())]


def _index_of(index: ItemIndex, places: IntArray) -> ItemIndex:
    return ItemIndex(places.size, lambda: [index.ids[place] for place in places.tolist()])


def _move(questions: QuestionColumns, index: ItemIndex, place: IntArray) -> QuestionColumns:
    return replace(questions, index=index, item=place[questions.item])
