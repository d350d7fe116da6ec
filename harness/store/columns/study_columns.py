"""SQL that reads a study as arrays, without creating an object per row or reading the items' texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any, TypeVar

import numpy as np
import orjson
import sqlalchemy as sa

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import (
    ABSTAINED,
    NO,
    YES,
    ItemIndex,
    ItemValues,
    LabelColumns,
    OfferedOptions,
    QuestionColumns,
    digest_text,
    mark,
)
from oversight.harness.errors import BadInput
from oversight.harness.registry import state_protocols
from oversight.harness.store.database import Database, Repository
from oversight.harness.store.serialization import read_json
from oversight.harness.store.tables.study_tables import ANSWER, HANDOVER, ITEM, QUESTION
from oversight.harness.types import SECOND_QUESTIONS, Verdict

T = TypeVar("T")
_ITEM, _QUESTION, _ANSWER = ITEM.c, QUESTION.c, ANSWER.c
_KIND: Mapping[str, int] = {
    Verdict.YES.value: YES,
    Verdict.NO.value: NO,
    Verdict.UNSURE.value: ABSTAINED,
    Verdict.SKIP.value: ABSTAINED,
}
_NONE_OF_THEM = -9
_HANDED = sa.select(HANDOVER.c.asked_id)
_IS_FOREIGN = sa.and_(_ANSWER.expert != _QUESTION.expert, _QUESTION.id.not_in(_HANDED))
"""Condition: another expert answered the question, although it was not reassigned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOrder:
    """Expert and place of every question that is not of the second phase.

    Each array has one entry per question.

    Attributes
    ----------
    experts
        Names of the experts.
    expert, place
        Index of the question's expert in `experts`, and `Question.place` (−1 if unknown).
    open_ids
        Id of the question if it is unanswered, otherwise None.
    """

    experts: Sequence[str]
    expert: IntArray
    place: IntArray
    open_ids: Sequence[str | None]


