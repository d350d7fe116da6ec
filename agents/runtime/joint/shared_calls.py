"""Calls of programs that several processes make: each is claimed by its key before it leaves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from oversight.agents.runtime.call_cache import LINGER
from oversight.agents.runtime.run_account import Note
from oversight.harness import Fault, TransientModelError
from oversight.harness.llm import Batches, Budget, Membership, Price
from oversight.harness.store import ClaimChange, ProgramWork, Spending, Spent, Store, StoredCall

_LOOK = 0.1
"""Seconds between two looks at a call that another process makes."""


class SharedCalls:
    """One worker's claims of calls.

    Parameters
    ----------
    work
        What the calls are made for.
    me
        The worker that makes them.
    budget
        Knows what this worker has spent.
    asks_lost
        Whether calls that were held, as they were lost, are made again.

    Attributes
    ----------
    late
        Calls whose replies came when this worker had been taken for lost.
    """

    def __init__(
        self, store: Store, work: ProgramWork, me: Membership, budget: Budget, *, asks_lost: bool = False
    ) -> None:
        claims, worker, lease = store.call_claims, me.worker, work.joint.spec.lease
        holds = work.joint.spec.uncertain == "hold" and not asks_lost
        self._me, self.late = me, 0

        def take(keys: Sequence[str]) -> list[StoredCall | bool]:
            return claims.take(work.id, worker, lease, keys, holds=holds)

        def change(changes: Sequence[ClaimChange]) -> None:
            claims.change(worker, lease, changes)

        def write(calls: Sequence[StoredCall]) -> None:
            self.late += claims.store(worker, lease, calls, budget.spent)

        def release(keys: Sequence[str]) -> None:
            claims.release(worker, keys)

        self._takes = Batches(take, linger=LINGER)
        self._changes = Batches[ClaimChange, None](change, linger=LINGER)
        self._writes = Batches[StoredCall, None](write, linger=LINGER)
        self._releases = Batches[str, None](release, linger=LINGER)

    async def take(self, key: str) -> StoredCall | None:
        """Claim a call, or wait for whoever makes it and return what is stored.

        Raises
        ------
        TransientModelError
            If the call was lost, and is held.
        LeaseLost
            If this worker was taken for lost.
        """
        while (found := await self._takes.put(key)) is False:  # noqa: ASYNC110  the event is in another process
            await asyncio.sleep(_LOOK)
        if isinstance(found, StoredCall) and found.error:
            raise TransientModelError(found.error, fault=Fault.LOST)
        return found if isinstance(found, StoredCall) else None

    def note(self, key: str, price: Price | None) -> Note:
        """What stores how a claimed call's use changes, see `oversight.agents.runtime.run_account`."""

        async def note(change: Spending) -> None:
            used = Spent.sum([change.paid, change.under_way])
            usd = 0.0 if price is None else price.dollars(used.input_tokens, used.output_tokens)
            began = time.monotonic()
            await self._changes.put(ClaimChange(key=key, used=used, usd=usd))
            if change.under_way.requests > 0:
                self._me.shown(began)
                self._me.check()

        return note

    async def add(self, call: StoredCall) -> None:
        """Store a call, with which its claim ends."""
        await self._writes.put(call)

    async def release(self, key: str) -> None:
        """Give up the claim of a call that did not come to an end here."""
        await self._releases.put(key)
