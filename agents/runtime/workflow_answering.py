"""A workflow with all that decides its answers, and opening what answers it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import TypeAlias

from oversight.agents.programs import PromptFormat, Role
from oversight.agents.runtime.broker import Broker
from oversight.agents.runtime.host import Workbench
from oversight.agents.runtime.node_programs import find_runner
from oversight.agents.runtime.program_answers import answer_items
from oversight.agents.runtime.request_draws import CallUsage
from oversight.agents.runtime.run_account import Note
from oversight.agents.sandbox import open_sandbox
from oversight.harness.config import ModelSection
from oversight.harness.llm import Budget, Target, Workers, make_spec
from oversight.harness.store import Store
from oversight.harness.types import Item, Prediction, Program

AnswerPortion: TypeAlias = Callable[[Sequence[Item]], Awaitable[Sequence[Prediction]]]


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
    """Open what answers portions of items; `usage` is what the calls took once the block is over."""
    settings = plan.settings
    model = workers.make_model(settings)
    broker = Broker.of(
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
            finally:  # before the sandbox, which takes its time while calls go out
                await broker.close()
    finally:
        await model.close()
        usage.calls, usage.cached = broker.spent.calls, broker.spent.cached
        usage.guessed = broker.spent.guessed
