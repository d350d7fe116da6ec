"""SQL of what workers may spend: portions of a joint run's budget, which they ask for and give back."""

from __future__ import annotations

import math
from typing import Any

import sqlalchemy as sa

from oversight.harness.errors import LeaseLost
from oversight.harness.store.database import Repository, repeated
from oversight.harness.store.joint.amounts import Amounts
from oversight.harness.store.tables import JointRunRow, WorkerRow

_JOINT, _WORKER = JointRunRow.__table__, WorkerRow.__table__


class GrantRepository(Repository):
    """Grants to workers: what all of them have together with what was spent passes no limit."""

    @repeated(twice=True)
    def extend_grant(self, worker: str, granted: Amounts, need: Amounts, calls: int) -> Amounts:
        """Let a worker spend what so many calls need more, or as many as there is room for.

        Parameters
        ----------
        granted
            What it may spend now in all; where the database says otherwise, that is what was granted last.

        Returns
        -------
        Amounts
            What it may spend in all; the same as before if there is no room for one call.

        Raises
        ------
        LeaseLost
            If it was taken for lost.
        """
        with self._database.transaction() as connection:
            now, joint = self._lock(connection, worker)
            if now != granted:
                return now
            taken = Amounts.read(joint, "taken")
            caps = (joint.spec[name] for name in ("usd", "tokens", "requests"))
            rooms = (
                math.floor((cap - used) / each)
                for cap, used, each in zip(caps, taken, need, strict=True)
                if cap is not None and each > 0
            )
            more = need.times(max(0, min(calls, *rooms, calls)))
            self._change(connection, worker, granted + more)
            self._take(connection, joint.id, taken + more)
            return granted + more

    @repeated(twice=True)
    def give_back(self, worker: str, granted: Amounts, kept: Amounts, spent: Amounts) -> Amounts:
        """Leave a worker what it keeps of what it was granted; return what it may spend in all.

        Raises
        ------
        LeaseLost
            If it was taken for lost.
        """
        with self._database.transaction() as connection:
            now, joint = self._lock(connection, worker)
            if now != granted:
                return now
            self._change(connection, worker, kept, spent)
            self._take(connection, joint.id, Amounts.read(joint, "taken") - (granted - kept))
            return kept

    def others_may_spend(self, joint_id: str, worker: str) -> bool:
        """Whether another worker has something granted that it has not spent, and may yet give back."""
        t = _WORKER.c
        others = (t.joint_id == joint_id, t.id != worker, t.ended == "")
        names = ("usd", "tokens", "requests")
        unspent = sa.or_(*(t[f"granted_{name}"] > t[f"spent_{name}"] for name in names))
        return bool(self._database.read_rows(sa.select(t.id).where(*others, unspent).limit(1)))

    @staticmethod
    def _lock(connection: sa.Connection, worker: str) -> tuple[Amounts, sa.Row[Any]]:
        """What a worker is granted, and its joint run: the rows of both are locked, in this order."""
        mine = sa.select(_WORKER).where(_WORKER.c.id == worker, _WORKER.c.ended == "").with_for_update()
        row = connection.execute(mine).one_or_none()
        if row is None:
            raise LeaseLost("this process was taken for lost, and what it was granted is free again")
        shared = sa.select(_JOINT).where(_JOINT.c.id == row.joint_id).with_for_update()
        return Amounts.read(row, "granted"), connection.execute(shared).one()

    @staticmethod
    def _change(
        connection: sa.Connection, worker: str, granted: Amounts, spent: Amounts | None = None
    ) -> None:
        values = granted.columns("granted") | ({} if spent is None else spent.columns("spent"))
        connection.execute(sa.update(_WORKER).where(_WORKER.c.id == worker).values(values))

    @staticmethod
    def _take(connection: sa.Connection, joint_id: str, taken: Amounts) -> None:
        connection.execute(sa.update(_JOINT).where(_JOINT.c.id == joint_id).values(taken.columns("taken")))
