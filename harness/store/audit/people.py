"""SQL of the people who answer: absences, reassigned questions, and personal codes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.store.audit.audit_trail import append_events
from oversight.harness.store.database import Repository
from oversight.harness.store.tables.insertion import execute_many, row_of, select_values, upsert
from oversight.harness.store.tables.study_tables import (
    ABSENCE,
    HANDOVER,
    LINK,
    TASK,
    Absence,
    AnswerLink,
    AuditEvent,
    Handover,
    write_moment,
)


class PeopleRepository(Repository):
    """Reads and writes absences, handovers (reassigned questions) and links.

    A reassigned question keeps its draw and its propensity; only the expert changes. At most one link per
    expert opens the answer page.
    """

    def read_absences(self) -> dict[str, Absence]:
        """Return the absences that last at least until today (UTC), by expert."""
        day = datetime.now(UTC).date()
        found = self._database.read_table(Absence, ABSENCE, ABSENCE.c.expert)
        return {absence.expert: absence for absence in found if absence.holds(day)}

    def add_absence(self, absence: Absence) -> None:
        """Record that an expert is absent, replacing an earlier record."""
        told = {"since": absence.since, "until": absence.until}
        with self._database.transaction(exclusive=True) as connection:
            upsert(connection, ABSENCE, [row_of(absence)])
            event = AuditEvent(
                kind="absent", way="command", person=absence.expert, comment=absence.reason, detail=told
            )
            append_events(connection, [event])

    def end_absence(self, expert: str) -> bool:
        """Record that an expert is back. Returns whether they had been absent."""
        with self._database.transaction(exclusive=True) as connection:
            gone = connection.execute(sa.delete(ABSENCE).where(ABSENCE.c.expert == expert))
            if gone.rowcount:
                append_events(connection, [AuditEvent(kind="returned", way="command", person=expert)])
            return bool(gone.rowcount)

    def read_handovers(self) -> dict[str, Handover]:
        """Return the handover of each reassigned question, by question id.

        If a question was reassigned several times, one handover leads from its first expert to its last.
        """
        handovers = self._database.read_table(Handover, HANDOVER, HANDOVER.c.asked_id)
        return {found.asked_id: found for found in handovers}

    def hand_over(self, given: Sequence[tuple[str, str, str]], reason: str) -> None:
        """Reassign questions, all or none, and delete them from the stored queues.

        Parameters
        ----------
        given
            (question id, original expert, new expert) per question.
        reason
            Reason, stored in the audit trail.
        """
        known, created = self.read_handovers(), datetime.now(UTC).isoformat(timespec="seconds")
        with self._database.transaction(exclusive=True) as connection:
            ids = [asked_id for asked_id, _, _ in given]
            of_these = self._database.among(TASK.c.question_id, ids)
            query = sa.select(TASK.c.question_id, TASK.c.place).where(of_these)
            places = {row.question_id: row.place for row in connection.execute(query)}
            rows, events = list[Handover](), list[AuditEvent]()
            for asked_id, giver, taker in given:
                old = known.get(asked_id)
                place = old.place if old else places.get(asked_id)
                rows.append(Handover(asked_id, giver, taker, place))
                holder = old.taker if old else giver
                told = {"from": holder, "to": taker, "place": place}
                events.append(
                    AuditEvent(kind="handover", way="command", asked_id=asked_id, comment=reason, detail=told)
                )
            upsert(connection, HANDOVER, [{**row_of(row), "created": created} for row in rows])
            gone = sa.delete(TASK).where(TASK.c.question_id == sa.bindparam("q"))
            execute_many(connection, gone, [{"q": asked_id} for asked_id in ids])
            append_events(connection, events)

    def add_links(self, links: Sequence[AnswerLink]) -> None:
        """Store links to the answer page, and revoke earlier links of the same experts."""
        with self._database.transaction(exclusive=True) as connection:
            for link in links:
                connection.execute(_revoke(link.expert, link.created))
            execute_many(connection, sa.insert(LINK), [row_of(link) for link in links])

    def revoke_links(self, expert: str) -> bool:
        """Revoke an expert's links. Returns whether one of them was still valid."""
        now = datetime.now(UTC)
        with self._database.transaction(exclusive=True) as connection:
            open_before = self.find_open(expert, now) is not None
            connection.execute(_revoke(expert, write_moment(now)))
        return open_before

    def find_link(self, link_id: str) -> AnswerLink | None:
        """Return the link with the given id, or None."""
        query = select_values(AnswerLink, LINK).where(LINK.c.id == link_id)
        return next(iter(self._database.read_values(AnswerLink, query)), None)

    def find_open(self, expert: str, now: datetime) -> AnswerLink | None:
        """Return the expert's link that is valid at the time `now`, or None."""
        query = select_values(AnswerLink, LINK).where(LINK.c.expert == expert, LINK.c.revoked == "")
        return next((link for link in self._database.read_values(AnswerLink, query) if link.opens(now)), None)

    def read_links(self) -> list[AnswerLink]:
        """Return all links, sorted by expert and time of creation."""
        return self._database.read_table(AnswerLink, LINK, LINK.c.expert, LINK.c.created, LINK.c.id)

    def find_link_ids(self, expert: str) -> list[str]:
        """Return the ids of an expert's links, including revoked and expired ones, oldest first."""
        query = sa.select(LINK.c.id).where(LINK.c.expert == expert).order_by(LINK.c.created, LINK.c.id)
        return [row.id for row in self._database.read_rows(query)]

    def note_seen(self, link_id: str) -> None:
        """Record that a link was used now; does nothing if the database is busy."""
        now = write_moment(datetime.now(UTC))
        with suppress(StoreError), self._database.unless_busy() as connection:
            connection.execute(sa.update(LINK).where(LINK.c.id == link_id).values(seen=now))


def _revoke(expert: str, now: str) -> sa.Update:
    return sa.update(LINK).where(LINK.c.expert == expert, LINK.c.revoked == "").values(revoked=now)
