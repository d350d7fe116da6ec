"""SQL of programs' calls that several processes make: claimed by the call's own key before they leave.

Two programs may make the same call, as those that begin alike do. Whoever claims it first pays; all others
wait, and find it stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from oversight.harness.errors import LeaseLost
from oversight.harness.store.calls import Spent, StoredCall, add_charge
from oversight.harness.store.database import Repository, repeated
from oversight.harness.store.joint.amounts import Amounts
from oversight.harness.store.joint.lost_calls import LOST, group_by_run, sum_used
from oversight.harness.store.joint.workers import extend
from oversight.harness.store.tables import (
    CallClaimRow,
    CallRow,
    SpentRow,
    execute_many,
    insert_into,
    row_of,
    select_values,
    upsert,
)

_CLAIM, _CALL, _SPENT = CallClaimRow.__table__, CallRow.__table__, SpentRow.__table__


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimChange:
    """By how much a claim grows; less where it is negative."""

    key: str
    used: Spent
    usd: float


class CallClaimRepository(Repository):
    """Claims of calls."""

    @repeated(twice=True)
    def take(
        self, work: str, worker: str, lease: float, keys: Sequence[str], *, holds: bool
    ) -> list[StoredCall | bool]:
        """Claim calls: for each what is stored of it, or else whether it is this worker's to make.

        Parameters
        ----------
        holds
            Whether a call that was lost is never made again: it is returned as it is stored.

        Raises
        ------
        LeaseLost
            If the worker was taken for lost.
        """
        wanted = sorted(set(keys))
        none = {"requests": 0, "input_tokens": 0, "output_tokens": 0, "usd": 0.0}
        rows = [{"key": key, "work_id": work, "worker": worker, **none} for key in wanted]
        there = sa.or_(_CALL.c.error == "", _CALL.c.error == LOST) if holds else _CALL.c.error == ""
        query = select_values(StoredCall, _CALL).where(_CALL.c.key.in_(wanted), there)
        mine = sa.select(_CLAIM.c.key).where(_CLAIM.c.key.in_(wanted), _CLAIM.c.worker == worker)
        with self._database.transaction() as connection:
            extend(connection, worker, lease)
            connection.execute(insert_into(_CLAIM, connection.dialect).values(rows).on_conflict_do_nothing())
            found = {row.key: StoredCall(*row) for row in connection.execute(query)}
            _release(connection, worker, list(found))
            claimed = set(connection.execute(mine).scalars())
        return [found.get(key, key in claimed) for key in keys]

    @repeated(twice=False)
    def change(self, worker: str, lease: float, changes: Sequence[ClaimChange]) -> None:
        """Note what calls may use before they leave, and what they used once they are over.

        Raises
        ------
        LeaseLost
            If the worker was taken for lost: the calls must not leave.
        """
        names = ("requests", "input_tokens", "output_tokens")
        more = {name: _CLAIM.c[name] + sa.bindparam(f"more_{name}") for name in (*names, "usd")}
        same = (_CLAIM.c.key == sa.bindparam("claimed"), _CLAIM.c.worker == worker)
        rows = [
            {"claimed": c.key, "more_usd": c.usd} | {f"more_{name}": getattr(c.used, name) for name in names}
            for c in sorted(changes, key=lambda change: change.key)
        ]
        with self._database.transaction() as connection:
            extend(connection, worker, lease)
            execute_many(connection, sa.update(_CLAIM).where(*same).values(more), rows)

    @repeated(twice=True)
    def release(self, worker: str, keys: Sequence[str]) -> None:
        """Give up claims of calls that never left."""
        with self._database.transaction() as connection:
            _release(connection, worker, keys)

    @repeated(twice=True)
    def store(self, worker: str, lease: float, calls: Sequence[StoredCall], spent: Amounts) -> int:
        """Store calls and end their claims; return how many came late.

        A late call, of a worker that was taken for lost, is kept under a key of its own, where nothing finds
        it: it was paid for, and another may have been made in its place.
        """
        by_key = {call.key: call for call in calls}
        mine = (_CLAIM.c.key.in_(sorted(by_key)), _CLAIM.c.worker == worker)
        with self._database.transaction() as connection:
            try:
                extend(connection, worker, lease, **spent.columns("spent"))
            except LeaseLost:
                late = [replace(c, key=f"{c.key}/{worker}", error=c.error or "late") for c in by_key.values()]
                upsert(connection, _CALL, [row_of(call) for call in late])
                return len(late)
            claims = connection.execute(sa.delete(_CLAIM).where(*mine).returning(_CLAIM)).all()
            upsert(connection, _CALL, [row_of(by_key[key]) for key in sorted(by_key)])
            for run, rows in group_by_run(connection, claims).items():
                add_charge(connection, _SPENT, run, sum_used(rows))
        return 0


def _release(connection: sa.Connection, worker: str, keys: Sequence[str]) -> None:
    if keys:
        mine = (_CLAIM.c.key.in_(sorted(keys)), _CLAIM.c.worker == worker)
        connection.execute(sa.delete(_CLAIM).where(*mine))
