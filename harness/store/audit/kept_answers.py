"""SQL of the answers that are stored, each beside the last event that tells of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa

from oversight.harness.store.database import Repository
from oversight.harness.store.tables import (
    AnswerRow,
    AssignmentRow,
    AuditEventRow,
    ControlAnswerRow,
    ControlQuestionRow,
    QuestionRow,
    RatingRow,
)

_EVENT = AuditEventRow.__table__.c
_TABLES: dict[str, tuple[sa.Table, str, str, sa.Table]] = {
    "answer": (AnswerRow.__table__, "question_id", "verdict", QuestionRow.__table__),
    "control_answer": (ControlAnswerRow.__table__, "question_id", "verdict", ControlQuestionRow.__table__),
    "rating": (RatingRow.__table__, "assignment_id", "label", AssignmentRow.__table__),
}
REPLY_TABLES = tuple(_TABLES)
"""Tables of answers: to questions, to control questions, and of a panel."""


class KeptAnswer(NamedTuple):
    """An answer as it is stored; what was asked; and the last event that tells of it, None if none does.

    Attributes
    ----------
    position, asked_id, person, value, source, comment
        As they are stored.
    item_id, option
        What was asked; None where the question is not stored, and the option of a panel's.
    event, kind, said, by, way
        Place, kind, value, person and way of the last event about it alone.
    told, salt, comment_digest
        The event's comment.
    """

    position: int
    asked_id: str
    person: str
    value: str
    source: str
    comment: str
    item_id: str | None
    option: int | None
    event: int | None
    kind: str | None
    said: str | None
    by: str | None
    way: str | None
    told: str | None
    salt: str | None
    comment_digest: str | None


class KeptAnswerRepository(Repository):
    """Stored answers and the events about them."""

    def read_answers(self, table: str) -> Iterator[KeptAnswer]:
        """All answers of a table, in order of arrival, a portion at a time."""
        replies, name, value, asked = _TABLES[table]
        r, last, told = replies.c, _find_last(), AuditEventRow.__table__.alias()
        e = told.c
        option = sa.null() if table == "rating" else asked.c.option
        query = (
            sa.select(
                r.position, r[name], r.expert, r[value], r.source, r.comment, asked.c.item_id, option,
                e.position, e.kind, e.value, e.person, e.way, e.comment, e.salt, e.comment_digest,
            )
            .select_from(replies)
            .outerjoin(asked, asked.c.id == r[name])
            .outerjoin(last, last.c.asked_id == r[name])
            .outerjoin(told, e.position == last.c.at)
            .order_by(r.position, r[name])
        )  # fmt: skip
        for portion in self._database.read_portions(query):
            yield from map(KeptAnswer._make, zip(*portion, strict=True))

    def find_missing(self) -> Iterator[tuple[str, int]]:
        """Questions whose last event says that they were answered, and that have none; that event's place."""
        last, told = _find_last(), AuditEventRow.__table__.alias()
        query = sa.select(last.c.asked_id, last.c.at).join(told, told.c.position == last.c.at)
        query = query.where(told.c.kind == "answer")
        for replies, name, _, _ in _TABLES.values():
            query = query.where(~sa.exists().where(replies.c[name] == last.c.asked_id))
        for names, places in self._database.read_portions(query.order_by(last.c.at)):
            yield from zip(names, places, strict=True)


def _find_last() -> sa.Subquery[Any]:
    """The place of the last event about each question alone."""
    of_answers = _EVENT.kind.in_(("answer", "withdrawn"))
    query = sa.select(_EVENT.asked_id, sa.func.max(_EVENT.position).label("at")).where(of_answers)
    return query.group_by(_EVENT.asked_id).subquery()
