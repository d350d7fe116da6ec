"""SQL of experts who are away."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

import sqlalchemy as sa

from oversight.harness.store.audit.audit_trail import AuditEvent, append_events
from oversight.harness.store.database import Repository
from oversight.harness.store.tables import AbsenceRow, row_of, upsert

_ABSENCE = AbsenceRow.__table__


@dataclass(frozen=True, slots=True)
class Absence:
    """An expert who is away since a day; until the end of another, both in ISO 8601, or for good (empty)."""

    expert: str
    since: str
    until: str = ""
    reason: str = ""

    @property
    def is_for_good(self) -> bool:
        """Whether no return is expected."""
        return not self.until

    def holds(self, day: date) -> bool:
        """Whether the expert is away on a day."""
        return not self.until or day.isoformat() <= self.until


class AbsenceRepository(Repository):
    """Who is away."""

    def read_absences(self, day: date | None = None) -> dict[str, Absence]:
        """Expert → absence that holds on a day, today if None."""
        day = day or datetime.now(UTC).date()
        found = self._database.read_table(Absence, _ABSENCE, _ABSENCE.c.expert)
        return {absence.expert: absence for absence in found if absence.holds(day)}

    def add_absence(self, absence: Absence) -> None:
        """Note that an expert is away, in place of what was noted before."""
        told = {"since": absence.since, "until": absence.until}
        with self._database.transaction(exclusive=True) as connection:
            upsert(connection, _ABSENCE, [row_of(absence)])
            event = AuditEvent(
                kind="absent", way="command", person=absence.expert, comment=absence.reason, detail=told
            )
            append_events(connection, [event])

    def end_absence(self, expert: str) -> bool:
        """Note that an expert is back; whether they were away."""
        with self._database.transaction(exclusive=True) as connection:
            gone = connection.execute(sa.delete(_ABSENCE).where(_ABSENCE.c.expert == expert))
            if gone.rowcount:
                append_events(connection, [AuditEvent(kind="returned", way="command", person=expert)])
            return bool(gone.rowcount)
