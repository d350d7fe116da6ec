"""SQL of programs that several processes run: one leads, and gives out portions of items; all run them.

The leader alone decides what is run, and takes in what was found. A portion of a worker that is lost is
anybody's; what that worker finds all the same goes nowhere, but for its calls, which are paid for.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from oversight.harness.errors import RunHeld
from oversight.harness.store.database import repeated
from oversight.harness.store.joint.amounts import Amounts
from oversight.harness.store.joint.joint_runs import JointRun, JointSpec
from oversight.harness.store.joint.workers import WorkerRepository, extend, lock_workers, retire
from oversight.harness.store.tables import JointRunRow, ProgramPortionRow, ProgramWorkRow

_JOINT, _WORK, _PORTION = JointRunRow.__table__, ProgramWorkRow.__table__, ProgramPortionRow.__table__


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramWork:
    """What programs are run for: its id, that of a search or a run, what its workers agree on, who leads."""

    id: str
    joint: JointRun
    leader: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramPortion:
    """Some items for a program; `task` says which, as `oversight.agents.runtime` writes and reads it."""

    id: str
    task: Mapping[str, Any]


class ProgramWorkRepository(WorkerRepository):
    """Works and their portions."""

    def open(self, work: str, spec: JointSpec, taken: Amounts) -> ProgramWork:
        """Open a work that this process leads; what a leader that is gone has left of it is settled before.

        Raises
        ------
        RunHeld
            If another process leads it.
        """
        self._database.limit_standstill()
        with self._database.together(exclusive=True):
            self._refuse_led(work)
            joint = JointRun(id=uuid.uuid4().hex, spec=spec)
            created = datetime.now(UTC).isoformat()
            row = {"id": joint.id, "created": created, "spec": asdict(spec), **taken.columns("taken")}
            with self._database.transaction() as connection:
                connection.execute(sa.insert(_JOINT).values(row))
                connection.execute(sa.insert(_WORK).values(id=work, joint_id=joint.id, leader=""))
            leader = self.enter(joint.id, spec.lease) or ""
            with self._database.transaction() as connection:
                connection.execute(sa.update(_WORK).where(_WORK.c.id == work).values(leader=leader))
        return ProgramWork(id=work, joint=joint, leader=leader)

    def _refuse_led(self, work: str) -> None:
        """Settle what a leader that is gone has left of a work.

        Raises
        ------
        RunHeld
            If its leader lives.
        """
        for found in self.find_works():
            if found.id == work:
                if alive := [w for w in self.find_alive(found.joint.id) if w.id == found.leader]:
                    raise RunHeld(f"{alive[0]} leads this already; help it with: oversight worker --join URL")
                self._close(found)

    def find_works(self) -> list[ProgramWork]:
        """All works that are open, the oldest first."""
        query = sa.select(_WORK.c.id, _WORK.c.leader, _JOINT.c.id, _JOINT.c.spec)
        query = query.join(_JOINT, _JOINT.c.id == _WORK.c.joint_id).order_by(_JOINT.c.created, _JOINT.c.id)
        return [
            ProgramWork(id=work, joint=JointRun(id=joint, spec=JointSpec(**spec)), leader=leader)
            for work, leader, joint, spec in self._database.read_tuples(query)
        ]

    def _close(self, work: ProgramWork) -> None:
        """End a work without a leader, and settle what its workers left behind."""
        with self._database.together(), self._database.transaction() as connection:
            lock_workers(connection, work.joint.id)
            for worker in self.find_workers(work.joint.id):
                retire(connection, worker.id, "lost")
            _end(connection, work.id)

    @repeated(twice=True)
    def end(self, work: ProgramWork) -> None:
        """End a work: portions that were not taken in go, and its workers leave when they notice."""
        with self._database.transaction() as connection:
            _end(connection, work.id)

    def is_led(self, work: ProgramWork) -> bool:
        """Whether a work is open, and its leader was not taken for lost."""
        is_open = sa.select(_WORK.c.joint_id).where(_WORK.c.id == work.id, _WORK.c.leader == work.leader)
        if not self._database.read_rows(is_open):
            return False
        return any(w.id == work.leader and not w.ended for w in self.find_workers(work.joint.id))

    def give_out(self, work: str, tasks: Sequence[Mapping[str, Any]], first: int) -> list[str]:
        """Add portions, numbered from `first` on; return their ids."""
        rows: list[dict[str, Any]] = [
            {"id": uuid.uuid4().hex, "work_id": work, "position": first + j, "task": dict(task), "worker": ""}
            for j, task in enumerate(tasks)
        ]

        def write() -> None:
            with self._database.transaction() as connection:
                is_there = sa.select(_PORTION.c.id).where(_PORTION.c.id.in_([row["id"] for row in rows[:1]]))
                if rows and connection.execute(is_there).one_or_none() is None:
                    connection.execute(sa.insert(_PORTION), rows)

        self.repeat(write, twice=True)
        return [row["id"] for row in rows]

    @repeated(twice=False)
    def take(self, work: str, worker: str, lease: float, most: int) -> list[ProgramPortion]:
        """Give a worker the first portions that nobody has.

        Raises
        ------
        LeaseLost
            If the worker was taken for lost.
        """
        free = (_PORTION.c.work_id == work, _PORTION.c.worker == "")
        query = sa.select(_PORTION.c.id, _PORTION.c.task).where(*free).order_by(_PORTION.c.position)
        with self._database.transaction() as connection:
            extend(connection, worker, lease)
            rows = connection.execute(query.limit(most).with_for_update(skip_locked=True)).all()
            if rows:
                taken = sa.update(_PORTION).where(_PORTION.c.id.in_([row.id for row in rows]))
                connection.execute(taken.values(worker=worker))
        return [ProgramPortion(id=row.id, task=row.task) for row in rows]

    @repeated(twice=True)
    def put_back(self, worker: str, portion: str, found: Mapping[str, Any] | None) -> bool:
        """Say what was found for a portion, or give it back with None; False if it is another's by now."""
        mine = (_PORTION.c.id == portion, _PORTION.c.worker == worker)
        values: dict[str, Any] = {"worker": ""} if found is None else {"found": dict(found)}
        with self._database.transaction() as connection:
            return bool(connection.execute(sa.update(_PORTION).where(*mine).values(values)).rowcount)

    @repeated(twice=False)
    def take_in(self, work: str) -> dict[str, Mapping[str, Any]]:
        """What was found since, by portion; these are gone then."""
        done = (_PORTION.c.work_id == work, _PORTION.c.found.is_not(None))
        with self._database.transaction() as connection:
            gone = sa.delete(_PORTION).where(*done).returning(_PORTION.c.id, _PORTION.c.found)
            return {row.id: row.found for row in connection.execute(gone)}


def _end(connection: sa.Connection, work: str) -> None:
    connection.execute(sa.delete(_PORTION).where(_PORTION.c.work_id == work))
    connection.execute(sa.delete(_WORK).where(_WORK.c.id == work))
