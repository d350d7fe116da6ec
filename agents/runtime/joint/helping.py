"""Running programs that another process leads: a search, or a workflow's run; from any machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from oversight.agents.runtime.joint.program_portions import ProgramTerms, open_runner, share_budget
from oversight.agents.runtime.joint.shared_calls import SharedCalls
from oversight.harness import BudgetSpent, LeaseLost, ModelError, SandboxError, Stopped
from oversight.harness.config import api_key
from oversight.harness.llm import Membership, Watch, on_stop_signals, run_in_loop
from oversight.harness.output import say
from oversight.harness.store import ProgramWork, Store

_LOOK = 1.0
"""Seconds between two looks whether a work is still led."""


def help_works(
    store: Store, known: set[str], results: dict[str, dict[str, Any]], only: str | None = None
) -> None:
    """Work on everything that is led, one after the other.

    Parameters
    ----------
    known
        Ids of works that are passed over; all that are worked on are added.
    results
        Name → how many items were answered is added to it, and under ``stopped`` what stopped this process
        before the end.
    only
        Id of a work: all others are passed over.

    Raises
    ------
    ConfigError
        If a key, or the sandbox, is missing.
    Stopped
        At a signal, once what was under way has come.
    """
    while open_works := [
        work
        for work in store.program_work.find_works()
        if work.joint.id not in known and only in (None, work.joint.id)
    ]:
        work = open_works[0]
        known.add(work.joint.id)
        terms = ProgramTerms.read(work.joint.spec.runs[work.id])
        if terms.settings.python or terms.settings.command:
            say(f"{terms.name}: is asked through a program of the study's own; leave it to who has that")
            continue
        if terms.settings.endpoint.startswith("http"):
            api_key(terms.settings)
        if store.program_work.is_led(work):
            result = results.setdefault(terms.name, {"asked_now": 0})
            result.pop("stopped", None)  # as by a cap that was raised since
            _help(store, work, terms, result)


def _help(store: Store, work: ProgramWork, terms: ProgramTerms, result: dict[str, Any]) -> None:
    """Be a worker until nobody leads any more; another one where this one was taken for lost."""
    lease = work.joint.spec.lease
    while (worker := store.program_work.enter(work.joint.id, lease)) is not None:
        with Membership(store, work.joint, worker, Watch(store, work.joint)) as me:
            try:
                signals = run_in_loop(_run(store, work, terms, me, result))
            except LeaseLost:
                say("this process was taken for lost by the others, and begins anew")
            except (BudgetSpent, ModelError, SandboxError) as error:
                result["stopped"] = str(error)
                return
            else:
                if signals:
                    raise Stopped(signals[0])
                return


async def _run(
    store: Store, work: ProgramWork, terms: ProgramTerms, me: Membership, result: dict[str, Any]
) -> list[int]:
    """Run portions until it is over; the numbers of the signals that came."""
    budget = share_budget(store, work, me.worker, terms.price)
    calls = SharedCalls(store, work, me, budget, asks_lost=terms.asks_lost)
    async with open_runner(store, work, me, terms, budget, calls) as runner:
        try:
            with on_stop_signals(runner.stop) as signals:
                await runner.run(_look_for_end(store, work))
        except LeaseLost:
            if signals:
                raise Stopped(signals[0]) from None
            raise
        finally:
            result["asked_now"] += runner.answered
        return signals


def _look_for_end(store: Store, work: ProgramWork) -> Callable[[], bool]:
    """Whether a work has come to its end; looked at once in a while."""
    looked, over = time.monotonic(), False

    def is_over() -> bool:
        nonlocal looked, over
        if time.monotonic() - looked >= _LOOK:
            looked, over = time.monotonic(), not store.program_work.is_led(work)
        return over

    return is_over
