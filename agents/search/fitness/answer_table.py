"""All candidates' answers to all items as arrays, with one row per candidate and replicate.

An archive may have half a million answers. Scores need only the option, status and tokens of an answer, so
only these are kept in memory; texts stay in the database.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
"""Id of a candidate, and number of a replicate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCounts:
    """Counts over the answers of each of M candidates; all arrays have shape (M,).

    `answers` counts all answers; `failed` counts the failed answers that scores leave out; `no_option` counts
    answers that name no option, which are scored as wrong. `tokens` is the sum of input and output tokens.
    """

    answers: IntArray
    failed: IntArray
    no_option: IntArray
    tokens: IntArray


class _Row:
    """Answers of a candidate in one replicate, as arrays over the items."""

    def __init__(self, number: int) -> None:
        self.option = np.full(number, UNREADABLE, np.int32)
        self.status = np.full(number, _ABSENT, np.int8)
        self.tokens = np.zeros(number, np.int64)


class AnswerTable:
    """Answers of candidates to a fixed list of items.

    Parameters
    ----------
    items
        Ids of all items.

    Attributes
    ----------
    rows
        Answers by candidate and replicate.
    places
        Position of each item in a row, from 1; position 0 stands for unknown items.
    changes, version
        Number of changes of each row, and of all rows together.
    failures
        Times of failed answers, which distinguish faults of the endpoint from failures that a program caused.
    """

    def __init__(self, items: Iterable[str] = ()) -> None:
        self.places = {item: number for number, item in enumerate(dict.fromkeys(items), 1)}
        self.rows: dict[Key, _Row] = {}
        self.changes: Counter[Key] = Counter()
        self.version = 0
        self.failures = FailureTimes()
        self._empty = _Row(len(self.places) + 1)
        self._failed: set[Key] = set()

    def put_answers(self, candidate: str, replicate: int, predictions: Sequence[Prediction]) -> None:
        """Store answers; a later answer to an item replaces an earlier one."""
        row, places = self._open_row((candidate, replicate)), [self.places[p.item_id] for p in predictions]
        row.option[places] = [UNREADABLE if p.option is None else p.option for p in predictions]
        row.status[places] = [STATUSES.index(p.status) for p in predictions]
        row.tokens[places] = [p.input_tokens + p.output_tokens for p in predictions]

    def put_columns(self, found: CandidateColumns) -> None:
        """Store columns of answers that were read from the database."""
        row, places = self._open_row((found.candidate, found.replicate)), self._find(found.items)
        row.option[places], row.status[places], row.tokens[places] = found.option, found.status, found.tokens

    def _open_row(self, key: Key) -> _Row:
        """Return the row with this key, created if missing, and count one change of the row."""
        self.changes[key] += 1
        self.version += 1
        return self.rows.setdefault(key, _Row(len(self.places) + 1))

    def add_failures(self, key: Key, times: Mapping[str, str]) -> None:
        """Record when answers of a replicate failed; `times` maps item ids to times in ISO format."""
        self.failures.add_times(key, times)
        self._failed.add(key)
        # Mark all rows with failures as changed, because the new failures may excuse simultaneous older ones.
        self.changes.update(self._failed)
        self.version += 1

    def options(self, ids: Sequence[str], items: Sequence[Item], replicate: int = 0) -> IntArray:
        """Return the chosen options, shape (candidates, items).

        The value is `FAILED` if an answer is missing or left out (`is_left_out`). Any other answer without an
        option has the value `UNREADABLE` and counts as wrong.
        """
        option, status = (self._take(column, ids, items, replicate) for column in ("option", "status"))
        gone = (status == _ABSENT) | self._is_excused(status, ids, items, replicate)
        return np.where(gone, FAILED, option).astype(np.int64)

    def is_left_out(self, ids: Sequence[str], items: Sequence[Item]) -> BoolArray:
        """Whether each of M candidates' answers to n items is left out of the scores, shape (M, n).

        An answer is left out if an endpoint outage explains its failure: an answer of an unrelated candidate
        failed at most one minute before or after.
        """
        return self._is_excused(self._take("status", ids, items, 0), ids, items, 0)

    def _is_excused(
        self, status: NDArray[np.int8], ids: Sequence[str], items: Sequence[Item], replicate: int
    ) -> BoolArray:
        excused: BoolArray = np.asarray(status == _FAILED)
        for j, i in np.argwhere(excused):
            excused[j, i] = self.failures.is_shared((ids[j], replicate), items[i].id)
        return excused

    def is_there(self, ids: Sequence[str], items: Sequence[Item], replicate: int = 0) -> BoolArray:
        """Return whether each answer exists, also if it failed; shape (candidates, items)."""
        return np.asarray(self._take("status", ids, items, replicate) != _ABSENT)

    def has_failed(self, ids: Sequence[str], items: Sequence[Item], replicate: int = 0) -> BoolArray:
        """Return whether each answer has the status FAILED, shape (candidates, items)."""
        return np.asarray(self._take("status", ids, items, replicate) == _FAILED)

    def count(self, ids: Sequence[str], items: Sequence[Item], replicate: int = 0) -> AnswerCounts:
        """Count each candidate's answers to these items."""
        status = self._take("status", ids, items, replicate)
        excused = self._is_excused(status, ids, items, replicate)
        return AnswerCounts(
            answers=(status != _ABSENT).sum(axis=1),
            failed=excused.sum(axis=1),
            no_option=(np.isin(status, (*_NO_OPTION, _FAILED)) & ~excused).sum(axis=1),
            tokens=self._take("tokens", ids, items, replicate).sum(axis=1),
        )

    def sum_tokens(self, items: Sequence[Item]) -> int:
        """Return the total number of tokens of all candidates' answers to these items."""
        places = self._find([item.id for item in items])
        return sum(int(row.tokens[places].sum()) for row in self.rows.values())

    def predictions(self, candidate: str, items: Iterable[Item], replicate: int = 0) -> list[Prediction]:
        """Return a candidate's answers to these items, with option and status; skip unanswered items.

        A failed answer that is not left out (`is_left_out`) gets the status UNREADABLE and counts as wrong.
        """
        key, found = (candidate, replicate), list[Prediction]()
        row = self.rows.get(key, self._empty)
        for item in items:
            place = self.places.get(item.id, 0)
            if (number := int(row.status[place])) != _ABSENT:
                prediction = _make_prediction(item.id, int(row.option[place]), number, replicate)
                if number == _FAILED and not self.failures.is_shared(key, item.id):
                    prediction = replace(prediction, status=PredictionStatus.UNREADABLE)
                found.append(prediction)
        return found

    def all_predictions(self) -> dict[Key, list[Prediction]]:
        """Return all answers, with option and status, by candidate and replicate."""
        return {
            key: [
                _make_prediction(item, int(row.option[place]), int(row.status[place]), key[1])
                for item, place in self.places.items()
                if row.status[place] != _ABSENT
            ]
            for key, row in self.rows.items()
        }

    def _find(self, items: Iterable[str]) -> IntArray:
        return np.array([self.places.get(item, 0) for item in items], np.int64)

    def _take(self, what: str, ids: Sequence[str], items: Sequence[Item], replicate: int) -> NDArray[Any]:
        """Return the column `what` of the candidates' rows at these items, shape (candidates, items)."""
        places = self._find(item.id for item in items)
        rows = (self.rows.get((c, replicate), self._empty) for c in ids)
        taken = [getattr(row, what)[places] for row in rows]
        return np.array(taken, getattr(self._empty, what).dtype).reshape(len(ids), len(places))


def _make_prediction(item: str, option: int, status: int, replicate: int) -> Prediction:
    kept = None if option == UNREADABLE else option
    return Prediction(item, kept, STATUSES[status], sample=replicate)
