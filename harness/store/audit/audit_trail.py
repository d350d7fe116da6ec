"""SQL of the audit trail: events about a study's design and answers, in a hash chain.

An event's link is a hash of the event and of the previous link. Anybody who recorded a link can later detect
whether an event up to this link was changed, removed or added. For a comment, only a salted hash enters the
link, so the chain still verifies after the comment was erased.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from oversight.harness.output import make_storable
from oversight.harness.store.database import BULK, Repository, split_into_batches
from oversight.harness.store.schema import begin_snapshot, lock_exclusive
from oversight.harness.store.serialization import read_json
from oversight.harness.store.tables.insertion import execute_many, row_of, select_values
from oversight.harness.store.tables.study_tables import (
    ASSIGNMENT,
    CONTROL,
    EVENT,
    QUESTION,
    TASK,
    AuditEvent,
    AuditRecord,
    hash_comment,
)

START = "0" * 64
"""Link before the first event."""
_COUNTED = (QUESTION, CONTROL, ASSIGNMENT, TASK)
PAGE = "page"
"""Source of replies from the answer page, and `AuditEvent.way` of the events about these replies."""
REFUSED = "refused"
"""Kind of events about answers that arrived but do not count."""


_STORABLE = ("person", "asked_id", "value", "comment", "detail")
_ERASABLE = ("person", "value", "comment", "salt", "comment_digest", "seconds", "key", "detail")


class TrailStep(NamedTuple):
    """An audit event without the answer's value."""

    position: int
    kind: str
    way: str
    person: str
    asked_id: str


@dataclass(frozen=True, slots=True)
class AnswerHistory:
    """A person's successive answers to one question on one channel.

    Attributes
    ----------
    person, asked_id
        The person and the question.
    first
        Time of the first answer, in ISO 8601 and UTC.
    seconds
        Total number of seconds for which the question was visible; None if unknown.
    values
        Number of distinct answers.
    """

    person: str
    asked_id: str
    first: str
    seconds: float | None
    values: int


