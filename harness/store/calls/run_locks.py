"""Locks of runs, as rows: one process at a time works on a run, so that nothing is paid for twice.

A lock is a lease: its holder renews it while it lives, and one that was not renewed is anybody's. Of a
holder on this machine whose process has ended nobody waits for the end of the lease.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import sqlalchemy as sa

from oversight.harness.errors import RunHeld, StoreError
from oversight.harness.machine import host_name, is_gone, machine_id, process_start
from oversight.harness.store.database import Repository, repeated
from oversight.harness.store.tables import JointPartRow, RunLockRow, WorkerRow, row_of, select_values, upsert

LEASE = 60.0
"""Seconds after which a lock that was not renewed is anybody's."""

_RENEWED = LEASE / 4
_LOOK = 0.5
_JOINS = "joins "  # before the owner of a lock
_LOCK, _PART, _WORKER = RunLockRow.__table__, JointPartRow.__table__, WorkerRow.__table__
_WORKED_ON = (
    sa.select(
        _PART.c.locked.label("run_id"),
        _WORKER.c.id.label("owner"),
        *(_WORKER.c[name] for name in ("host", "machine", "pid", "started", "since", "expires")),
    )
    .join(_WORKER, _WORKER.c.joint_id == _PART.c.joint_id)
    .where(_WORKER.c.ended == "")
)
NOW = sa.extract("epoch", sa.func.current_timestamp())
"""Seconds by the clock of the database, as machines' clocks differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLock:
    """Who works on a run; the columns of `oversight.harness.store.tables.RunLockRow`."""

    run_id: str
    owner: str
    host: str
    machine: str
    pid: int
    started: str
    since: float
    expires: float

    def __str__(self) -> str:
        """Host, process and time, for a message."""
        since = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"process {self.pid} on {self.host} has been working on this run since {since}"


class LockRepository(Repository):
    """Locks of runs."""

    @contextmanager
    def hold(
        self,
        runs: Mapping[str, str],
        *,
        wait: bool = False,
        joins: bool = False,
        tell: Callable[[str], None] = lambda _: None,
        hint: str = "wait for it with --wait, or stop it",
    ) -> Iterator[HeldLocks]:
        """Hold the locks of all runs, or of none.

        Parameters
        ----------
        runs
            Names by id.
        wait
            Whether to wait for other holders; `tell` says once for whom.
        joins
            Whether they are held to open a joint run, or to join it: for a moment, beside its workers, and
            others who do the same are waited for.
        hint
            What to do where another process has one, for the message.

        Raises
        ------
        RunHeld
            If another process has one of them, and `wait` is not set.
        """
        held = HeldLocks(self, runs, f"{_JOINS}{uuid.uuid4().hex}" if joins else uuid.uuid4().hex)
        told: str | None = None
        while (other := self.acquire(runs, held.owner)) is not None:
            if joins and other.owner.startswith(_JOINS):
                time.sleep(_LOOK)
                continue
            if not wait:
                raise RunHeld(f"{runs[other.run_id]}: {other}; {hint}")
            if told != other.owner:
                tell(f"waiting for {runs[other.run_id]}: {other}")
                told = other.owner
            time.sleep(_LOOK)
        thread = threading.Thread(target=held.keep, daemon=True)
        thread.start()
        try:
            yield held
        finally:
            held.done.set()
            thread.join()
            with suppress(StoreError):  # the lease ends by itself
                self.release(held.owner)

    def acquire(self, runs: Collection[str], owner: str) -> RunLock | None:
        """Take the locks of all runs, or none and return one that is held."""
        with self._database.transaction(exclusive=True) as connection:
            now = float(connection.execute(sa.select(NOW)).scalar_one())
            held = _find_held(connection, now, workers=not owner.startswith(_JOINS))
            others = [lock for lock in held if lock.run_id in runs]
            if others:
                return others[0]
            mine = {"owner": owner, **identify_process(), "since": now, "expires": now + LEASE}
            locks = (RunLock(run_id=run_id, **mine) for run_id in runs)
            upsert(connection, _LOCK, [row_of(lock) for lock in locks])
        return None

    def find_held(self) -> list[RunLock]:
        """The locks that some process holds, and the runs that workers make together."""
        with self._database.transaction() as connection:
            now = float(connection.execute(sa.select(NOW)).scalar_one())
            return _find_held(connection, now, workers=True)

    @repeated(twice=True)
    def renew(self, owner: str) -> int:
        """Begin the lease of an owner's locks anew; return how many it still has."""
        statement = sa.update(_LOCK).where(_LOCK.c.owner == owner).values(expires=NOW + LEASE)
        with self._database.transaction() as connection:
            return connection.execute(statement).rowcount

    @repeated(twice=True)
    def release(self, owner: str) -> None:
        """Give an owner's locks back."""
        with self._database.transaction() as connection:
            connection.execute(sa.delete(_LOCK).where(_LOCK.c.owner == owner))


def identify_process() -> dict[str, Any]:
    """Host, machine, number and start of this process, by which others tell whether it still runs."""
    pid = os.getpid()
    return {"host": host_name(), "machine": machine_id(), "pid": pid, "started": process_start(pid)}


class _Shown(Protocol):
    @property
    def expires(self) -> float: ...
    @property
    def machine(self) -> str: ...
    @property
    def pid(self) -> int: ...
    @property
    def started(self) -> str: ...


def is_held(lock: _Shown, now: float) -> bool:
    """Whether a process that showed itself still lives, as far as can be told."""
    return lock.expires > now and not is_gone(lock.machine, lock.pid, lock.started)


def _find_held(connection: sa.Connection, now: float, *, workers: bool) -> list[RunLock]:
    found = [RunLock(**row) for row in connection.execute(select_values(RunLock, _LOCK)).mappings()]
    if workers:
        found += [RunLock(**row) for row in connection.execute(_WORKED_ON).mappings()]
    return [lock for lock in found if is_held(lock, now)]


class HeldLocks:
    """Locks that this process holds, renewed by a thread.

    Parameters
    ----------
    locks
        Where they are.
    runs
        Ids of the runs.
    owner
        Drawn for this holder.

    Attributes
    ----------
    done
        Set when they are needed no more.
    """

    def __init__(self, locks: LockRepository, runs: Collection[str], owner: str) -> None:
        self._locks, self._count = locks, len(set(runs))
        self.owner, self.done = owner, threading.Event()
        self._lost = False

    def keep(self) -> None:
        """Renew them until they are needed no more."""
        while not self._lost and not self.done.wait(_RENEWED):
            with suppress(StoreError):  # busy; there is time for three more tries
                self._lost = self._locks.renew(self.owner) < self._count

    def check(self) -> None:
        """Raise RunHeld if a lease ended unnoticed, as when the machine slept, and another took it over."""
        if self._lost:
            raise RunHeld(
                "this process stood still for so long that another command took the run over; what was "
                "answered is stored"
            )
