"""A worker's part of a joint run's budget: more of it is asked for where it does not suffice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from oversight.harness.errors import BudgetSpent
from oversight.harness.store import Amounts, JointRun, Store

_CALLS = 64
"""Calls of one grant: few asks, and little that waits unused with one worker while another needs it."""
_LOOK = 0.25
"""Seconds between two looks whether another worker has given something back."""


class JointAllowance:
    """What a worker may spend, see `oversight.harness.llm.limits.Allowance`.

    Attributes
    ----------
    granted
        In all, as the database has it.
    """

    def __init__(self, store: Store, joint: JointRun, worker: str) -> None:
        self._store, self._joint, self._worker = store, joint, worker
        self.granted = Amounts()

    async def more(self, need: Amounts, usages: Callable[[], tuple[Amounts, Amounts]]) -> bool:
        """Ask for more, and wait for what others may give back where nothing of this worker is under way.

        Parameters
        ----------
        need
            Of a call.
        usages
            What was spent or is held back for calls under way, and what was spent, as of now.

        Returns
        -------
        bool
            Whether there is more; False if what is under way may make room.

        Raises
        ------
        BudgetSpent
            If there is no room, and nothing under way anywhere can make any.
        LeaseLost
            If the worker was taken for lost.
        """
        grants = self._store.grants
        while True:
            before = self.granted
            self.granted = grants.extend_grant(self._worker, before, need, _CALLS)
            if self.granted != before:
                return True
            kept, spent = usages()
            if self.granted != kept:  # of no use here, and another may need just that
                self.granted = grants.give_back(self._worker, self.granted, kept, spent)
                continue  # together with what is free it may be enough
            if kept != spent:
                return False
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
