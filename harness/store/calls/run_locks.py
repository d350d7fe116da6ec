"""SQL of run locks: only one process at a time works on a run, so that no answer is paid for twice.

A lock names its process. A command on the same machine can check whether that process has ended. A command on
another machine cannot check it, so the user must confirm it with ``--take-over``.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress

import sqlalchemy as sa

from oversight.harness.errors import RunHeld, StoreError
from oversight.harness.platform import host_name, machine_id, process_start
from oversight.harness.store.database import Repository, repeated
from oversight.harness.store.tables.insertion import select_values, upsert
from oversight.harness.store.tables.study_tables import RUN_LOCK, RunLock

_LOOK = 0.5  # seconds between two attempts to take a lock
_CHECKED = 5.0
"""Minimum seconds between two checks whether another command has taken over a lock."""
_NOW = sa.extract("epoch", sa.func.current_timestamp())
"""Current time in seconds by the clock of the database, because the clocks of machines differ."""


class LockRepository(Repository):
    """Takes, reads and releases the locks of runs."""

    @contextmanager
    def hold(
        self,
        runs: Mapping[str, str],
        *,
        wait: bool = False,
        take_over: bool = False,
        tell: Callable[[str], None] = lambda _: None,
    ) -> Iterator[HeldLocks]:
        """Hold the locks of all given runs, or of none of them, during a ``with`` block.

        Parameters
        ----------
        runs
            Run names by run id.
        wait
            Whether to wait until other processes release the locks; `tell` receives a message per process.
        take_over
            Whether the user confirms that processes on other machines have ended; their locks are replaced.

        Raises
        ------
        RunHeld
            If another process has one of the locks, and `wait` is not set.
        """
        owner, told = uuid.uuid4().hex, ""
        while (other := self.acquire(runs, owner, take_over=take_over)) is not None:
            ended = "; if that process has ended, use --take-over" if other.is_elsewhere else ""
            if not wait:
                hint = f"wait with --wait, or stop that process{ended}"
                raise RunHeld(f"{runs[other.run_id]}: {other}; {hint}")
            if told != other.owner:
                tell(f"waiting for {runs[other.run_id]}: {other}{ended}")
                told = other.owner
            time.sleep(_LOOK)
        try:
            yield HeldLocks(self, owner, len(runs))
        finally:
            with suppress(StoreError):  # a lock may remain: later commands notice that its process has ended
                self.release(owner)

    def acquire(self, runs: Collection[str], owner: str, *, take_over: bool = False) -> RunLock | None:
        """Take the locks of all runs, or none of them if another process holds one.

        Returns the lock that the other process holds, or None.
        """
        pid = os.getpid()
        with self._database.transaction(exclusive=True) as connection:
            found = [
                RunLock(**row) for row in connection.execute(select_values(RunLock, RUN_LOCK)).mappings()
            ]
            for lock in found:
                if lock.run_id in runs and lock.is_held(take_over=take_over):
                    return lock
            now = float(connection.execute(sa.select(_NOW)).scalar_one())
            mine = {
                "owner": owner,
                "host": host_name(),
                "machine": machine_id(),
                "pid": pid,
                "started": process_start(pid),
                "since": now,
            }
            upsert(connection, RUN_LOCK, [{"run_id": run_id, **mine} for run_id in runs])
        return None

    def find_held(self) -> list[RunLock]:
        """Return all locks except those whose process has certainly ended."""
        return [lock for lock in self._database.read_table(RunLock, RUN_LOCK) if lock.is_held()]

    def count(self, owner: str) -> int:
        """Return the number of locks that an owner holds."""
        return self._database.count(RUN_LOCK, RUN_LOCK.c.owner == owner)

    @repeated(twice=True)
    def release(self, owner: str) -> None:
        """Release an owner's locks."""
        with self._database.transaction() as connection:
            connection.execute(sa.delete(RUN_LOCK).where(RUN_LOCK.c.owner == owner))


class HeldLocks:
    """Locks that this process holds.

    Parameters
    ----------
    locks
        Repository of the locks.
    owner
        Random id of this holder.
    number
        Number of locks.
    """

    def __init__(self, locks: LockRepository, owner: str, number: int) -> None:
        self._locks, self.owner, self._number = locks, owner, number
        self._checked = time.monotonic()

    def check(self) -> None:
        """Raise `RunHeld` if another command took over one of these locks.

        The database is read only if the last check was some seconds ago.
        """
        if time.monotonic() - self._checked < _CHECKED:
            return
        if self._locks.count(self.owner) < self._number:
            raise RunHeld("another command took this run over; stored answers are kept")
        self._checked = time.monotonic()
