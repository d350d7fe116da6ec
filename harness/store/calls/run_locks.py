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

import sqlalchemy as sa

from harness.errors import RunHeld, StoreError
from harness.machine import host_name, is_gone, machine_id, process_start
from harness.store.database import Repository, repeated
from harness.store.tables import RunLockRow, row_of, select_values, upsert

LEASE = 60.0
"""Seconds after which a lock that was not renewed is anybody's."""

_RENEWED = LEASE / 4
_LOOK = 0.5
_LOCK = RunLockRow.__table__
_NOW = sa.extract("epoch", sa.func.current_timestamp())  # of the database: machines' clocks differ


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLock:
    """Who works on a run; the columns of `harness.store.tables.RunLockRow`."""

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
        self, runs: Mapping[str, str], *, wait: bool = False, tell: Callable[[str], None] = lambda _: None
    ) -> Iterator[HeldLocks]:
        """Hold the locks of all runs, or of none.

        Parameters
        ----------
        runs
            Names by id.
        wait
            Whether to wait for other holders; `tell` says once for whom.

        Raises
        ------
        RunHeld
            If another process has one of them, and `wait` is not set.
        """
        held = HeldLocks(self, runs)
        told: str | None = None
        while (other := self.acquire(runs, held.owner)) is not None:
            if not wait:
                raise RunHeld(f"{runs[other.run_id]}: {other}; wait for it with --wait, or stop it")
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
        pid = os.getpid()
        with self._database.transaction(exclusive=True) as connection:
            now = float(connection.execute(sa.select(_NOW)).scalar_one())
            query = select_values(RunLock, _LOCK).where(_LOCK.c.run_id.in_(runs))
            for row in connection.execute(query).mappings():
                other = RunLock(**row)
                if _is_held(other, now):
                    return other
            locks = (
                RunLock(
                    run_id=run_id,
                    owner=owner,
                    host=host_name(),
                    machine=machine_id(),
                    pid=pid,
                    started=process_start(pid),
                    since=now,
                    expires=now + LEASE,
                )
                for run_id in runs
            )
            upsert(connection, _LOCK, [row_of(lock) for lock in locks])
        return None

    def find_held(self) -> list[RunLock]:
        """The locks that some process holds."""
        with self._database.transaction() as connection:
            now = float(connection.execute(sa.select(_NOW)).scalar_one())
            found = [RunLock(**row) for row in connection.execute(select_values(RunLock, _LOCK)).mappings()]
        return [lock for lock in found if _is_held(lock, now)]

    @repeated(twice=True)
    def renew(self, owner: str) -> int:
        """Begin the lease of an owner's locks anew; return how many it still has."""
        statement = sa.update(_LOCK).where(_LOCK.c.owner == owner).values(expires=_NOW + LEASE)
        with self._database.transaction() as connection:
            return connection.execute(statement).rowcount

    @repeated(twice=True)
    def release(self, owner: str) -> None:
        """Give an owner's locks back."""
        with self._database.transaction() as connection:
            connection.execute(sa.delete(_LOCK).where(_LOCK.c.owner == owner))


def _is_held(lock: RunLock, now: float) -> bool:
    return lock.expires > now and not is_gone(lock.machine, lock.pid, lock.started)


class HeldLocks:
    """Locks that this process holds, renewed by a thread.

    Parameters
    ----------
    locks
        Where they are.
    runs
        Ids of the runs.

    Attributes
    ----------
    owner
        Drawn for this holder.
    done
        Set when they are needed no more.
    """

    def __init__(self, locks: LockRepository, runs: Collection[str]) -> None:
        self._locks, self._count = locks, len(set(runs))
        self.owner, self.done = uuid.uuid4().hex, threading.Event()
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
