"""What all candidates answered to all items, as a table of numbers: a row a candidate's replicate.

An archive may hold half a million answers. Scores need of each the option, its status and its tokens, so
that is what is kept; texts stay in the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from oversight.agents.runtime import FailureTimes
from oversight.harness import FAILED, UNREADABLE, BoolArray, IntArray
from oversight.harness.store import STATUSES, CandidateColumns
from oversight.harness.types import Item, Prediction, PredictionStatus

_ABSENT = -1
_FAILED = STATUSES.index(PredictionStatus.FAILED)
_NO_OPTION = [number for number, status in enumerate(STATUSES) if status.no_option]
Key = tuple[str, int]
"""A candidate and the number of one of its replicates."""


Number = TypeVar("Number", bound=np.integer[Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCounts:
    """Shape (M,) each: answers, failed ones left out, ones without an option (wrong), sum of their tokens."""

    answers: IntArray
    failed: IntArray
    no_option: IntArray
    tokens: IntArray


def _empty(rows: int, places: int) -> tuple[NDArray[np.int32], NDArray[np.int8], IntArray]:
    shape = rows, places
    return np.full(shape, UNREADABLE, np.int32), np.full(shape, _ABSENT, np.int8), np.zeros(shape, np.int64)


@dataclass(slots=True)
class AnswerTable:
    """Rows and columns come as they are needed; the first of each is empty, for what is not there.

    Attributes
    ----------
    rows, places
        Number of the row of a candidate's replicate, and of the column of an item, from 1.
    changes, version
        How often each row changed, and all of them together.
    failures
        When answers failed, which tells faults of the endpoint from failures that a program provokes.
    """

    rows: dict[Key, int] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    changes: dict[Key, int] = field(default_factory=dict)
    version: int = 0
    failures: FailureTimes = field(default_factory=FailureTimes)
    _option: NDArray[np.int32] = field(default_factory=lambda: _empty(1, 1)[0])
    _status: NDArray[np.int8] = field(default_factory=lambda: _empty(1, 1)[1])
    _tokens: IntArray = field(default_factory=lambda: _empty(1, 1)[2])
    _sought: tuple[Iterable[Item], IntArray] = ((), np.zeros(0, np.int64))
    _last: tuple[tuple[str, ...], IntArray] | None = None
    _failed: set[Key] = field(default_factory=set)

    def expect(self, rows: int, items: Iterable[str]) -> None:
        """Make room for so many rows, and for these items in this order."""
        for item in items:
            self.places.setdefault(item, len(self.places) + 1)
        self._grow(rows + 1, len(self.places) + 1, exactly=True)

    def put(self, candidate: str, replicate: int, predictions: Sequence[Prediction]) -> None:
        """Take in answers; a later one to an item stands."""
        row, places = self._place((candidate, replicate), [p.item_id for p in predictions])
        self._option[row, places] = [UNREADABLE if p.option is None else p.option for p in predictions]
        self._status[row, places] = [STATUSES.index(p.status) for p in predictions]
        self._tokens[row, places] = [p.input_tokens + p.output_tokens for p in predictions]

    def put_columns(self, found: CandidateColumns) -> None:
        """Take in answers as the database gives them."""
        # mostly one object for hundreds of candidates
        if self._last is None or self._last[0] is not found.items:
            self._last = found.items, self._place((found.candidate, found.replicate), found.items)[1]
        row, places = self._place((found.candidate, found.replicate), ())[0], self._last[1]
        self._option[row, places], self._status[row, places] = found.option, found.status
        self._tokens[row, places] = found.tokens

    def add_failures(self, key: Key, times: Mapping[str, str]) -> None:
        """Take in when answers of a candidate's replicate failed: item id → time in ISO format."""
        self.failures.add(key, times)
        self._failed.add(key)
        for other in self._failed:  # these times may excuse the failures of other programs
            self.changes[other] = self.changes.get(other, 0) + 1
        self.version += 1

    def options(self, ids: Sequence[str], items: Sequence[Item], replicate: int = 0) -> IntArray:
        """Shape (M, n): the option, `UNREADABLE` for an answer without one, `FAILED` for what is left out.

        An answer is left out if it is missing, or if the endpoint failed (`is_left_out`). Any other failed
        answer is `UNREADABLE`, so it counts as wrong.
        """
        option, status = self.read(ids, items, replicate)
        gone = (status == _ABSENT) | self._is_excused(status, ids, items, replicate)
        return np.where(gone, FAILED, option).astype(np.int64)

    def is_left_out(self, ids: Sequence[str], items: Sequence[Item], replicate: int = 0) -> BoolArray:
        """Shape (M, n): whether the answer failed while an unrelated candidate's calls failed as well."""
        return self._is_excused(self._take(self._status, ids, items, replicate), ids, items, replicate)

    def _is_excused(
        self, status: NDArray[np.int8], ids: Sequence[str], items: Sequence[Item], replicate: int
    ) -> BoolArray:
        excused: BoolArray = np.asarray(status == _FAILED)
        for j, i in np.argwhere(excused):
            excused[j, i] = self.failures.is_shared((ids[j], replicate), items[i].id)
        return excused

    def is_there(self, ids: Sequence[str], items: Sequence[Item], replicate: int = 0) -> BoolArray:
        """Shape (M, n): whether there is an answer, a failed one among them."""
        return np.asarray(self._take(self._status, ids, items, replicate) != _ABSENT)

    def has_failed(self, ids: Sequence[str], items: Sequence[Item], replicate: int = 0) -> BoolArray:
        """Shape (M, n): whether every call failed."""
        return np.asarray(self._take(self._status, ids, items, replicate) == _FAILED)

    def count(self, ids: Sequence[str], items: Sequence[Item], replicate: int = 0) -> AnswerCounts:
        """Sum up each candidate's answers to these items."""
        status = self._take(self._status, ids, items, replicate)
        excused = self._is_excused(status, ids, items, replicate)
        return AnswerCounts(
            answers=(status != _ABSENT).sum(axis=1),
            failed=excused.sum(axis=1),
            no_option=(np.isin(status, (*_NO_OPTION, _FAILED)) & ~excused).sum(axis=1),
            tokens=self._take(self._tokens, ids, items, replicate).sum(axis=1),
        )

    def read(
        self, ids: Sequence[str], items: Sequence[Item], replicate: int = 0
    ) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Shape (M, n) each: option, and place of the status in `STATUSES`, where there is an answer."""
        where = ids, items, replicate
        return self._take(self._option, *where), self._take(self._status, *where)

    def sum_tokens(self, items: Sequence[Item]) -> int:
        """Tokens of all answers to these items."""
        return int(self._tokens[:, self._find(items)].sum())

    def predictions(self, candidate: str, items: Iterable[Item], replicate: int = 0) -> list[Prediction]:
        """Answers to those of these items that have one: option and status alone.

        A failed answer that is not left out (`is_left_out`) is unreadable, so it counts as wrong.
        """
        row, found = self.rows.get((candidate, replicate), 0), list[Prediction]()
        for item in items:
            where = row, self.places.get(item.id, 0)
            if (number := int(self._status[where])) != _ABSENT:
                option = int(self._option[where])
                kept = None if option == UNREADABLE else option
                status = STATUSES[number]
                if number == _FAILED and not self.failures.is_shared((candidate, replicate), item.id):
                    status = PredictionStatus.UNREADABLE
                found.append(Prediction(item.id, kept, status, sample=replicate))
        return found

    def all_predictions(self) -> dict[Key, list[Prediction]]:
        """Everything that was answered: option and status alone."""
        found = dict[Key, list[Prediction]]()
        for key, row in self.rows.items():
            told = zip(
                self.places, self._option[row, 1:].tolist(), self._status[row, 1:].tolist(), strict=False
            )
            found[key] = [
                Prediction(item, None if option == UNREADABLE else option, STATUSES[status], sample=key[1])
                for item, option, status in told
                if status != _ABSENT
            ]
        return found

    def _find(self, items: Iterable[Item]) -> IntArray:
        """Columns of items, 0 for what no answer is about; of the last ones they are known."""
        if type(items) is not tuple or items is not self._sought[0] or not self._sought[1].all():
            self._sought = items, np.array([self.places.get(item.id, 0) for item in items], np.int64)
        return self._sought[1]

    def _take(
        self, table: NDArray[Number], ids: Sequence[str], items: Sequence[Item], replicate: int
    ) -> NDArray[Number]:
        """Rows and columns of one of the tables, shape (M, n)."""
        rows = np.array([self.rows.get((c, replicate), 0) for c in ids], np.int64)
        places = self._find(items)
        if len(places) and (np.diff(places) == 1).all():  # a split's: many times as fast
            return table[rows, places[0] : places[-1] + 1]
        return table[rows[:, None], places]

    def _place(self, key: Key, items: Sequence[str]) -> tuple[int, IntArray]:
        """The row of a replicate and the columns of items, which are there from now on."""
        row = self.rows.setdefault(key, len(self.rows) + 1)
        places = np.array([self.places.setdefault(i, len(self.places) + 1) for i in items], np.int64)
        self._grow(len(self.rows) + 1, len(self.places) + 1)
        self.changes[key] = self.changes.get(key, 0) + 1
        self.version += 1
        return row, places

    def _grow(self, rows: int, places: int, *, exactly: bool = False) -> None:
        have = self._status.shape
        if rows <= have[0] and places <= have[1]:
            return
        wanted = [
            need if exactly or need <= had else 2 * need
            for need, had in zip((rows, places), have, strict=True)
        ]
        grown = _empty(max(wanted[0], have[0]), max(wanted[1], have[1]))
        old = np.s_[: have[0], : have[1]]
        grown[0][old], grown[1][old], grown[2][old] = self._option, self._status, self._tokens
        self._option, self._status, self._tokens = grown
