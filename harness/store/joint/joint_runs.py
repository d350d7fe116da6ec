"""SQL of joint runs: what several processes ask together, opened once and joined by all others.

A joint run has a part for every run in it; a part goes when all its items are answered. While a worker lives
on it, others join it, and a command that wants the same runs in another way is refused. Once none does, what
is left of it is anybody's: the next command closes it and opens its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from oversight.harness.errors import RunHeld
from oversight.harness.store.calls import Uncertain
from oversight.harness.store.joint.amounts import Amounts
from oversight.harness.store.joint.workers import WorkerRepository, lock_workers, retire
from oversight.harness.store.tables import ItemRow, JointPartRow, JointRunRow, LeaseRow, execute_many

_ITEM, _LEASE = ItemRow.__table__, LeaseRow.__table__
_JOINT, _PART = JointRunRow.__table__, JointPartRow.__table__


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSpec:
    """All that the workers on a joint run agree on.

    Attributes
    ----------
    runs
        By a run's id its name, settings and price, as `oversight.harness.llm` writes and reads them.
    items
        Places of the items among all that are stored, as first and last of stretches, in the order asked.
    retry_failed
        Whether failed answers are asked for again.
    sample
        Of what the items are a random part, if they are.
    usd, tokens, requests
        Hard limits of all runs together.
    patience
        Seconds for which an endpoint that answers nothing is waited for.
    lease
        Seconds after which a worker that has not shown itself is lost.
    uncertain
        What becomes of answers under way on a lost worker.
    """

    runs: Mapping[str, Any]
    items: list[list[int]]
    retry_failed: bool
    sample: Mapping[str, Any] | None
    usd: float | None
    tokens: int | None
    requests: int | None
    patience: float
    lease: float
    uncertain: Uncertain

    def count_items(self) -> int:
        """Items that every run is about."""
        return sum(last - first + 1 for first, last in self.items)

    def find_differences(self, other: JointSpec) -> list[str]:
        """Names of what keeps a process that wants this from working on the other.

        It may want some of the runs; how it reaches their models is its own affair.
        """
        same = all(
            run in other.runs and wanted["price"] == other.runs[run]["price"]
            for run, wanted in self.runs.items()
        )
        terms = (f.name for f in fields(self) if f.name != "runs")
        return ([] if same else ["models or prices"]) + [
            name for name in terms if getattr(self, name) != getattr(other, name)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRun:
    """A joint run that is open: its id, and what its workers agree on."""

    id: str
    spec: JointSpec


class JointRunRepository(WorkerRepository):
    """Joint runs and their workers."""

    def open(
        self, spec: JointSpec, locked: Mapping[str, str], taken: Callable[[], Amounts]
    ) -> tuple[JointRun, str]:
        """Open a joint run, or join the one that is open for the same; return it, and this process's worker.

        Parameters
        ----------
        locked
            By a run's id the one by which its lock goes, which this process holds.
        taken
            Tells what all that was asked for has used before, once nothing of it is under way.

        Raises
        ------
        RunHeld
            If others work on one of the runs in another way.
        """
        self._database.limit_standstill()
        with self._database.together(exclusive=True):
            for joint in self.find_open():
                if not spec.runs.keys() & joint.spec.runs.keys():
                    continue
                alive = self.find_alive(joint.id)
                if not alive:
                    self.close(joint.id)
                elif differing := spec.find_differences(joint.spec):
                    raise RunHeld(
                        f"{alive[0]} is working on these runs with other {', '.join(differing)}; give the "
                        "same to work with it, or wait until it has ended"
                    )
                else:
                    return joint, self.enter(joint.id, spec.lease) or ""
            joint = self._open(spec, locked, taken())
            return joint, self.enter(joint.id, spec.lease) or ""

    def close_left(self, runs: Collection[str]) -> None:
        """Close joint runs with one of these on which nobody works any more."""
        with self._database.together(exclusive=True):
            for joint in self.find_open():
                if joint.spec.runs.keys() & set(runs) and not self.find_alive(joint.id):
                    self.close(joint.id)

    def _open(self, spec: JointSpec, locked: Mapping[str, str], taken: Amounts) -> JointRun:
        joint = JointRun(id=uuid.uuid4().hex, spec=spec)
        created = datetime.now(UTC).isoformat()
        row = {"id": joint.id, "created": created, "spec": asdict(spec), **taken.columns("taken")}
        part = {"joint_id": joint.id, "items": spec.count_items(), "next": 0}
        parts = [{**part, "run_id": run, "locked": locked[run]} for run in spec.runs]
        with self._database.transaction() as connection:
            connection.execute(sa.insert(_JOINT).values(row))
            execute_many(connection, sa.insert(_PART), parts)
        return joint

    def find_open(self) -> list[JointRun]:
        """All joint runs that are not at their end, the oldest first."""
        is_open = sa.exists().where(_PART.c.joint_id == _JOINT.c.id)
        query = sa.select(_JOINT.c.id, _JOINT.c.spec).where(is_open).order_by(_JOINT.c.created, _JOINT.c.id)
        return [JointRun(id=name, spec=JointSpec(**spec)) for name, spec in self._database.read_rows(query)]

    def find_unended(self, joint_id: str) -> list[str]:
        """Ids of the runs of a joint run of which not all items are answered."""
        query = sa.select(_PART.c.run_id).where(_PART.c.joint_id == joint_id)
        return [name for (name,) in self._database.read_rows(query)]

    def close(self, joint_id: str) -> None:
        """End a joint run on which nobody works: lost workers are retired, and what is left of it goes."""
        with self._database.together(), self._database.transaction() as connection:
            lock_workers(connection, joint_id)
            for worker in self.find_workers(joint_id):
                retire(connection, worker.id, "lost")
            runs = sa.select(_PART.c.run_id).where(_PART.c.joint_id == joint_id)
            connection.execute(sa.delete(_LEASE).where(_LEASE.c.run_id.in_(runs)))
            connection.execute(sa.delete(_PART).where(_PART.c.joint_id == joint_id))

    def find_places(self, ids: Iterable[str]) -> list[list[int]]:
        """Places of items among all that are stored, as first and last of stretches, in this order."""
        places = {name: place for place, name in self._read_places()}
        stretches: list[list[int]] = []
        for place in (places[name] for name in ids):
            if stretches and place == stretches[-1][1] + 1:
                stretches[-1][1] = place
            else:
                stretches.append([place, place])
        return stretches

    def find_ids(self, stretches: Iterable[list[int]]) -> list[str]:
        """Ids of the items at these places."""
        names = dict(self._read_places())
        return [names[place] for first, last in stretches for place in range(first, last + 1)]

    def _read_places(self) -> list[tuple[int, str]]:
        found: list[Any] = self._database.read_tuples(sa.select(_ITEM.c.position, _ITEM.c.id))
        return found
