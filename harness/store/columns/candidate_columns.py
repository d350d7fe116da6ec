"""Answers of the candidate workflows of a search, as compact arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import sqlalchemy as sa
from numpy.typing import NDArray

from oversight.harness.arrays import UNREADABLE, IntArray
from oversight.harness.store.database import Repository
from oversight.harness.store.tables.run_tables import CandidateAnswerRow
from oversight.harness.types import PredictionStatus

_ANSWER = CandidateAnswerRow.__table__.c
STATUSES = tuple(PredictionStatus)
"""Statuses; an array stores a status as its index in this tuple."""
_NUMBERS = {status.value: number for number, status in enumerate(STATUSES)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateColumns:
    """Answers of one candidate in one replicate; every array has one entry per answer.

    Attributes
    ----------
    items
        Item ids; replicates that answered the same items share one tuple.
    option
        Index of the option, from 0; `UNREADABLE` for an answer without an option.
    status
        Index into `STATUSES`.
    tokens
        Number of sent and received tokens.
    """

    candidate: str
    replicate: int
    items: tuple[str, ...]
    option: NDArray[np.int32]
    status: NDArray[np.int8]
    tokens: IntArray


class CandidateColumnsRepository(Repository):
    """Reads the answers of a search's candidates, but not the texts of their replies."""

    def read_answers(self, search: str) -> Iterator[CandidateColumns]:
        """Yield the answers in a search, one `CandidateColumns` per candidate and replicate."""
        status = sa.case(_NUMBERS, value=_ANSWER.status)
        option = sa.func.coalesce(_ANSWER.option, UNREADABLE)
        columns = (_ANSWER.item_id, option, status, _ANSWER.input_tokens + _ANSWER.output_tokens)
        by = _ANSWER.candidate_id, _ANSWER.replicate
        query = sa.select(*by, *map(self._database.gather, columns))
        query = query.where(_ANSWER.search_id == search).group_by(*by).order_by(*by)
        known = dict[str, tuple[str, ...]]()
        with self._database.reading():
            for candidate, replicate, items, *numbers in self._database.read_tuples(query, walks=True):
                if items not in known:
                    known[items] = tuple(orjson.loads(items))
                yield CandidateColumns(
                    candidate=candidate, replicate=replicate, items=known[items], **_read_numbers(*numbers)
                )


def _read_numbers(option: str, status: str, tokens: str) -> dict[str, Any]:
    return {
        "option": np.array(orjson.loads(option), np.int64).astype(np.int32),
        "status": np.array(orjson.loads(status), np.int8),
        "tokens": np.array(orjson.loads(tokens), np.int64),
    }
