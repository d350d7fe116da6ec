"""A study cut into groups of items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from oversight.harness.arrays import AnyIntArray, IntArray
from oversight.harness.columns.item_index import ItemIndex, ItemValues
from oversight.harness.columns.item_pool import ItemPool
from oversight.harness.columns.label_columns import LabelColumns
from oversight.harness.columns.prediction_columns import PredictionColumns
from oversight.harness.columns.question_columns import QuestionColumns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemGroup:
    """Items of a study by themselves.

    Attributes
    ----------
    name
        Their stratum, say.
    places
        Where they stand among all items.
    index
        An index of their own, in the same order.
    labels
        What was asked and said of them, as if of no others.
    """

    name: str
    places: IntArray
    index: ItemIndex
    labels: LabelColumns

    def take(self, predictions: PredictionColumns) -> PredictionColumns:
        """A model's predictions of them."""
        confidence = predictions.confidence
        return PredictionColumns(
            index=self.index,
            option=predictions.option[self.places],
            confidence=None if confidence is None else confidence[self.places],
        )


def split_items(groups: ItemValues, labels: LabelColumns) -> Iterator[ItemGroup]:
    """Every group of items; all together take little more time than the whole.

    Items without a group are in none.
    """
    size = len(groups.names)
    items = _find_rows(groups.code, size)
    inside = np.zeros(labels.index.size, dtype=np.int64)
    said = _find_rows(groups.code[labels.item], size)
    drawn, cluster = labels.drawn, labels.cluster
    asked = [] if drawn is None else _find_rows(groups.code[drawn.item], size)
    for group, (name, places) in enumerate(zip(groups.names, items, strict=True)):
        index = _index_of(labels.index, places)
        inside[places] = np.arange(places.size)
        found = replace(
            labels,
            questions=_move(labels.questions.take(said[group]), index, inside),
            kind=labels.kind[said[group]],
            drawn=None if drawn is None else _move(drawn.take(asked[group]), index, inside),
            asked=labels.asked[places],
            cluster=None if cluster is None else replace(cluster, code=cluster.code[places]),
            pool=_move_pool(labels.pool, places),
        )
        yield ItemGroup(name=name, places=places, index=index, labels=found)


def _move_pool(pool: ItemPool | None, places: IntArray) -> ItemPool | None:
    """The drawn items of a group, as one stratum: how many fell into the group was left to chance."""
    if pool is None:
        return None
    weight = None if pool.weight is None else pool.weight[places]
    return ItemPool(stratum=np.where(pool.drawn[places], 0, -1), size=places.size, weight=weight)


def _find_rows(code: AnyIntArray, size: int) -> list[IntArray]:
    """Rows of every code from 0, in order."""
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(size + 1))
    return [order[start:end] for start, end in pairwise(ends.tolist())]


def _index_of(index: ItemIndex, places: IntArray) -> ItemIndex:
    return ItemIndex(places.size, lambda: [index.ids[place] for place in places.tolist()])


def _move(questions: QuestionColumns, index: ItemIndex, place: IntArray) -> QuestionColumns:
    return replace(questions, index=index, item=place[questions.item])
