"""Record what a workflow's run has paid for, in the database and in a budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from oversight.harness.llm import Batches, Budget, Reservation, Target
from oversight.harness.output import say
from oversight.harness.store import Spending, Store
from oversight.harness.types import Usage

LINGER = 0.005
"""Seconds during which changes are collected for one transaction; short compared with a model call."""
Note: TypeAlias = Callable[[Spending], Awaitable[None]]
"""Function that stores a change of usage; once it returns, the change survives a kill of the process."""


def charge_before(store: Store, target: Target, budget: Budget) -> None:
    """Charge a budget with the earlier usage of a workflow's run.

    Calls that were in progress when a command was killed are charged with their maximum usage, and a message
    is printed.
    """
    run_id = target.spec.id
    left = store.calls.charge_calls_left(run_id)
    if left.requests:
        say(
            f"{target.spec.name}: {left.requests} calls were unfinished when an earlier command ended; each "
            f"is charged at its maximum, together {left.input_tokens:,} input and {left.output_tokens:,} "
            "output tokens"
        )
    budget.charge_before(read_used(store, run_id), store.runs.read_prices(run_id))


def read_used(store: Store, run_id: str) -> list[Usage]:
    """Return a run's paid usage: the sum over finished calls, then each charge for unanswered calls."""
    spent = _read_spent(store, run_id)
    return [spent, *store.runs.sum_charges(run_id)]


def open_account(store: Store, run_id: str, check: Callable[[], None]) -> Note:
    """Return a function that stores changes to a run's paid usage.

    Parameters
    ----------
    check
        Called before a call is sent; raises an error if another process has taken over the run.
    """
    account = store.calls
    if account.read_spent(run_id) is None:
        account.spend(run_id, [Spending(_read_spent(store, run_id))])
    changes = Batches[Spending, None](partial(account.spend, run_id), linger=LINGER)

    async def note(change: Spending) -> None:
        if change.under_way.requests > 0:
            check()
        await changes.add_request(change)

    return note


def _read_spent(store: Store, run_id: str) -> Usage:
    """Return the usage of a run's finished calls, or of its answers if an older version made the run."""
    spent = store.calls.read_spent(run_id)
    return Usage.sum(store.runs.sum_answers(run_id)) if spent is None else spent


@dataclass(slots=True)
class RequestAccount:
    """Paid and reserved usage of one request, in the budget and in the store.

    Attributes
    ----------
    budget
        Budget in which each call's maximum usage is reserved.
    note
        Function that stores every change; None stores nothing.
    used
        Usage of the finished calls.
    """

    budget: Budget
    note: Note | None
    used: Usage = field(default_factory=Usage)
    _noted: Spending = field(init=False, default_factory=Spending)

    async def hold(self, guess: Callable[[], tuple[int, int]]) -> Reservation:
        """Reserve the next call's maximum usage; see `Budget.hold`."""
        held = await self.budget.hold(guess)
        try:
            await self._note(Usage(1, held.input_tokens, held.output_tokens))
        except BaseException:
            held.release()
            raise
        return held

    async def close(self) -> None:
        """Store the final usage, after all calls of the request have ended."""
        await self._note(Usage())

    async def _note(self, under_way: Usage) -> None:
        used, before = self.used, self._noted
        now = Spending(Usage(used.requests, used.input_tokens, used.output_tokens), under_way)
        if self.note is not None and now != before:
            await self.note(Spending(now.paid - before.paid, now.under_way - before.under_way))
            self._noted = now
