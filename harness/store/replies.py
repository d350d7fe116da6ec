"""SQL of replies: verdicts on questions, or labels for a panel's assignments.

There is one row per question or assignment. Adding the same reply again does nothing; adding a different
reply is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from operator import itemgetter
from typing import Any, NamedTuple

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.store.audit.audit_trail import append_events
from oversight.harness.store.audit.design_rows import REPLIES, BatchDigest
from oversight.harness.store.database import Database, Repository, split_into_batches
from oversight.harness.store.tables.insertion import execute_many, insert_tuples
from oversight.harness.store.tables.study_tables import AuditEvent

ReplyFields = tuple[str, str, str, str, str]
"""The fields of a `Response`, in the order of `Response`."""

SORTED = 75_000
"""Number of replies that are sorted by key and written together, which makes updating the index faster."""


class Response(NamedTuple):
    """A reply.

    Attributes
    ----------
    id
        Id of the question or assignment.
    expert
        The person who replied.
    value
        A verdict on a question, or the label given to an assignment (empty if it was skipped).
    source
        Channel through which the reply arrived, for example ``label_studio``.
    """

    id: str
    expert: str
    value: str
    source: str
    comment: str = ""


class ReplyRepository(Repository):
    """One table of replies.

    Parameters
    ----------
    database
        The study's database.
    table
        Name of the table: one of `REPLY_TABLES`.
    """

    def __init__(self, database: Database, table: str) -> None:
        super().__init__(database)
        self._table, self._id, self._value = REPLIES[table]
        t = self._table.c
        named = t[self._id].label("id"), t.expert, t[self._value].label("value"), t.source, t.comment
        self._select = sa.select(*named)

    def read_replies(self) -> dict[str, Response]:
        """Return all replies by question (or assignment) id, in order of arrival."""
        query = self._select.order_by(self._table.c.position)
        return {reply.id: reply for reply in self._database.read_values(Response, query)}

    def find_replies(self, ids: Iterable[str]) -> dict[str, Response]:
        """Return the replies to a batch of questions by question id; unanswered questions are left out."""
        query = self._select.where(self._database.among(self._table.c[self._id], ids))
        return {reply.id: reply for reply in self._database.read_values(Response, query)}

    def count_replies(self) -> dict[tuple[str, str], int]:
        """Return the number of replies by (person, value)."""
        t = self._table.c
        said = (t.expert, t[self._value])
        rows = self._database.read_rows(sa.select(*said, sa.func.count()).group_by(*said))
        return {(expert, value): n for expert, value, n in rows}

    def count_arrivals(self, most: int) -> list[dict[str, int]]:
        """Divide replies, in order of arrival, into at most `most` portions, and count each person's replies.

        Returns one dictionary per portion: person → number of replies.
        """
        t = self._table.c
        last = self._database.read_rows(sa.select(sa.func.max(t.position)))[0][0]
        if last is None:
            return []
        # Portions have equal ranges of positions. Withdrawn replies leave gaps, so sizes vary a little.
        size = -(-(last + 1) // most)
        # Use a literal, because PostgreSQL treats parameters in SELECT and GROUP BY as different expressions.
        portion = t.position // sa.literal_column(str(size), sa.Integer)
        rows = self._database.read_rows(
            sa.select(portion, t.expert, sa.func.count()).group_by(portion, t.expert)
        )
        found: list[dict[str, int]] = [{} for _ in range(-(-(last + 1) // size))]
        for place, expert, n in rows:
            found[place][expert] = n
        return found

    def add_replies(self, replies: Iterable[ReplyFields]) -> int:
        """Store replies, all or none. Returns how many were new.

        Raises
        ------
        StoreError
            If a question has a different reply already.
        """
        new, batch, sources = 0, BatchDigest(), set[str]()
        with self._database.transaction(exclusive=True) as connection:
            last = connection.execute(sa.select(sa.func.max(self._table.c.position))).scalar()
            first = 0 if last is None else last + 1
            places = count(first)
            for portion in split_into_batches(replies, SORTED):
                known = {} if last is None else self._read_values(connection, portion)
                fresh = _leave_out(portion, known) if known else portion
                rows = [(i, at, e, v, s, c) for (i, e, v, s, c), at in zip(fresh, places, strict=False)]
                # The sort is stable, so of two replies with the same id, the earlier one stays first.
                arrived, rows = rows, sorted(rows, key=itemgetter(0))
                stored = insert_tuples(connection, self._table, self._names, rows)
                if stored < len(rows):  # some id occurs twice, here or in an earlier portion
                    _leave_out(portion, self._read_values(connection, portion))
                    arrived = self._pick_stored(connection, arrived)
                if arrived:
                    ids, _, people, values, ways, _ = zip(*arrived, strict=True)
                    batch.add(ids, people, values)
                    sources.update(ways)
                new += stored
            if batch.number:
                last = next(places) - 1
                told = {"table": self._table.name, "first": first, "last": last, "digest": batch.digest()}
                way = ", ".join(sorted(sources))
                append_events(
                    connection, [AuditEvent(kind="batch", way=way, value=str(batch.number), detail=told)]
                )
        return new

    def _pick_stored(self, connection: sa.Connection, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return those of the given rows whose position is stored in the table."""
        t = self._table.c
        query = sa.select(t.position).where(t.position.between(rows[0][1], rows[-1][1]))
        stored = set(connection.execute(query).scalars())
        return [row for row in rows if row[1] in stored]

    def _read_values(self, connection: sa.Connection, replies: Sequence[ReplyFields]) -> dict[str, str]:
        values = self._select_values([reply[0] for reply in replies])
        return dict(connection.execute(values).all())

    def find_values(self, names: Sequence[str]) -> dict[str, str]:
        """Return the value of each given question's reply, by question id; unanswered ones are left out."""
        return dict(self._database.read_tuples(self._select_values(names)))

    def _select_values(self, names: Sequence[str]) -> sa.Select[Any]:
        t = self._table.c
        return sa.select(t[self._id], t[self._value]).where(self._database.among(t[self._id], names))

    def replace_replies(
        self, connection: sa.Connection, ids: Iterable[str], source: str, replies: Sequence[Response]
    ) -> list[AuditEvent]:
        """Replace the replies to these questions that arrived through the channel `source`.

        A new reply to a question takes the position of the reply that it replaces.

        Returns
        -------
        list of AuditEvent
            Events about the changes; the caller appends them in the same transaction.
        """
        t, ids = self._table.c, list(ids)
        last = connection.execute(sa.select(sa.func.max(t.position))).scalar()
        before, places = dict[str, Response](), dict[str, int]()
        for portion in split_into_batches({*ids, *(reply.id for reply in replies)}):
            of_these = self._select.add_columns(t.position).where(self._database.among(t[self._id], portion))
            for *values, place in connection.execute(of_these):
                reply = Response(*values)
                before[reply.id], places[reply.id] = reply, place
        gone = sa.delete(self._table).where(t[self._id] == sa.bindparam("q"), t.source == source)
        execute_many(connection, gone, [{"q": i} for i in ids])
        fresh = count(0 if last is None else last + 1)
        rows = [
            (r.id, places[r.id] if r.id in places else next(fresh), r.expert, r.value, r.source, r.comment)
            for r in replies
        ]
        named = [dict(zip(self._names, row, strict=True)) for row in rows]
        execute_many(connection, sa.insert(self._table), named)
        sourced = {name: before[name] for name in ids if name in before and before[name].source == source}
        return _find_changes(sourced, replies, source)

    @property
    def _names(self) -> tuple[str, ...]:
        return (self._id, "position", "expert", self._value, "source", "comment")


