"""SQL of workers: processes on a joint run, which show themselves while they live and are retired when not.

Whoever retires a worker settles all that it left behind in one transaction: calls under way are charged with
all they may have used, its leases are anybody's, and what it was granted and did not spend is free again. A
worker that others retired hears of it when it next claims or stores something; its answers then are late.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import sqlalchemy as sa

from oversight.harness.errors import LeaseLost
from oversight.harness.store.calls import NOW, identify_process, is_held, settle_lost
from oversight.harness.store.database import Repository, repeated
from oversight.harness.store.joint.amounts import Amounts
from oversight.harness.store.joint.lost_calls import settle_calls
from oversight.harness.store.tables import (
    JointPartRow,
    JointRunRow,
    LeaseRow,
    ProgramPortionRow,
    ProgramWorkRow,
    ReservationRow,
    WorkerRow,
    select_values,
)

_JOINT, _PART, _WORKER = JointRunRow.__table__, JointPartRow.__table__, WorkerRow.__table__
_LEASE, _CLAIM = LeaseRow.__table__, ReservationRow.__table__
_WORK, _PORTION = ProgramWorkRow.__table__, ProgramPortionRow.__table__

Ended: TypeAlias = Literal["left", "lost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A process that works on a joint run, or did; columns of `oversight.harness.store.tables.WorkerRow`."""

    id: str
    host: str
    machine: str
    pid: int
    started: str
    expires: float
    ended: str
    answers: int
    calls_lost: int

    def __str__(self) -> str:
        """Process and host."""
        return f"process {self.pid} on {self.host}"


class WorkerRepository(Repository):
    """Workers of joint runs."""

    def enter(self, joint_id: str, lease: float) -> str | None:
        """Begin to work on a joint run; return the id by which the others know this process.

        None if the joint run is at its end, or was closed.
        """
        self._database.limit_standstill()
        name = uuid.uuid4().hex
        parts = sa.select(_PART.c.run_id).where(_PART.c.joint_id == joint_id)
        works = sa.select(_WORK.c.id).where(_WORK.c.joint_id == joint_id)

        def write() -> bool:
            none = Amounts()
            row = {
                **identify_process(),
                "id": name,
                "joint_id": joint_id,
                "since": NOW,
                "expires": NOW + lease,
                "ended": "",
                "writes": 0,
                "answers": 0,
                "calls_lost": 0,
                **none.columns("granted"),
                **none.columns("spent"),
            }
            with self._database.transaction() as connection:
                # whoever closes it takes these rows away, and waits until this is over
                locked = (connection.execute(q.with_for_update(read=True)).all() for q in (parts, works))
                if not any(locked):
                    return False
                known = sa.select(_WORKER.c.id).where(_WORKER.c.id == name)
                if connection.execute(known).one_or_none() is None:
                    connection.execute(sa.insert(_WORKER).values(row))
            return True

        return name if self.repeat(write, twice=True) else None

    @repeated(twice=True)
    def show(self, worker: str, lease: float) -> None:
        """Say that a worker lives.

        Raises
        ------
        LeaseLost
            If it was taken for lost.
        """
        with self._database.transaction() as connection:
            extend(connection, worker, lease)

    @repeated(twice=True)
    def leave(self, worker: str) -> None:
        """Settle what a worker leaves behind; nothing if others did."""
        with self._database.transaction() as connection:
            retire(connection, worker, "left")

    @repeated(twice=True)
    def retire_lost(self, joint_id: str) -> list[Worker]:
        """Settle what the workers left behind that did not show themselves; return them as they are now."""
        lost = [w.id for w in self.find_workers(joint_id) if not w.ended and not self._is_alive(w)]
        gone = set[str]()
        for name in lost:  # each by itself: a worker locks its own row first, and then the joint run's
            with self._database.transaction() as connection:
                if retire(connection, name, "lost"):
                    gone.add(name)
        return [w for w in self.find_workers(joint_id) if w.id in gone]

    def find_workers(self, joint_id: str) -> list[Worker]:
        """All workers that a joint run has or had, in the order in which they came."""
        query = select_values(Worker, _WORKER).where(_WORKER.c.joint_id == joint_id)
        return self._database.read_values(Worker, query.order_by(_WORKER.c.since, _WORKER.c.id))

    def find_alive(self, joint_id: str) -> list[Worker]:
        """The workers of a joint run that live, as far as can be told."""
        return [w for w in self.find_workers(joint_id) if not w.ended and self._is_alive(w)]

    def _is_alive(self, worker: Worker) -> bool:
        return is_held(worker, float(self._database.read_rows(sa.select(NOW))[0][0]))


def extend(connection: sa.Connection, worker: str, lease: float, **others: Any) -> None:
    """Begin a worker's lease anew, which locks its row, so that nobody retires it within the transaction.

    Raises
    ------
    LeaseLost
        If it was taken for lost.
    """
    same = sa.update(_WORKER).where(_WORKER.c.id == worker, _WORKER.c.ended == "")
    if not connection.execute(same.values(expires=NOW + lease, **others)).rowcount:
        raise LeaseLost(
            "this process did not show itself for so long that others took over what it had under way"
        )


def lock_workers(connection: sa.Connection, joint_id: str) -> None:
    """Lock the rows of a joint run's workers, before any that they share."""
    mine = sa.select(_WORKER.c.id).where(_WORKER.c.joint_id == joint_id)
    connection.execute(mine.order_by(_WORKER.c.id).with_for_update()).all()


def retire(connection: sa.Connection, worker: str, how: Ended) -> bool:
    """Settle what a worker leaves behind; False if that was done before."""
    mine = sa.update(_WORKER).where(_WORKER.c.id == worker, _WORKER.c.ended == "")
    row = connection.execute(mine.values(ended=how).returning(*_WORKER.c)).one_or_none()
    if row is None:
        return False
    joint = connection.execute(sa.select(_JOINT.c.spec).where(_JOINT.c.id == row.joint_id)).scalar_one()
    charges = settle_lost(connection, _CLAIM.c.worker == worker, joint["uncertain"])
    kept = Amounts.read(row, "spent")
    for run, c in charges.items():
        price = joint["runs"][run]["price"]
        kept += Amounts.of_tokens(price, c.input_tokens, c.output_tokens, c.requests)
    calls, used = settle_calls(connection, worker, joint["uncertain"])
    kept += used
    free = Amounts.read(row, "granted") - kept
    taken = {name: _JOINT.c[name] - value for name, value in free.columns("taken").items()}
    connection.execute(sa.update(_JOINT).where(_JOINT.c.id == row.joint_id).values(taken))
    lost = sum(charge.answers for charge in charges.values()) + calls if how == "lost" else 0
    connection.execute(sa.update(_WORKER).where(_WORKER.c.id == worker).values(calls_lost=lost))
    freed = sa.update(_LEASE).where(_LEASE.c.worker == worker)
    connection.execute(freed.values(worker="", taken_over=True))
    left = (_PORTION.c.worker == worker, _PORTION.c.found.is_(None))
    connection.execute(sa.update(_PORTION).where(*left).values(worker=""))
    return True