class ColumnRepository(Repository):
    """Reads a study as arrays over its items, in source order.

    Parameters
    ----------
    database
        The study's database.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._version: Callable[[], int] | None = None
        self._seen, self._kept, self._lock = -1, dict[Any, Any](), RLock()

    def remember(self, version: Callable[[], int] = lambda: 0) -> None:
        """From now on, cache items, digests, labels, options and the columns that define strata.

        The cache is emptied when `version` returns a new number; by default, it is never emptied.
        """
        self._version = version

    def _once(self, key: Any, read: Callable[[], T]) -> T:
        """Return the value cached for `key`; if there is none, call `read` and cache its result."""
        if self._version is None:
            return read()
        with self._lock:
            if self._seen != self._version():
                self._seen = self._version()
                self._kept.clear()
            if key not in self._kept:
                self._kept[key] = read()
            found: T = self._kept[key]
            return found

    def read_index(self) -> ItemIndex:
        """Return the item index, which maps item ids to positions."""
        return self._once("index", self._read_index)

    def _read_index(self) -> ItemIndex:
        query = sa.select(sa.func.count(_ITEM.id), sa.func.max(_ITEM.position))
        number, last = self._read(query)[0]
        if number and last != number - 1:
            with self._database.reading():
                raise ValueError(f"the last of {number} items has position {last}, not {number - 1}")
        return ItemIndex(number, self._read_ids)

    def find_position(self, item_id: str) -> int | None:
        """Return an item's position; None if the item does not exist."""
        found = self._read(sa.select(_ITEM.position).where(_ITEM.id == item_id))
        return int(found[0][0]) if found else None

    def read_protocols(self) -> list[str]:
        """Return the sorted names of the protocols that drew questions, except that of the second phase."""
        names = {name for (name,) in self._read(sa.select(_QUESTION.protocol).distinct())}
        return sorted(names - {SECOND_QUESTIONS})

    def count_options(self) -> dict[int, int]:
        """Return a dictionary from each number of options to the number of items that have it."""
        return self._once("options", self._count_options)

    def _count_options(self) -> dict[int, int]:
        number = sa.func.json_array_length(_ITEM.options)
        rows = self._read(sa.select(number, sa.func.count()).group_by(number).order_by(number))
        return {int(k): int(n) for k, n in rows}

    def read_meta(self, column: str) -> ItemValues:
        """Return the value of every item in one of the extra columns of the items' source.

        If values are missing, the first result is not cached, because the caller can then add the values to
        the database.
        """
        key, met = ("meta", column), ("gaps", column)
        with self._lock:
            found = self._once(key, lambda: self._read_meta(column))
            if self._version is not None and met not in self._kept and (found.code < 0).any():
                self._kept[met] = self._kept.pop(key)
            return found

    def _read_meta(self, column: str) -> ItemValues:
        found: list[str | None] = []
        with self._database.reading():
            for (meta,) in self._database.read_portions(
                sa.select(sa.cast(_ITEM.meta, sa.Text)).order_by(*_ORDER)
            ):
                found += [orjson.loads(text).get(column) for text in meta]
        names = sorted({name for name in found if name is not None})
        places: dict[str | None, int] = {name: place for place, name in enumerate(names)}
        return ItemValues(code=np.array([places.get(name, -1) for name in found], np.int64), names=names)

    def read_options(self, index: ItemIndex) -> dict[str, int]:
        """Return each item's number of options, by item id."""
        query = sa.select(sa.func.json_array_length(_ITEM.options)).order_by(*_ORDER)
        return {name: int(k) for name, (k,) in zip(index.ids, self._read(query), strict=True)}

    def read_meta_names(self) -> list[str]:
        """Return the names of the items' extra columns, in alphabetical order."""
        names = set[str]()
        with self._database.reading():
            for (meta,) in self._database.read_portions(sa.select(sa.cast(_ITEM.meta, sa.Text))):
                for text in set(meta):
                    names.update(orjson.loads(text))
        return sorted(names)

    def read_classes(self) -> tuple[str, ...]:
        """Return the options if all items have the same options; otherwise an empty tuple."""
        found = self._read(sa.select(sa.cast(_ITEM.options, sa.Text)).distinct().limit(2))
        with self._database.reading():
            return tuple(read_json(found[0][0])) if len(found) == 1 else ()

    def read_labels(self, index: ItemIndex, *, second: bool = False) -> LabelColumns:
        """Return columns with the labels, in order of arrival, and with all questions, in item order.

        Parameters
        ----------
        second
            Whether to read the questions of the second phase instead of all other questions.

        Raises
        ------
        BadInput
            If somebody answered another expert's question, although the question was not reassigned.
        """
        return self._once(("labels", id(index), second), lambda: self._read_labels(index, second=second))

    def _read_labels(self, index: ItemIndex, *, second: bool) -> LabelColumns:
        people: dict[str, int] = {}
        numbers, chances = list[IntArray](), list[FloatArray]()
        offered: list[Sequence[float]] = []
        source = (
            sa.join(QUESTION, ITEM, _QUESTION.item_id == _ITEM.id)
            .outerjoin(ANSWER, _ANSWER.question_id == _QUESTION.id)
            .outerjoin(HANDOVER, HANDOVER.c.asked_id == _QUESTION.id)
        )
        holder = sa.func.coalesce(_ANSWER.expert, HANDOVER.c.taker, _QUESTION.expert)
        recorded = sa.func.nullif(sa.cast(_QUESTION.propensities, sa.Text), "[]")
        said = sa.case(_KIND, value=_ANSWER.verdict, else_=_NONE_OF_THEM)
        query = sa.select(
            _ITEM.position, _QUESTION.option, _QUESTION.n_options, _QUESTION.propensity, _QUESTION.expert,
            recorded, _ANSWER.position, said, _IS_FOREIGN, _QUESTION.place, holder,
        )  # fmt: skip
        is_second = _QUESTION.protocol == SECOND_QUESTIONS
        query = query.where(is_second if second else ~is_second)
        with self._database.reading():
            for part in self._database.read_portions(query.select_from(source)):
                item, option, k, propensity, asked, all_of, arrival, kinds, is_foreign, place, has = part
                codes, held = ([people.setdefault(n, len(people)) for n in names] for names in (asked, has))
                if any(is_foreign):
                    self._refuse_foreign()
                turns, places = ([-1 if a is None else a for a in column] for column in (arrival, place))
                numbers.append(np.array([item, option, k, codes, kinds, turns, places, held], np.int64))
                if ((numbers[-1][4] == _NONE_OF_THEM) & (numbers[-1][5] >= 0)).any():
                    raise ValueError("an answer is not one of " + ", ".join(_KIND))
                chances.append(np.array(propensity, np.float64))
                offered += [() if text is None else orjson.loads(text) for text in all_of]
        if not numbers:
            return LabelColumns.of([], index)
        columns, propensities = np.concatenate(numbers, axis=1), np.concatenate(chances)
        return self._label_columns(index, columns, propensities, offered, list(people))

    def read_order(self) -> QueueOrder:
        """Return the expert and place of every question, and the id of every unanswered question.

        Questions of the second phase are left out.
        """
        is_open = sa.case((_ANSWER.question_id.is_(None), _QUESTION.id), else_=None)
        query = sa.select(_QUESTION.expert, _QUESTION.place, is_open).where(
            _QUESTION.protocol != SECOND_QUESTIONS
        )
        query = query.select_from(sa.outerjoin(QUESTION, ANSWER, _ANSWER.question_id == _QUESTION.id))
        people, codes, places, names = dict[str, int](), list[int](), list[int](), list[str | None]()
        with self._database.reading():
            for experts, place, open_ids in self._database.read_portions(query):
                codes += [people.setdefault(name, len(people)) for name in experts]
                places += [-1 if at is None else at for at in place]
                names += open_ids
        return QueueOrder(
            experts=list(people), expert=np.array(codes, np.int64), place=np.array(places, np.int64),
            open_ids=names,
        )  # fmt: skip

    def read_ids(self, places: Sequence[int]) -> dict[int, str]:
        """Return the id of the item at each given position, by position, in the given order."""
        query = sa.select(_ITEM.position, _ITEM.id).where(_ITEM.position.in_(places))
        found = dict(self._read(query))
        return {place: found[place] for place in places}

    def read_text_digests(self, index: ItemIndex) -> IntArray:
        """Return a digest of each item's text and options, shape (N,); 0 for items without a question.

        Texts are read in batches, so that memory does not grow with their total length.
        """
        return self._once(("digests", id(index)), lambda: self._read_text_digests(index))

    def _read_text_digests(self, index: ItemIndex) -> IntArray:
        found = np.zeros(index.size, np.int64)
        asked = sa.select(_QUESTION.item_id)
        query = sa.select(_ITEM.position, _ITEM.text, sa.cast(_ITEM.options, sa.Text))
        with self._database.reading():
            for places, texts, options in self._database.read_portions(query.where(_ITEM.id.in_(asked))):
                sets = {one: orjson.loads(one) for one in set(options)}
                found[np.array(places)] = list(map(digest_text, texts, (sets[one] for one in options)))
        return found

    def _label_columns(
        self,
        index: ItemIndex,
        columns: IntArray,
        propensity: FloatArray,
        offered: Sequence[Sequence[float]],
        experts: Sequence[str],
    ) -> LabelColumns:
        # The rows are sorted here, because NumPy sorts faster than the database.
        order = np.lexsort((columns[1], columns[0]))
        item, option, n_options, expert, kind, arrival, place, holder = columns[:, order]
        _, first, codes = np.unique(expert, return_index=True, return_inverse=True)
        names = np.argsort(first)
        is_moved = bool((holder != expert).any())
        drawn = QuestionColumns(
            index=index, item=item, option=option, n_options=n_options, propensity=propensity[order],
            expert=np.argsort(names)[codes], experts=[experts[expert[first[j]]] for j in names.tolist()],
            offered=OfferedOptions.of(offered).take(order), place=place,
            person=holder if is_moved else None, people=experts if is_moved else (),
        )  # fmt: skip
        rows = np.flatnonzero(arrival >= 0)
        rows = rows[np.argsort(arrival[rows], kind="stable")]
        return LabelColumns(
            questions=drawn.take(rows),
            kind=kind[rows],
            statements=state_protocols(self.read_protocols()),
            drawn=drawn,
            asked=mark(item, index.size),
        )

    def _refuse_foreign(self) -> None:
        query = sa.select(_QUESTION.id, _QUESTION.expert, _ANSWER.expert).where(
            _ANSWER.question_id == _QUESTION.id, _IS_FOREIGN
        )
        name, asked, said = self._read(query.limit(1))[0]
        raise BadInput(f"question {name!r} was assigned to {asked!r}, but {said!r} answered it")

    def _read_ids(self) -> list[str]:
        return [row[0] for row in self._read(sa.select(_ITEM.id).order_by(*_ORDER))]

    def _read(self, query: sa.Select[*tuple[Any, ...]]) -> Sequence[Any]:
        return self._database.read_rows(query)


_ORDER = (_ITEM.position, _ITEM.id)
