"""SQL of questions that somebody else answers than the expert they were put to.

The question itself stays as it was drawn, with its propensity; only who is to answer it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from oversight.harness.store.audit.audit_trail import AuditEvent, append_events
from oversight.harness.store.database import Repository
from oversight.harness.store.tables import (
    HandoverRow,
    LabelTaskRow,
    execute_many,
    row_of,
    select_values,
    upsert,
)

_HANDOVER, _TASK = HandoverRow.__table__, LabelTaskRow.__table__


@dataclass(frozen=True, slots=True)
class Handover:
    """Who was asked, who is to answer instead, and where the question lay in the giver's queue, if it did."""

    asked_id: str
    giver: str
    taker: str
    place: int | None = None


class HandoverRepository(Repository):
    """Questions that were handed over."""

    def read_handovers(self) -> dict[str, Handover]:
        """Question → handover; of one that was handed on, from the expert it was put to to the last."""
        query = select_values(Handover, _HANDOVER).order_by(_HANDOVER.c.asked_id)
        return {found.asked_id: found for found in self._database.read_values(Handover, query)}

    def hand_over(self, given: Sequence[tuple[str, str, str]], reason: str) -> None:
        """Hand questions over, all or none; they leave the queue that they lie in on a server.

        Parameters
        ----------
        given
            Question, whom it was put to, and who is to answer it from now on.
        reason
            Why, for the audit trail.
        """
        known, created = self.read_handovers(), datetime.now(UTC).isoformat(timespec="seconds")
        with self._database.transaction(exclusive=True) as connection:
            ids = [asked_id for asked_id, _, _ in given]
            of_these = self._database.among(_TASK.c.question_id, ids)
            query = sa.select(_TASK.c.question_id, _TASK.c.place).where(of_these)
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
            upsert(connection, _HANDOVER, [{**row_of(row), "created": created} for row in rows])
            gone = sa.delete(_TASK).where(_TASK.c.question_id == sa.bindparam("q"))
            execute_many(connection, gone, [{"q": asked_id} for asked_id in ids])
            append_events(connection, events)
