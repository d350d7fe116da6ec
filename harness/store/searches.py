"""SQL of searches: archives of candidates, their answers, and what was decided.

Rows are only ever added, and every write may be repeated: what is there stays as it is. So a search
that was killed goes on from what it finds here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlmodel import SQLModel

from harness.errors import StoreError
from harness.store.tables import (
    CallRow,
    CandidateAnswerRow,
    CandidateParentRow,
    CandidateRow,
    SearchEventRow,
    SearchItemRow,
    SearchRow,
    table_of,
)
from harness.types import Prediction, PredictionStatus

if TYPE_CHECKING:
    from harness.store.repository import Repository


@dataclass(frozen=True, slots=True)
class StoredCandidate:
    """A candidate as it is stored; fields as in `agents.search.archive.archive.Candidate` and its program."""

    id: str
    slot: int
    op: str
    name: str
    source: str
    thought: str
    note: str
    parents: tuple[str, ...]


class SearchStore:
    """The searches of a study.

    Parameters
    ----------
    repository
        The study's database.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def searches(self) -> list[dict[str, Any]]:
        """All searches as ``{"id", "created", "spec"}``, oldest first."""
        table = table_of(SearchRow)
        return [dict(row._mapping) for row in self._all(sa.select(table).order_by(table.c.created))]  # noqa: SLF001  SQLAlchemy's public name

    def create(self, search: str, spec: Mapping[str, Any], splits: Mapping[str, Sequence[str]]) -> None:
        """Store a search and its split of the items, unless it is there.

        Raises
        ------
        StoreError
            If the search is there with another split.
        """
        if self._all(sa.select(table_of(SearchRow).c.id).where(table_of(SearchRow).c.id == search)):
            if self.splits(search) != {name: list(ids) for name, ids in splits.items() if ids}:
                raise StoreError(f"search {search} is stored with another split of the items")
            return
        created = datetime.now(UTC).isoformat(timespec="milliseconds")
        rows = [
            {"search_id": search, "item_id": item, "split": split, "position": j}
            for split, ids in splits.items()
            for j, item in enumerate(ids)
        ]
        with self._repository.transaction() as connection:
            connection.execute(
                sa.insert(table_of(SearchRow)), {"id": search, "created": created, "spec": dict(spec)}
            )
            connection.execute(sa.insert(table_of(SearchItemRow)), rows)

    def splits(self, search: str) -> dict[str, list[str]]:
        """Item ids by split, in their order."""
        table = table_of(SearchItemRow)
        query = sa.select(table).where(table.c.search_id == search).order_by(table.c.split, table.c.position)
        found: dict[str, list[str]] = {}
        for row in self._all(query):
            found.setdefault(row.split, []).append(row.item_id)
        return found

    def add_candidate(self, search: str, candidate: StoredCandidate) -> None:
        """Store a candidate with its parents, unless it is there."""
        row = {**asdict(candidate), "search_id": search}
        parents = [
            {"search_id": search, "child": candidate.id, "parent": parent, "position": j}
            for j, parent in enumerate(row.pop("parents"))
        ]
        with self._repository.transaction() as connection:
            if not self._new(connection, CandidateRow, search, id=candidate.id):
                return
            row["position"] = self._next(connection, CandidateRow, search)
            connection.execute(sa.insert(table_of(CandidateRow)), row)
            if parents:
                connection.execute(sa.insert(table_of(CandidateParentRow)), parents)

    def add_answers(
        self, search: str, candidate: str, replicate: int, predictions: Sequence[Prediction]
    ) -> None:
        """Store answers in one transaction; those that are there stay, but failed ones give way."""
        table = table_of(CandidateAnswerRow)
        same = (
            table.c.search_id == search,
            table.c.candidate_id == candidate,
            table.c.replicate == replicate,
        )
        with self._repository.transaction() as connection:
            failed = table.c.status == str(PredictionStatus.FAILED)
            again = table.c.item_id == sa.bindparam("item")
            for p in predictions:
                connection.execute(sa.delete(table).where(*same, failed, again), {"item": p.item_id})
            have = set(connection.execute(sa.select(table.c.item_id).where(*same)).scalars())
            rows = [
                {
                    **{name: value for name, value in asdict(p).items() if name in _PREDICTION},
                    "status": str(p.status),
                    "search_id": search,
                    "candidate_id": candidate,
                    "replicate": replicate,
                }
                for p in predictions
                if p.item_id not in have
            ]
            if rows:
                connection.execute(sa.insert(table), rows)

    def add_event(self, search: str, key: str, data: Mapping[str, Any]) -> None:
        """Store a decision, unless there is one under its key."""
        with self._repository.transaction() as connection:
            if self._new(connection, SearchEventRow, search, key=key):
                position = self._next(connection, SearchEventRow, search)
                row = {"search_id": search, "key": key, "position": position, "data": dict(data)}
                connection.execute(sa.insert(table_of(SearchEventRow)), row)

    def candidates(self, search: str) -> list[StoredCandidate]:
        """A search's candidates, in order of arrival."""
        child, table = table_of(CandidateParentRow), table_of(CandidateRow)
        parents: dict[str, list[str]] = {}
        for row in self._all(sa.select(child).where(child.c.search_id == search).order_by(child.c.position)):
            parents.setdefault(row.child, []).append(row.parent)
        query = sa.select(table).where(table.c.search_id == search).order_by(table.c.position)
        return [
            StoredCandidate(
                r.id, r.slot, r.op, r.name, r.source, r.thought, r.note, tuple(parents.get(r.id, ()))
            )
            for r in self._all(query)
        ]

    def answers(self, search: str) -> dict[tuple[str, int], list[Prediction]]:
        """A search's answers by candidate and replicate."""
        table = table_of(CandidateAnswerRow)
        found: dict[tuple[str, int], list[Prediction]] = {}
        for r in self._all(sa.select(table).where(table.c.search_id == search)):
            fields = {name: value for name, value in r._mapping.items() if name in _PREDICTION}  # noqa: SLF001  SQLAlchemy's public name
            fields |= {"status": PredictionStatus(r.status), "sample": r.replicate}
            found.setdefault((r.candidate_id, r.replicate), []).append(Prediction(**fields))
        return found

    def events(self, search: str) -> dict[str, dict[str, Any]]:
        """A search's decisions by key, in order."""
        table = table_of(SearchEventRow)
        query = sa.select(table).where(table.c.search_id == search).order_by(table.c.position)
        return {row.key: row.data for row in self._all(query)}

    def tokens_since(self, search: str) -> tuple[int, int]:
        """Tokens sent and received in calls stored since a search began: what it has used so far."""
        call = table_of(CallRow)
        began = next(s["created"] for s in self.searches() if s["id"] == search)
        query = sa.select(
            sa.func.coalesce(sa.func.sum(call.c.input_tokens), 0),
            sa.func.coalesce(sa.func.sum(call.c.output_tokens), 0),
        ).where(call.c.created >= began[:19])
        with self._repository.transaction() as connection:
            row = connection.execute(query).one()
        return int(row[0]), int(row[1])

    def _all(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        with self._repository.transaction() as connection:
            return connection.execute(query).all()

    @staticmethod
    def _new(connection: sa.Connection, row: type[SQLModel], search: str, **key: str) -> bool:
        table = table_of(row)
        same = [table.c.search_id == search, *(table.c[name] == value for name, value in key.items())]
        return connection.execute(sa.select(table.c.search_id).where(*same)).first() is None

    @staticmethod
    def _next(connection: sa.Connection, row: type[SQLModel], search: str) -> int:
        table = table_of(row)
        query = sa.select(sa.func.count()).select_from(table).where(table.c.search_id == search)
        return int(connection.execute(query).scalar_one())


_PREDICTION = frozenset(Prediction.__dataclass_fields__) - {"sample"}
