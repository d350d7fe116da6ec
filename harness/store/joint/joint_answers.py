"""SQL of what workers claim before a call leaves, and store once it is answered."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from oversight.harness.errors import LeaseLost
from oversight.harness.store.calls import ReservedAnswer
from oversight.harness.store.database import Repository, repeated
from oversight.harness.store.joint.amounts import Amounts
from oversight.harness.store.joint.leases import end_leases
from oversight.harness.store.joint.workers import extend
from oversight.harness.store.runs import RunRepository
from oversight.harness.store.tables import (
    LateAnswerRow,
    ReservationRow,
    WorkerRow,
    count_rows,
    row_of,
    upsert,
    upsert_tuples,
)
from oversight.harness.types import Prediction

_CLAIM, _LATE, _WORKER = ReservationRow.__table__, LateAnswerRow.__table__, WorkerRow.__table__
_KEPT = ("option", "status", "reason", "raw", "input_tokens", "output_tokens", "seconds", "attempts")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerWrite:
    """What a worker stores at once.

    Attributes
    ----------
    number
        How many it stored before: what was stored already, and only its end not heard of, is not again.
    rows
        Answers, with the ids of their runs.
    ended
        Leases, by run and start, of which all items are answered with these.
    spent
        What it has spent in all.
    """

    number: int
    rows: Sequence[tuple[str, Prediction]]
    ended: Collection[tuple[str, int]]
    spent: Amounts


class JointAnswerRepository(Repository):
    """Claims and answers of workers."""

    @repeated(twice=True)
    def claim(self, worker: str, lease: float, answers: Sequence[ReservedAnswer]) -> None:
        """Note what calls that are about to leave may use, which shows that the worker lives.

        Raises
        ------
        LeaseLost
            If it was taken for lost: the calls must not leave.
        """
        with self._database.transaction() as connection:
            extend(connection, worker, lease)
            upsert(connection, _CLAIM, [row_of(answer) for answer in answers])

    @repeated(twice=True)
    def store(self, worker: str, lease: float, write: WorkerWrite) -> bool:
        """Store answers and end their claims; False if the worker was taken for lost, so that they are late.

        Late answers are kept apart, as others were asked for them: no estimate counts them.
        """
        with self._database.together():
            with self._database.transaction() as connection:
                mine = _WORKER.c.id == worker
                done = connection.execute(
                    sa.select(_WORKER.c.writes).where(mine).with_for_update()
                ).scalar_one()
                if done > write.number:
                    return True
                try:
                    extend(
                        connection,
                        worker,
                        lease,
                        writes=write.number + 1,
                        answers=_WORKER.c.answers + len(write.rows),
                        **write.spent.columns("spent"),
                    )
                except LeaseLost:
                    _store_late(connection, worker, write.rows)
                    return False
                end_leases(connection, worker, write.ended)
            # in one order, as every run counts its changes in a row, and two workers may store for several
            rows = sorted(write.rows, key=lambda row: (row[0], row[1].item_id, row[1].sample))
            RunRepository(self._database).store_predictions(rows, reserved=True)
        return True

    def count_late(self, run_id: str) -> int:
        """Answers of a run that came when others had been asked for them."""
        with self._database.transaction() as connection:
            return count_rows(connection, _LATE, _LATE.c.run_id == run_id)


def _store_late(connection: sa.Connection, worker: str, rows: Sequence[tuple[str, Prediction]]) -> None:
    names = ("run_id", "item_id", "sample", "worker", *_KEPT)
    late = [(run, p.item_id, p.sample, worker, *(getattr(p, name) for name in _KEPT)) for run, p in rows]
    upsert_tuples(connection, _LATE, names, late)
