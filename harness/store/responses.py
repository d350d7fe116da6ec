"""What people said, whichever it was: verdicts on questions, or labels of a panel's assignments.

One row for each thing asked. Every write may be repeated; another answer to the same is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from harness.errors import StoreError
from harness.store.tables import AnswerRow, RatingRow, table_of

if TYPE_CHECKING:
    from harness.store.repository import Repository


@dataclass(frozen=True, slots=True)
class Response:
    """What somebody said.

    Attributes
    ----------
    id
        Of the question or the assignment.
    expert
        Who said it.
    value
        A verdict, or a label (empty if skipped).
    source
        How it came.
    """

    id: str
    expert: str
    value: str
    source: str
    comment: str = ""


class Responses:
    """One table of replies.

    Parameters
    ----------
    store
        The study's database.
    panel
        Whether of a panel's ratings; else of experts' answers.
    """

    def __init__(self, store: Repository, *, panel: bool = False) -> None:
        self._store = store
        self._table = table_of(RatingRow if panel else AnswerRow)
        self._id, self._value = ("assignment_id", "label") if panel else ("question_id", "verdict")

    def replies(self) -> dict[str, Response]:
        """Id of what was asked → reply, in order of arrival."""
        t = self._table.c
        columns = (t[self._id], t.expert, t[self._value], t.source, t.comment)
        with self._store.transaction() as connection:
            rows = connection.execute(sa.select(*columns).order_by(t.position)).all()
        return {row[0]: Response(*row) for row in rows}

    def add(self, replies: Sequence[Response]) -> int:
        """Store replies, all or none; return how many were new.

        Raises
        ------
        StoreError
            If something has another reply already.
        """
        known = self.replies()
        fresh: dict[str, Response] = {}
        for reply in replies:
            old = known.get(reply.id) or fresh.setdefault(reply.id, reply)
            if old.value != reply.value:
                raise StoreError(
                    f"question {reply.id!r} was answered {old.value!r} before and now {reply.value!r}; a "
                    "question has one answer"
                )
        with self._store.transaction() as connection:
            self._append(connection, fresh.values())
        return len(fresh)

    def replace(
        self, connection: sa.Connection, ids: Iterable[str], source: str, replies: Sequence[Response]
    ) -> None:
        """Take back what came from a source on these, and store what it says now, places kept."""
        t = self._table.c
        places = dict(connection.execute(sa.select(t[self._id], t.position)).all())
        gone = sa.delete(self._table).where(t[self._id] == sa.bindparam("q"), t.source == source)
        if keys := [{"q": i} for i in ids]:
            connection.execute(gone, keys)
        self._append(connection, replies, places)

    def _append(
        self, connection: sa.Connection, replies: Iterable[Response], places: Mapping[str, int] | None = None
    ) -> None:
        last = connection.execute(sa.select(sa.func.max(self._table.c.position))).scalar()
        fresh, known = 1 + max([-1 if last is None else last, *(places or {}).values()]), places or {}
        rows: list[dict[str, Any]] = []
        for reply in replies:
            rows.append(
                {
                    self._id: reply.id,
                    "position": known.get(reply.id, fresh),
                    "expert": reply.expert,
                    self._value: reply.value,
                    "source": reply.source,
                    "comment": reply.comment,
                }
            )
            fresh += reply.id not in known
        if rows:
            connection.execute(sa.insert(self._table), rows)
