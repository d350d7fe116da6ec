"""A workflow as a model, for ``oversight run --workflow``; predictions are stored like those of any run."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import TypeAlias

from oversight.agents.programs import PromptFormat, Role
from oversight.agents.runtime.broker import Broker
from oversight.agents.runtime.host import Workbench
from oversight.agents.runtime.node_programs import find_runner
from oversight.agents.runtime.program_answers import answer_items, dry_run_program
from oversight.agents.runtime.request_draws import CallUsage
from oversight.agents.runtime.run_account import Note, open_account, read_used
from oversight.agents.sandbox import open_sandbox
from oversight.harness import first_of
from oversight.harness.config import ModelSection
from oversight.harness.llm import (
    DEFAULT_TERMS,
    Budget,
    Progress,
    RunTerms,
    Target,
    Workers,
    make_spec,
    run_in_loop,
)
from oversight.harness.store import Store
from oversight.harness.types import Item, Prediction, Program

AnswerPortion: TypeAlias = Callable[[Sequence[Item]], Awaitable[Sequence[Prediction]]]


@dataclass(frozen=True, slots=True)
class WorkflowPlan:
    """A workflow with everything that determines its answers.

    Attributes
    ----------
    program, roles, shape
        The program, and the study's data for it.
    tier
        The sandbox tier.
    model, settings
        Name in study.toml, and settings, of the model that answers the workflow's calls.
    """

    program: Program
    roles: Sequence[Role]
    shape: PromptFormat
    tier: str
    model: str
    settings: ModelSection

    @property
    def target(self) -> Target:
        """Target of the run; the `template` of its specification is the workflow with its settings."""
        workflow = {
            "source": self.program.source,
            "roles": [asdict(role) for role in self.roles],
            "shape": asdict(self.shape),
            "sandbox": self.tier,
        }
        text = json.dumps(workflow, sort_keys=True, ensure_ascii=False)
        spec = make_spec(f"{self.model}/{self.program.name}", self.settings, text, None)
        return Target(spec, self.settings)


@asynccontextmanager
async def open_workflow(
    store: Store,
    plan: WorkflowPlan,
    target: Target,
    budget: Budget,
    note: Note,
    usage: CallUsage,
    *,
    workers: Workers,
    holds_lost: bool,
) -> AsyncIterator[AnswerPortion]:
    """Open a function that answers portions of items; `usage` is complete after the block."""
    settings = plan.settings
    model = workers.make_model(settings)
    broker = Broker.for_model(
        model,
        settings,
        budget=budget,
        price=target.price,
        store=store,
        note=note,
        workers=workers.number,
        holds_lost=holds_lost,
    )
    try:
        await model.check()
        async with open_sandbox(plan.tier) as sandbox:
            bench = Workbench(broker, find_runner(sandbox, workers), plan.roles, plan.shape)
            try:
                yield partial(answer_items, plan.program, bench=bench)
            finally:  # close the broker first, because the sandbox closes slowly while calls are sent
                await broker.close()
    finally:
        await model.close()
        usage.calls, usage.cached = broker.spent.calls, broker.spent.cached
        usage.guessed = broker.spent.guessed


_AHEAD = 3
"""Number of portions of items at once; while one waits for its last answers, others make calls."""
_PORTION = 8


async def rehearse(plan: WorkflowPlan, sizes: Iterable[int]) -> None:
    """Test a plan's workflow for free, on made-up items with these numbers of options.

    Raises
    ------
    ProgramRefused
        If the gate refuses the workflow, or the workflow names no option.
    ConfigError, SandboxError
        If the tier does not exist, or does not work on this machine.
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
    """Answer the stored items that have no answer. Returns their number and the cost.

    After an interruption it continues, because answers are stored in portions, and calls one by one.

    Parameters
    ----------
    store, ids
        The study's database, and ids of items in it.
    plan, target
        The plan, and its target with the price.
    budget
        Budget at the target's price, already charged with the run's earlier usage, see `charge_before`.
    check
        Called before a call is sent; raises an error if another process has taken over the run.
    retry_failed
        Whether to answer failed items again.
    terms
        Processes that make the calls, and treatment of lost calls.

    Raises
    ------
    BudgetSpent, FatalModelError, ProgramRefused, SandboxError, ConfigError
        As raised by `oversight.agents.runtime.program_answers` and by the model.
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
    """Answer items in portions, several portions at once."""
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
