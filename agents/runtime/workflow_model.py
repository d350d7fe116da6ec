"""A workflow as a model: ``oversight run --workflow``; its predictions are stored like any run's."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from agents.programs import PromptFormat, Role
from agents.runtime.broker import Broker, Note
from agents.runtime.call_cache import LINGER
from agents.runtime.host import Workbench
from agents.runtime.program_answers import answer_items, dry_run_program
from agents.runtime.request_draws import CallUsage
from agents.sandbox import open_sandbox
from harness import first_of
from harness.config import ModelSection
from harness.llm import Batches, Budget, Progress, Target, make_model, make_spec
from harness.store import Spent, Store
from harness.types import Item, Program

_AHEAD = 3
"""Portions of items under way at once: while one waits for its last answers, others keep calls going."""
_PORTION = 8


@dataclass(frozen=True, slots=True)
class WorkflowPlan:
    """A workflow with all that decides its answers.

    Attributes
    ----------
    program, roles, shape
        What is run, and the study's data for it.
    tier
        The sandbox it runs in.
    model, settings
        Name in study.toml and settings of the model that answers its calls.
    """

    program: Program
    roles: Sequence[Role]
    shape: PromptFormat
    tier: str
    model: str
    settings: ModelSection

    @property
    def target(self) -> Target:
        """The run's target; the `template` of its specification is the workflow with its setting."""
        workflow = {
            "source": self.program.source,
            "roles": [asdict(role) for role in self.roles],
            "shape": asdict(self.shape),
            "sandbox": self.tier,
        }
        text = json.dumps(workflow, sort_keys=True, ensure_ascii=False)
        spec = make_spec(f"{self.model}/{self.program.name}", self.settings, text, None)
        return Target(spec, self.settings)


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
    retry_failed: bool = False,
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
        At the target's price; what the run used before is counted.
    retry_failed
        Whether to answer again where calls failed.

    Raises
    ------
    BudgetSpent, FatalModelError, ProgramRefused, SandboxError, ConfigError
        As `agents.runtime.program_answers` and the model do.
    """
    sandbox = open_sandbox(plan.tier)
    settings, spec = plan.settings, target.spec
    model = make_model(settings)
    store.runs.add_run(spec)
    note = _open_account(store, spec.id, budget)
    unasked = store.runs.find_unasked(spec.id, ids, 1, retry_failed=retry_failed)
    left = [i for some in unasked for i, _ in some]
    items = store.content.find_items(left)
    broker = Broker.of(model, settings, budget=budget, price=target.price, store=store, note=note)
    bench = Workbench(broker, sandbox, plan.roles, plan.shape)

    with Progress(len(ids), len(ids) - len(left), spec.name, {spec.id: target.price}) as progress:

        async def answer(portion: Sequence[Item]) -> None:
            rows = [(spec.id, found) for found in await answer_items(plan.program, portion, bench)]
            store.runs.store_predictions(rows)
            progress.wrote(rows)

        async def answer_all() -> None:
            try:
                await model.check()
                async with sandbox:
                    await _in_portions([items[i] for i in left], settings.concurrency, answer)
            finally:
                await broker.close()
                await model.close()

        if left:
            asyncio.run(answer_all())
    return len(left), broker.spent


def _open_account(store: Store, run_id: str, budget: Budget) -> Note:
    """Charge a budget with what a run has spent; return what stores what it spends from here on."""
    account = store.reservations
    if account.read_spent(run_id) is None:
        # A run from before such rows were kept: what its answers used is all that is known.
        used = store.runs.sum_usage(run_id)
        sums = (sum(getattr(u, name) for u in used) for name in ("requests", "input_tokens", "output_tokens"))
        account.spend(run_id, [Spent(*sums)])
    spent = account.read_spent(run_id)
    if spent is not None:
        budget.charge(spent.input_tokens, spent.output_tokens, spent.requests)
    return Batches[Spent, None](partial(account.spend, run_id), linger=LINGER).put


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
