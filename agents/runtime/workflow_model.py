"""A workflow as a model: ``oversight run --workflow``; its predictions are stored like any run's."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence

from oversight.agents.runtime.program_answers import dry_run_program
from oversight.agents.runtime.request_draws import CallUsage
from oversight.agents.runtime.run_account import open_account, read_used
from oversight.agents.runtime.workflow_answering import WorkflowPlan, open_workflow
from oversight.agents.sandbox import open_sandbox
from oversight.harness import first_of
from oversight.harness.llm import DEFAULT_TERMS, Budget, Progress, RunTerms, Target, run_in_loop
from oversight.harness.store import Store
from oversight.harness.types import Item

_AHEAD = 3
"""Portions of items under way at once: while one waits for its last answers, others keep calls going."""
_PORTION = 8


async def rehearse(plan: WorkflowPlan, sizes: Iterable[int]) -> None:
    """Try a plan's workflow for free, on made-up items with so many options.

    Raises
    ------
    ProgramRefused
        If the gate refuses it, or it names no option.
    ConfigError, SandboxError
        If there is no such tier, or it does not work here.
    """
    async with open_sandbox(plan.tier) as sandbox:
        await dry_run_program(plan.program, sandbox=sandbox, roles=plan.roles, shape=plan.shape, sizes=sizes)


def run_workflow(
    store: Store,
    ids: Sequence[str],
    plan: WorkflowPlan,
    target: Target,
    *,
    budget: Budget,
    check: Callable[[], None],
    retry_failed: bool = False,
    terms: RunTerms = DEFAULT_TERMS,
) -> tuple[int, CallUsage]:
    """Answer the stored items that have no stored answer; return how many, and what was spent on it.

    Interrupted, it goes on where it was: answers are stored by the portion, and calls one by one.

    Parameters
    ----------
    store, ids
        The study's database, and items that are in it.
    plan, target
        What to run, and the plan's target with its price.
    budget
        At the target's price; it has counted what the run used before, see `charge_before`.
    check
        Raises if the run is another process's by now.
    retry_failed
        Whether to answer again where calls failed.
    terms
        Where calls are made, and what becomes of those that were lost.

    Raises
    ------
    BudgetSpent, FatalModelError, ProgramRefused, SandboxError, ConfigError
        As `oversight.agents.runtime.program_answers` and the model do.
    """
    spec = target.spec
    store.runs.add_run(spec)
    note = open_account(store, spec.id, check)
    unasked = store.runs.find_unasked(spec.id, ids, 1, retry_failed=retry_failed)
    left = [i for some in unasked for i, _ in some]
    if left:
        target.note_price(store, read_used(store, spec.id))
    items = store.content.find_items(left)
    usage, workers = CallUsage(), terms.workers

    with Progress(len(ids), len(ids) - len(left), spec.name, {spec.id: target.price}) as progress:

        async def answer_all() -> None:
            holds = terms.uncertain == "hold" and not retry_failed
            opened = open_workflow(
                store, plan, target, budget, note, usage, workers=workers, holds_lost=holds
            )
            async with opened as answer_portion:

                async def answer(portion: Sequence[Item]) -> None:
                    rows = [(spec.id, found) for found in await answer_portion(portion)]
                    store.runs.store_predictions(rows)
                    check()
                    progress.wrote(rows)

                concurrency = workers.number * plan.settings.concurrency
                await _in_portions([items[i] for i in left], concurrency, answer)

        if left:
            run_in_loop(answer_all())
    return len(left), usage


async def _in_portions(
    items: Sequence[Item], concurrency: int, answer: Callable[[Sequence[Item]], Awaitable[None]]
) -> None:
    """Answer items portion by portion, several portions under way at once."""
    size = max(_PORTION, math.ceil(concurrency / (_AHEAD - 1)))
    portions = iter([items[start : start + size] for start in range(0, len(items), size)])

    async def work() -> None:
        for portion in portions:
            await answer(portion)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(_AHEAD):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise first_of(errors) from None
