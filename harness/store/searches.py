"""SQL of searches: candidates, their answers, and decisions.

No stored row changes, except that a new answer replaces a failed one. A repeated write changes nothing. So a
killed search can continue from the stored rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import orjson
import sqlalchemy as sa
from numpy.typing import NDArray

from oversight.harness.arrays import UNREADABLE, IntArray
from oversight.harness.errors import StoreError
from oversight.harness.store.database import Repository, repeated
from oversight.harness.store.runs import time_after
from oversight.harness.store.tables.insertion import count_rows, execute_many, row_of, value_of
from oversight.harness.store.tables.study_tables import (
    CALL,
    CANDIDATE,
    CANDIDATE_ANSWER,
    SEARCH,
    SEARCH_EVENT,
    SEARCH_ITEM,
)
from oversight.harness.types import Candidate, Prediction, PredictionStatus, Program

SEARCHES = "searches"
"""Name of the lock that a running search holds, so that only one search of a study runs at a time."""
STATUSES = tuple(PredictionStatus)
"""Statuses; an array stores a status as its index in this tuple."""
_NUMBERS = {status.value: number for number, status in enumerate(STATUSES)}
_ANSWERED = [field.name for field in fields(Prediction) if field.name in CANDIDATE_ANSWER.c]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchProgress:
    """Progress of a search.

    Attributes
    ----------
    spec
        All settings that determine the search.
    candidates, proposals
        Number of candidates in the archive, and number of proposals, including those that were not archived.
    winner, winner_name
        Id and name of the winner; None before it is chosen.
    """

    id: str
    created: str
    spec: Mapping[str, Any]
    candidates: int
    proposals: int
    winner: str | None
    winner_name: str | None


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


class SearchRepository(Repository):
    """The searches of a study."""

    def read_searches(self) -> list[dict[str, Any]]:
        """Return all searches as ``{"id", "created", "spec"}``, oldest first."""
        return self._database.read_values(dict, sa.select(SEARCH).order_by(SEARCH.c.created))

    def add_search(self, search: str, spec: Mapping[str, Any], splits: Mapping[str, Sequence[str]]) -> None:
        """Store a search and its splits (split name → item ids), unless the search exists.

        Raises
        ------
        StoreError
            If the search exists with other splits.
        """
        if self._database.has_rows(SEARCH, SEARCH.c.id == search):
            if self.read_splits(search) != {name: list(ids) for name, ids in splits.items() if ids}:
                raise StoreError(f"search {search} is already stored with other splits of the items")
            return
        (newest,) = self._database.read_rows(sa.select(sa.func.max(SEARCH.c.created)))
        created = time_after(newest[0] or "")
        rows = [
            {"search_id": search, "item_id": item, "split": split, "position": j}
            for split, ids in splits.items()
            for j, item in enumerate(ids)
        ]
        with self._database.transaction() as connection:
            connection.execute(sa.insert(SEARCH), {"id": search, "created": created, "spec": dict(spec)})
            connection.execute(sa.insert(SEARCH_ITEM), rows)

    def read_splits(self, search: str) -> dict[str, list[str]]:
        """Return the item ids of each split, in the order of the split."""
        found: dict[str, list[str]] = {}
        for row in self._rows(SEARCH_ITEM, search, SEARCH_ITEM.c.split, SEARCH_ITEM.c.position):
            found.setdefault(row.split, []).append(row.item_id)
        return found

    @repeated(twice=True)
    def add_candidate(self, search: str, candidate: Candidate) -> None:
        """Store a candidate, unless it exists."""
        row = {"search_id": search, "id": candidate.id, **row_of(candidate.program)}
        row |= {name: getattr(candidate, name) for name in ("slot", "op", "note", "parents")}
        with self._database.transaction() as connection:
            _append(connection, CANDIDATE, row)

    @repeated(twice=True)
    def add_answers(
        self, search: str, candidate: str, replicate: int, predictions: Sequence[Prediction]
    ) -> None:
        """Store answers in one transaction. They replace stored failures, but no other stored answers."""
        run = {"search_id": search, "candidate_id": candidate, "replicate": replicate}
        same = [CANDIDATE_ANSWER.c[name] == value for name, value in run.items()]
        failed = CANDIDATE_ANSWER.c.status == PredictionStatus.FAILED.value
        again = sa.delete(CANDIDATE_ANSWER).where(
            *same, failed, CANDIDATE_ANSWER.c.item_id == sa.bindparam("item")
        )
        with self._database.transaction() as connection:
            execute_many(connection, again, [{"item": p.item_id} for p in predictions])
            have = set(connection.execute(sa.select(CANDIDATE_ANSWER.c.item_id).where(*same)).scalars())
            fresh = (row_of(p) | run for p in predictions if p.item_id not in have)
            rows = [
                {name: value for name, value in row.items() if name in CANDIDATE_ANSWER.c} for row in fresh
            ]
            execute_many(connection, sa.insert(CANDIDATE_ANSWER), rows)

    @repeated(twice=True)
    def add_event(self, search: str, key: str, data: Mapping[str, Any]) -> None:
        """Store a decision, unless a decision with this key is stored already."""
        with self._database.transaction() as connection:
            _append(connection, SEARCH_EVENT, {"search_id": search, "key": key, "data": dict(data)})

    def read_progress(self) -> list[SearchProgress]:
        """Return the progress of every search, newest first."""
        count, event = sa.select(sa.func.count()), SEARCH_EVENT.c
        of_search = event.search_id == SEARCH.c.id
        columns = (
            count.where(CANDIDATE.c.search_id == SEARCH.c.id),
            count.where(of_search, event.key.like("slot/%")),
            sa.select(event.data).where(of_search, event.key == "winner"),
        )
        query = sa.select(SEARCH, *(column.scalar_subquery() for column in columns))
        found = list[SearchProgress]()
        for name, created, spec, candidates, proposals, said in self._database.read_rows(
            query.order_by(SEARCH.c.created.desc())
        ):
            winner = said.get("candidate") if isinstance(said, dict) else None
            best = self._rows(CANDIDATE, name, where=CANDIDATE.c.id == winner) if winner else []
            found.append(
                SearchProgress(
                    id=name, created=created, spec=spec, candidates=candidates, proposals=proposals,
                    winner=winner, winner_name=best[0].name if best else None,
                )
            )  # fmt: skip
        return found

    def read_candidates(self, search: str, ids: Sequence[str] | None = None) -> list[Candidate]:
        """Return all candidates of a search, or the candidates with the given ids, in order of arrival.

        Raises
        ------
        StoreError
            If the stored source of a candidate was changed.
        """
        few = None if ids is None else CANDIDATE.c.id.in_(ids)
        found = []
        for row in self._rows(CANDIDATE, search, CANDIDATE.c.position, where=few):
            program = value_of(Program, row)
            if program.id != row.id:
                raise StoreError(
                    f"search {search}: the source of candidate {row.id} was changed, so its stored "
                    "answers belong to another program; restore a copy of the database, or begin another "
                    "search"
                )
            found.append(value_of(Candidate, row, program=program))
        return found

    def read_answers(
        self, search: str, candidate: str | None = None
    ) -> dict[tuple[str, int], list[Prediction]]:
        """Return the answers of all candidates, or only of `candidate`, by (candidate id, replicate)."""
        found = defaultdict[tuple[str, int], list[Prediction]](list)
        query = sa.select(
            CANDIDATE_ANSWER.c.candidate_id,
            CANDIDATE_ANSWER.c.replicate,
            *(CANDIDATE_ANSWER.c[n] for n in _ANSWERED),
        )
        query = query.where(CANDIDATE_ANSWER.c.search_id == search)
        if candidate is not None:
            query = query.where(CANDIDATE_ANSWER.c.candidate_id == candidate)
        with self._database.reading():
            for name, run, *values in self._database.read_tuples(query):
                answer = dict(zip(_ANSWERED, values, strict=True))
                answer["status"] = PredictionStatus(answer["status"])
                found[name, run].append(Prediction(**answer, sample=run))
        return found

    def read_columns(self, search: str) -> Iterator[CandidateColumns]:
        """Yield the answers in a search as arrays, without the texts of the replies.

        There is one `CandidateColumns` per candidate and replicate.
        """
        a = CANDIDATE_ANSWER.c
        status = sa.case(_NUMBERS, value=a.status)
        columns = (
            a.item_id,
            sa.func.coalesce(a.option, UNREADABLE),
            status,
            a.input_tokens + a.output_tokens,
        )
        by = a.candidate_id, a.replicate
        query = sa.select(*by, *map(self._database.gather, columns))
        query = query.where(a.search_id == search).group_by(*by).order_by(*by)
        known = dict[str, tuple[str, ...]]()
        with self._database.reading():
            for candidate, replicate, items, *told in self._database.read_tuples(query):
                if items not in known:
                    known[items] = tuple(orjson.loads(items))
                option, statuses, tokens = map(orjson.loads, told)
                yield CandidateColumns(
                    candidate=candidate,
                    replicate=replicate,
                    items=known[items],
                    option=np.array(option, np.int64).astype(np.int32),
                    status=np.array(statuses, np.int8),
                    tokens=np.array(tokens, np.int64),
                )

    def read_events(self, search: str) -> dict[str, dict[str, Any]]:
        """Return a search's decisions by key, in the order in which they were stored."""
        return {row.key: row.data for row in self._rows(SEARCH_EVENT, search, SEARCH_EVENT.c.position)}

    def read_spent(self, search: str) -> tuple[float, int, tuple[int, int]]:
        """Return the usage of all calls stored since a search began.

        A call does not record its purpose, so calls of other searches and workflows since then also count.

        Returns
        -------
        usd, tokens, unpriced
            US dollars; tokens; and (sent, received) tokens of the calls without a known price.
        """
        began = next(s["created"] for s in self.read_searches() if s["id"] == search)
        sent, received, usd = CALL.c.input_tokens, CALL.c.output_tokens, CALL.c.usd
        free = [sa.case((usd.is_(None), tokens), else_=0) for tokens in (sent, received)]
        sums = (sa.func.coalesce(sa.func.sum(c), 0) for c in (usd, sent + received, *free))
        (row,) = self._database.read_rows(sa.select(*sums).where(CALL.c.created >= began[:19]))
        return float(row[0]), int(row[1]), (int(row[2]), int(row[3]))

    def _rows(
        self,
        table: sa.Table,
        search: str,
        *order: sa.Column[Any],
        where: sa.ColumnElement[bool] | None = None,
    ) -> Sequence[sa.Row[Any]]:
        query = sa.select(table).where(table.c.search_id == search).order_by(*order)
        return self._database.read_rows(query if where is None else query.where(where))


def _append(connection: sa.Connection, table: sa.Table, row: dict[str, Any]) -> None:
    """Store a row with the next position in its search, unless the table has a row with its key."""
    same = [column == row[column.name] for column in table.primary_key]
    if count_rows(connection, table, *same):
        return
    position = count_rows(connection, table, table.c.search_id == row["search_id"])
    connection.execute(sa.insert(table), {**row, "position": position})
