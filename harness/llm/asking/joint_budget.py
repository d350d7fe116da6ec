"""A worker's part of a joint run's budget: more of it is asked for where it does not suffice."""

from __future__ import annotations

import asyncio

from harness.errors import BudgetSpent
from harness.store import Amounts, JointRun, Store

_CALLS = 64
"""Calls of one grant: few asks, and little that waits unused with one worker while another needs it."""
_LOOK = 0.25
"""Seconds between two looks whether another worker has given something back."""


class JointAllowance:
    """What a worker may spend, see `harness.llm.limits.Allowance`."""

    def __init__(self, store: Store, joint: JointRun, worker: str) -> None:
        self._store, self._joint, self._worker = store, joint, worker
        self._granted = Amounts()

    async def more(self, need: Amounts, kept: Amounts, spent: Amounts) -> Amounts | None:
        """Ask for more, and wait for what others may give back where nothing of this worker is under way.

        Parameters
        ----------
        need
            Of a call.
        kept
            What was spent, or is held back for calls under way.
        spent
            What was spent.

        Returns
        -------
        Amounts or None
            What it may spend in all; None if that is not more, and what is under way may make room.

        Raises
        ------
        BudgetSpent
            If there is no room, and nothing under way anywhere can make any.
        LeaseLost
            If the worker was taken for lost.
        """
        while True:
            before, grants = self._granted, self._store.grants
            self._granted = grants.extend_grant(self._worker, before, need, _CALLS)
            if self._granted != before:
                return self._granted
            if self._granted != kept:  # of no use here, and another may need just that
                self._granted = grants.give_back(self._worker, self._granted, kept, spent)
                continue  # together with what is free it may be enough
            if kept != spent:
                return None
            if not grants.others_may_spend(self._joint.id, self._worker):
                raise BudgetSpent(f"{self._describe()} is spent")
            await asyncio.sleep(_LOOK)

    def _describe(self) -> str:
        spec = self._joint.spec
        words = (
            [] if spec.usd is None else [f"${spec.usd:g}"],
            [] if spec.tokens is None else [f"{spec.tokens:,} tokens"],
            [] if spec.requests is None else [f"{spec.requests:,} requests"],
        )
        return f"the budget of {' and '.join(word for words_ in words for word in words_)}"
