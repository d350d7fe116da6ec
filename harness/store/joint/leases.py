"""SQL of leases: which items of a run a worker asks about, so that no two ask about the same."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa

from oversight.harness.store.database import Repository, repeated
from oversight.harness.store.joint.workers import extend
from oversight.harness.store.tables import JointPartRow, LeaseRow, WorkerRow, count_rows, select_values

_LEASE, _PART, _WORKER = LeaseRow.__table__, JointPartRow.__table__, WorkerRow.__table__
_SHARES, _FEWEST = 16, 8
"""A lease is such a share of the items that nobody had yet, and so many at least."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The items of a run from `start` to before `stop`, of those that the joint run is about.

    `taken_over` says that another worker had it before, whose answers are there or were given up.
    """

    start: int
    stop: int
    taken_over: bool


class LeaseRepository(Repository):
    """Leases of items."""

    @repeated(twice=True)
    def take(self, worker: str, run_id: str, most: int, known: Collection[int], lease: float) -> Lease | None:
        """Give a worker the first items that nobody asks about; None if there are none.

        Parameters
        ----------
        most
            Of those that nobody had yet; fewer towards the end, so that all workers end together. What
            another worker left is given whole.
        known
            Where the leases start that the worker has of this run: one that it does not know of was given
            to it when the connection was lost.
        lease
            Seconds for which the worker need not show itself again.

        Raises
        ------
        LeaseLost
            If the worker was taken for lost.
        """
        mine = select_values(Lease, _LEASE).where(_LEASE.c.run_id == run_id)
        with self._database.transaction() as connection:
            extend(connection, worker, lease)
            part = sa.select(_PART.c["items"], _PART.c.next).where(
                _PART.c.run_id == run_id,
                _PART.c.joint_id
                == sa.select(_WORKER.c.joint_id).where(_WORKER.c.id == worker).scalar_subquery(),
            )
            found = connection.execute(part.with_for_update()).one_or_none()
            if found is None:  # it is at its end, or another joint run is about it now
                return None
            unknown = mine.where(_LEASE.c.worker == worker, _LEASE.c.start.not_in(known)).limit(1)
            if row := connection.execute(unknown).one_or_none():
                return Lease(*row)
            left = mine.where(_LEASE.c.worker == "").order_by(_LEASE.c.start).limit(1)
            if row := connection.execute(left.with_for_update(skip_locked=True)).one_or_none():
                same = (_LEASE.c.run_id == run_id, _LEASE.c.start == row.start)
                connection.execute(sa.update(_LEASE).where(*same).values(worker=worker))
                return Lease(*row)
            if found[1] >= found[0]:
                return None
            left = found[0] - found[1]
            number = min(left, most, max(_FEWEST, left // _SHARES))
            start, stop = found[1], found[1] + number
            connection.execute(sa.update(_PART).where(_PART.c.run_id == run_id).values(next=stop))
            row_of_lease = {"run_id": run_id, "start": start, "stop": stop}
            insert = sa.insert(_LEASE).values(**row_of_lease, worker=worker, taken_over=False)
            connection.execute(insert)
            return Lease(start, stop, taken_over=False)

    @repeated(twice=True)
    def end(self, worker: str, ended: Collection[tuple[str, int]]) -> None:
        """End leases of a worker, by run and start, of which all items were answered before."""
        with self._database.transaction() as connection:
            end_leases(connection, worker, ended)

    @repeated(twice=True)
    def end_runs(self, joint_id: str) -> int:
        """End the parts of a joint run of which all items are answered; return how many are left."""
        over = sa.and_(
            _PART.c.next >= _PART.c["items"],
            ~sa.exists().where(_LEASE.c.run_id == _PART.c.run_id),
        )
        mine = _PART.c.joint_id == joint_id
        with self._database.transaction() as connection:
            connection.execute(sa.delete(_PART).where(mine, over))
            return count_rows(connection, _PART, mine)

    def has_free(self, run_ids: Collection[str]) -> bool:
        """Whether there are items of these runs that nobody asks about."""
        left = sa.select(_LEASE.c.run_id).where(_LEASE.c.worker == "", _LEASE.c.run_id.in_(run_ids)).limit(1)
        unseen = sa.select(_PART.c.run_id).where(_PART.c.next < _PART.c["items"], _PART.c.run_id.in_(run_ids))
        return bool(self._database.read_rows(left) or self._database.read_rows(unseen.limit(1)))


def end_leases(connection: sa.Connection, worker: str, ended: Collection[tuple[str, int]]) -> None:
    """End leases of a worker, by run and start, of which all items are answered."""
    for run_id, start in ended:
        same = (_LEASE.c.run_id == run_id, _LEASE.c.start == start, _LEASE.c.worker == worker)
        connection.execute(sa.delete(_LEASE).where(*same))
