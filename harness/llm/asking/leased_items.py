"""The items that a worker asks a model about: lease by lease, each ended with its last answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from oversight.harness.errors import LeaseLost
from oversight.harness.llm.asking.membership import Membership
from oversight.harness.llm.runner import StoredRow, Target, Wanted, load_items
from oversight.harness.store import JointRun, Lease, split_into_batches
from oversight.harness.types import Item

_MOST = 200
"""Items of a lease at most: so many are taken over from a worker that is lost."""
_MANY = 5_000
"""The same after one of which everything was answered before, as nothing is lost with it."""


class LeasedItems:
    """Items of one run without an answer, drawn from leases that are taken as they are needed.

    Parameters
    ----------
    wanted
        All items of the joint run.
    target
        What is asked.
    """

    def __init__(self, wanted: Wanted, joint: JointRun, target: Target, me: Membership) -> None:
        self._wanted, self._joint, self._target, self._me = wanted, joint, target, me
        self._run_id = target.spec.id
        self._most = _MOST
        self._left: dict[int, int] = {}
        self._lease_of: dict[tuple[str, int], int] = {}

    def __iter__(self) -> Iterator[tuple[Item, int]]:
        """Items and sample numbers; the end is where nothing is left that nobody asks about."""
        try:
            while (lease := self._take()) is not None:
                left = self._find_left(lease)
                self._most = _MOST if left else _MANY
                if not left:
                    self._wanted.store.leases.end(self._me.worker, [(self._run_id, lease.start)])
                    continue
                self._left[lease.start] = len(left)
                self._lease_of.update(dict.fromkeys(left, lease.start))
                yield from load_items(self._wanted.store, split_into_batches(left))
        except LeaseLost:  # whatever this worker writes next says so
            return

    def wrote(self, rows: Iterable[StoredRow]) -> list[tuple[str, int]]:
        """Take in what is being stored; return the leases that end with it, by run and start."""
        ended = []
        mine = ((p.item_id, p.sample) for run_id, p in rows if run_id == self._run_id)
        for start in (self._lease_of.pop(key) for key in mine):
            self._left[start] -= 1
            if not self._left[start]:
                ended.append((self._run_id, start))
                del self._left[start]
        return ended

    def _take(self) -> Lease | None:
        began, lease = time.monotonic(), self._joint.spec.lease
        leases = self._wanted.store.leases
        found = leases.take(self._me.worker, self._run_id, self._most, list(self._left), lease)
        self._me.shown(began)
        return found

    def _find_left(self, lease: Lease) -> list[tuple[str, int]]:
        # what failed on a worker that is gone was tried by this command, and what it used is in the books
        retry = self._wanted.retry_failed and not lease.taken_over
        some = replace(self._wanted, ids=self._wanted.ids[lease.start : lease.stop], retry_failed=retry)
        return list(chain.from_iterable(some.find_left(self._target)))
