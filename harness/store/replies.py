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
from oversight.harness.store.audit.audit_trail import AuditEvent, append_events
from oversight.harness.store.audit.design_rows import BatchDigest
from oversight.harness.store.database import BULK, Database, Repository, split_into_batches
from oversight.harness.store.tables.content_tables import AnswerRow, ControlAnswerRow, RatingRow
from oversight.harness.store.tables.insertion import execute_many, insert_tuples

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
        A verdict; or a panel's label, which is empty if the assignment was skipped.
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
    panel
        Whether the replies are a panel's ratings; otherwise they are experts' answers.
    control
        Whether the replies are answers to control questions.
    """

    def __init__(self, database: Database, *, panel: bool, control: bool = False) -> None:
        super().__init__(database)
        self._table = (RatingRow if panel else ControlAnswerRow if control else AnswerRow).__table__
        self._id, self._value = ("assignment_id", "label") if panel else ("question_id", "verdict")

    def read_replies(self) -> dict[str, Response]:
        """Return all replies by question (or assignment) id, in order of arrival."""
        t = self._table.c
        named = (t[self._id].label("id"), t[self._value].label("value"))
        query = sa.select(*named, t.expert, t.source, t.comment).order_by(t.position)
        return {reply.id: reply for reply in self._database.read_values(Response, query)}

    def find_replies(self, ids: Iterable[str]) -> dict[str, Response]:
        """Return the replies to a batch of questions by question id; unanswered questions are left out."""
        t = self._table.c
        named = (t[self._id].label("id"), t[self._value].label("value"))
        query = sa.select(*named, t.expert, t.source, t.comment).where(self._database.among(t[self._id], ids))
        return {reply.id: reply for reply in self._database.read_values(Response, query)}

    def count_replies(self) -> dict[tuple[str, str], int]:
        """Return the number of replies by (person, value)."""
        t = self._table.c
        said = (t.expert, t[self._value])
        rows = self._database.read_rows(sa.select(*said, sa.func.count()).group_by(*said))
        return {(expert, value): n for expert, value, n in rows}

    def count_arrivals(self, most: int) -> list[dict[str, int]]:
        """Return each person's number of replies in each of at most `most` portions.

        The portions are consecutive in the order of arrival.
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
                append_events(connection, [self._describe_batch(batch, first, last, sources)])
        return new

    def _describe_batch(self, batch: BatchDigest, first: int, last: int, sources: set[str]) -> AuditEvent:
        told = {"table": self._table.name, "first": first, "last": last, "digest": batch.digest()}
        ways = sorted(sources)
        return AuditEvent(kind="batch", way=", ".join(ways), value=str(batch.number), detail=told)

    def _pick_stored(self, connection: sa.Connection, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return the given rows for whose positions the table contains a row."""
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
        t = self._table.c
        before = self._read_sourced(connection, ids := list(ids), source)
        last = connection.execute(sa.select(sa.func.max(t.position))).scalar()
        places = self._read_places(connection, {*ids, *(reply.id for reply in replies)})
        gone = sa.delete(self._table).where(t[self._id] == sa.bindparam("q"), t.source == source)
        execute_many(connection, gone, [{"q": i} for i in ids])
        rows = self._make_rows(replies, places, 0 if last is None else last + 1)
        if rows:
            connection.execute(
                sa.insert(self._table), [dict(zip(self._names, row, strict=True)) for row in rows]
            )
        return _find_changes(before, replies, source)

    def _read_sourced(self, connection: sa.Connection, ids: list[str], source: str) -> dict[str, Response]:
        """Return the replies to these questions that arrived through one channel, by question id."""
        t, found = self._table.c, dict[str, Response]()
        columns = (t[self._id], t.expert, t[self._value], t.source, t.comment)
        for portion in split_into_batches(ids):
            of_these = self._database.among(t[self._id], portion)
            rows = connection.execute(sa.select(*columns).where(of_these, t.source == source))
            found.update((row[0], Response(*row)) for row in rows)
        return found

    @property
    def _names(self) -> tuple[str, ...]:
        return (self._id, "position", "expert", self._value, "source", "comment")

    def _read_places(self, connection: sa.Connection, ids: Iterable[str]) -> dict[str, int]:
        t, found = self._table.c, dict[str, int]()
        for portion in split_into_batches(ids, BULK):
            of_these = self._database.among(t[self._id], portion)
            found.update(connection.execute(sa.select(t[self._id], t.position).where(of_these)).all())
        return found

    @staticmethod
    def _make_rows(
        replies: Iterable[Response], places: Mapping[str, int], first: int
    ) -> list[tuple[Any, ...]]:
        """Return one row to insert per reply.

        A reply without a position in `places` gets the next free position; the first of these is `first`.
        """
        fresh = count(first)
        return [
            (r.id, places[r.id] if r.id in places else next(fresh), r.expert, r.value, r.source, r.comment)
            for r in replies
        ]


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
