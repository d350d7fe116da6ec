"""A process as a worker on a joint run: it shows itself, and notices others that do not any more."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from oversight.harness.errors import LeaseLost, StoreError
from oversight.harness.output import counted, say
from oversight.harness.store import JointRun, Store

_SHOWN = 4
"""A worker shows itself so many times in the time of a lease."""


class Watch:
    """Retires workers of a joint run that have not shown themselves for the time of a lease.

    Not while the database was away: all others could not show themselves then, either.
    """

    def __init__(self, store: Store, joint: JointRun) -> None:
        self._store, self._joint = store, joint
        self._since = time.monotonic()

    def answered(self, began: float) -> None:
        """Take in that the database answered what was asked at this time; if that took long, it was away."""
        now = time.monotonic()
        if now - began > self._joint.spec.lease / 2:
            self._since = now

    def look(self) -> None:
        """Look once, and say who was taken for lost."""
        began, lease = time.monotonic(), self._joint.spec.lease
        self._store.joint_runs.find_workers(self._joint.id)
        self.answered(began)
        if time.monotonic() - self._since < lease:
            return
        for worker in self._store.joint_runs.retire_lost(self._joint.id):
            what = "asked for again" if self._joint.spec.uncertain == "retry" else "held as failed"
            say(
                f"{worker} has not shown itself for {lease:g} s and is taken for lost: "
                f"{counted(worker.calls_lost, 'answer')} under way there are charged in full and {what}"
            )


class Membership:
    """A worker that this process is, while the block lasts; it shows itself from a thread.

    Attributes
    ----------
    worker
        The id by which the others know it.
    """

    def __init__(self, store: Store, joint: JointRun, worker: str, watch: Watch) -> None:
        self.worker = worker
        self._store, self._joint, self._watch = store, joint, watch
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._until = 0.0
        self.shown(time.monotonic())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Settle what is left; where the database is away, the others will."""
        self._done.set()
        self._thread.join()
        with suppress(StoreError):
            self._store.joint_runs.leave(self.worker)

    def shown(self, began: float) -> None:
        """Take in that the worker showed itself by what began at this time."""
        self._until = max(self._until, began + self._joint.spec.lease)

    def check(self) -> None:
        """Raise LeaseLost if the others may have taken this worker for lost by now."""
        if time.monotonic() > self._until:
            raise LeaseLost("this process stood still for longer than its lease")

    def _keep(self) -> None:
        while not self._done.wait(self._joint.spec.lease / _SHOWN):
            began = time.monotonic()
            try:
                self._store.joint_runs.show(self.worker, self._joint.spec.lease)
            except LeaseLost:
                return  # whoever next claims or stores something hears of it
            except StoreError:  # away for long; the next time is soon enough
                self._watch.answered(began)
                continue
            self._watch.answered(began)
            self.shown(began)
            with suppress(StoreError):
                self._watch.look()