def _find_changes(
    before: Mapping[str, Response], replies: Sequence[Response], source: str
) -> list[AuditEvent]:
    """Return one event per new, changed or withdrawn answer."""
    given = [reply for reply in replies if before.get(reply.id) != reply]
    gone = before.keys() - {reply.id for reply in replies}
    return [
        AuditEvent(
            kind="answer", way=source, person=r.expert, asked_id=r.id, value=r.value, comment=r.comment
        )
        for r in given
    ] + [
        AuditEvent(kind="withdrawn", way=source, person=before[name].expert, asked_id=name)
        for name in sorted(gone)
    ]


def _leave_out(replies: Iterable[ReplyFields], known: Mapping[str, str]) -> list[ReplyFields]:
    """Return the replies whose question id is not in `known`, at most one reply per id.

    Raises
    ------
    StoreError
        If a reply has another value than the known reply with the same id, or than an earlier reply in
        `replies` with the same id.
    """
    fresh, values = list[ReplyFields](), dict(known)
    for reply in replies:
        name, _, value, *_ = reply
        if name not in values:
            values[name] = value
            fresh.append(reply)
        elif values[name] != value:
            raise StoreError(
                f"question {name!r} already has the answer {values[name]!r}, so the answer {value!r} is "
                "refused; a question has only one answer"
            )
    return fresh
