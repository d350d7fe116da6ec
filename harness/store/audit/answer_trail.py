"""SQL of what the audit trail tells of answers: when they came, how often they changed, what was refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa

from oversight.harness.store.audit.audit_trail import AuditRecord
from oversight.harness.store.database import Repository
from oversight.harness.store.tables import (
    AssignmentRow,
    AuditEventRow,
    ControlQuestionRow,
    LabelTaskRow,
    QuestionRow,
    select_values,
)

_EVENT = AuditEventRow.__table__
_COUNTED = tuple(row.__table__ for row in (QuestionRow, ControlQuestionRow, AssignmentRow, LabelTaskRow))
PAGE = "page"
"""Source of the replies that experts gave on the page, and way of the events about them."""
REFUSED = "refused"
"""Kind of the events of answers that came and do not count."""


class TrailStep(NamedTuple):
    """An event without what was said."""

    position: int
    kind: str
    way: str
    person: str
    asked_id: str


@dataclass(frozen=True, slots=True)
class AnswerHistory:
    """What a person answered to one question in one way.

    Attributes
    ----------
    person, asked_id
        Who, and what was asked.
    first
        When it was answered first, in ISO 8601 and UTC.
    last
        Place of the last such event in the trail.
    seconds
        For how long it was looked at, all times together; None if nobody told.
    values
        Number of different answers that were given to it, one after the other.
    """

    person: str
    asked_id: str
    first: str
    last: int
    seconds: float | None
    values: int


class AnswerTrailRepository(Repository):
    """What is known of answers by the events about them."""

    def read_histories(self, way: str) -> list[AnswerHistory]:
        """Histories of the answers that came in one way, in the order of their last events."""
        e = _EVENT.c
        last = sa.func.max(e.position)
        query = (
            sa.select(
                e.person,
                e.asked_id,
                sa.func.min(e.at).label("first"),
                last.label("last"),
                sa.func.sum(e.seconds).label("seconds"),
                sa.func.count(sa.distinct(e.value)).label("values"),
            )
            .where(e.way == way, e.kind == "answer", e.asked_id != "")
            .group_by(e.person, e.asked_id)
            .order_by(last)
        )
        return self._database.read_values(AnswerHistory, query)

    def count_refused(self) -> dict[str, int]:
        """Person → number of answers that came and do not count, since there was one from elsewhere."""
        query = sa.select(_EVENT.c.person, sa.func.count()).where(_EVENT.c.kind == REFUSED)
        return dict(self._database.read_tuples(query.group_by(_EVENT.c.person)))

    def find_key(self, key: str) -> AuditRecord | None:
        """The event of a key; None if none is stored."""
        query = select_values(AuditRecord, _EVENT).where(_EVENT.c.key == key)
        return next(iter(self._database.read_values(AuditRecord, query)), None)

    def read_steps(self, since: int) -> list[TrailStep]:
        """The events from a place on, in their order."""
        columns = (_EVENT.c[name] for name in TrailStep._fields)
        query = sa.select(*columns).where(_EVENT.c.position >= since).order_by(_EVENT.c.position)
        return [TrailStep(*row) for row in self._database.read_tuples(query)]

    def read_end(self) -> int:
        """The place of the next event."""
        last = self._database.read_rows(sa.select(sa.func.max(_EVENT.c.position)))[0][0]
        return 0 if last is None else int(last) + 1

    def count_design(self) -> tuple[int, ...]:
        """Numbers that change when questions are drawn, or take their places on a server."""
        counts = (sa.select(sa.func.count()).select_from(table).scalar_subquery() for table in _COUNTED)
        return tuple(self._database.read_rows(sa.select(*counts))[0])