class AuditRepository(Repository):
    """The audit trail of a study."""

    def append(self, events: Sequence[AuditEvent]) -> None:
        """Store events; the caller writes the rows that these describe in the same `Store.together` block."""
        with self._database.transaction(exclusive=True) as connection:
            append_events(connection, events)

    def read_records(self) -> Iterator[AuditRecord]:
        """Yield all events in order, reading them in batches."""
        names = [f.name for f in fields(AuditRecord)]
        columns = [sa.cast(EVENT.c[n], sa.Text) if n == "detail" else EVENT.c[n] for n in names]
        query = sa.select(*columns).order_by(EVENT.c.position)
        for part in self._database.read_portions(query):
            for row in zip(*part, strict=True):
                values = dict(zip(names, row, strict=True))
                with self._database.reading():
                    yield AuditRecord(**values | {"detail": read_json(values["detail"])})

    def find_last(self, value: str, column: str = "kind") -> AuditRecord | None:
        """Return the last event with this value in a column, or None."""
        query = select_values(AuditRecord, EVENT).where(EVENT.c[column] == value)
        found = self._database.read_values(AuditRecord, query.order_by(EVENT.c.position.desc()).limit(1))
        return found[0] if found else None

    def hold_still(self) -> None:
        """Make all reads of a transaction see the same state; call this first inside `Store.together`."""
        with self._database.transaction() as connection:
            begin_snapshot(connection)

    def redact(self, records: Sequence[AuditRecord]) -> None:
        """Erase the content of stored events, keeping their positions and links.

        The given records have the new content. A ``redacted`` event with their new seals (see
        `AuditRecord.find_seal`) is appended. So the erasure remains visible, and later changes are detected.
        """
        told = [replace(record, detail={**record.detail, "redacted": True}) for record in records]
        change = sa.update(EVENT).where(EVENT.c.position == sa.bindparam("at_place"))
        change = change.values({name: sa.bindparam(name) for name in _ERASABLE})
        rows = [{"at_place": r.position} | {name: getattr(r, name) for name in _ERASABLE} for r in told]
        with self._database.transaction(exclusive=True) as connection:
            execute_many(connection, change, rows)
            for part in split_into_batches(told, BULK):
                seals = {str(r.position): r.find_seal() for r in part}
                event = AuditEvent(kind="redacted", way="command", detail={"events": seals})
                append_events(connection, [event])

    def read_head(self) -> str:
        """Return the last event's link in the hash chain; `START` before the first event."""
        query = sa.select(EVENT.c.link).order_by(EVENT.c.position.desc()).limit(1)
        found = self._database.read_rows(query)
        return str(found[0][0]) if found else START

    def read_histories(self, way: str) -> list[AnswerHistory]:
        """Return the history of each (person, question) pair with answers from one channel.

        Histories are sorted by the position of their last answer.
        """
        e = EVENT.c
        query = (
            sa.select(
                e.person,
                e.asked_id,
                sa.func.min(e.at).label("first"),
                sa.func.sum(e.seconds).label("seconds"),
                sa.func.count(sa.distinct(e.value)).label("values"),
            )
            .where(e.way == way, e.kind == "answer", e.asked_id != "")
            .group_by(e.person, e.asked_id)
            .order_by(sa.func.max(e.position))
        )
        return self._database.read_values(AnswerHistory, query)

    def count_refused(self) -> dict[str, int]:
        """Return each person's number of answers that do not count because another answer arrived first."""
        query = sa.select(EVENT.c.person, sa.func.count()).where(EVENT.c.kind == REFUSED)
        return dict(self._database.read_tuples(query.group_by(EVENT.c.person)))

    def find_withdrawn(self) -> set[str]:
        """Return the ids of questions and assignments whose answer was withdrawn at least once."""
        query = sa.select(EVENT.c.asked_id).where(EVENT.c.kind == "withdrawn").distinct()
        return {asked_id for (asked_id,) in self._database.read_tuples(query)}

    def read_steps(self, since: int) -> list[TrailStep]:
        """Return all events at position `since` and later, in order."""
        columns = (EVENT.c[name] for name in TrailStep._fields)
        query = sa.select(*columns).where(EVENT.c.position >= since).order_by(EVENT.c.position)
        return [TrailStep(*row) for row in self._database.read_tuples(query)]

    def read_end(self) -> int:
        """Return the position of the next event."""
        last = self._database.read_rows(sa.select(sa.func.max(EVENT.c.position)))[0][0]
        return 0 if last is None else int(last) + 1

    def count_design(self) -> tuple[int, ...]:
        """Return row counts that change whenever questions are drawn or sent to a server.

        Callers compare the counts to detect such changes.
        """
        counts = (sa.select(sa.func.count()).select_from(table).scalar_subquery() for table in _COUNTED)
        return tuple(self._database.read_rows(sa.select(*counts))[0])


def append_events(connection: sa.Connection, events: Sequence[AuditEvent]) -> None:
    """Make the transaction exclusive, then store the events whose key is not stored yet."""
    keys = [event.key for event in events if event.key is not None]
    known = set()
    if keys:
        known = set(connection.execute(sa.select(EVENT.c.key).where(EVENT.c.key.in_(keys))).scalars())
    fresh = [event for event in events if event.key is None or event.key not in known]
    if not fresh:
        return
    lock_exclusive(connection)
    query = sa.select(EVENT.c.position, EVENT.c.link).order_by(EVENT.c.position.desc()).limit(1)
    last = connection.execute(query).first()
    position, link = (last.position + 1, last.link) if last else (0, START)
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    records = []
    for place, event in enumerate(fresh, position):
        # Convert values to the form in which a database returns them, so that links can be recomputed.
        given = {name: _make_storable(getattr(event, name)) for name in _STORABLE}
        comment = given["comment"] or ""
        salt = secrets.token_hex(8) if comment else ""
        record = AuditRecord(
            kind=event.kind, way=event.way, seconds=event.seconds, key=event.key, **given,
            position=place, at=at, salt=salt, comment_digest=hash_comment(salt, comment), link="",
        )  # fmt: skip
        link = record.find_link(link)
        records.append(row_of(replace(record, link=link)))
    execute_many(connection, sa.insert(EVENT), records)


def _make_storable(told: Any) -> Any:
    """Convert a value to what the database returns after storing the value as JSON."""
    if isinstance(told, str):
        return make_storable(told)
    if isinstance(told, Mapping):
        return {make_storable(str(name)): _make_storable(value) for name, value in told.items()}
    return [_make_storable(value) for value in told] if isinstance(told, list | tuple) else told
