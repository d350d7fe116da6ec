"""Who answers a workflow's run: this process alone, or in a database on a server all that help it."""

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
from oversight.agents.runtime.joint import ProgramTerms, SharedTerms, lead_work, make_spec_of_work
from oversight.agents.runtime.program_answers import answer_items
from oversight.agents.runtime.request_draws import CallUsage
from oversight.agents.runtime.run_account import Note
from oversight.agents.sandbox import open_sandbox
from oversight.harness.config import ModelSection
from oversight.harness.llm import Budget, BudgetCaps, Target, make_model, make_spec
from oversight.harness.store import Spent, Store
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
async def answer_alone(
    store: Store, plan: WorkflowPlan, target: Target, budget: Budget, note: Note, usage: CallUsage
) -> AsyncIterator[AnswerPortion]:
    """Have this process run the workflow; `usage` is what its calls took once the block is over."""
    model = make_model(plan.settings)
    broker = Broker.of(model, plan.settings, budget=budget, price=target.price, store=store, note=note)
    try:
        await model.check()
        async with open_sandbox(plan.tier) as sandbox:
            bench = Workbench(broker, sandbox, plan.roles, plan.shape)
            try:
                yield partial(answer_items, plan.program, bench=bench)
            finally:  # before the sandbox, which takes its time while calls go out
                await broker.close()
    finally:
        await model.close()
        usage.calls, usage.cached = broker.spent.calls, broker.spent.cached
        usage.guessed = broker.spent.guessed


@asynccontextmanager
async def answer_together(
    store: Store,
    plan: WorkflowPlan,
    target: Target,
    budget: Budget,
    usage: CallUsage,
    *,
    caps: BudgetCaps,
    terms: SharedTerms,
    asks_lost: bool,
) -> AsyncIterator[AnswerPortion]:
    """Lead the workflow's run, and charge the budget with what all spent on it.

    `usage` is what all calls took once the block is over, and what of this process's were stored before.
    """
    run_id, crew = target.spec.id, terms.crew
    if crew is None or not crew.brings_endpoints:
        model = make_model(plan.settings)
        try:
            await model.check()
        finally:
            await model.close()
    programs = ProgramTerms(
        name=target.spec.name,
        settings=plan.settings,
        price=target.price,
        roles=plan.roles,
        shape=plan.shape,
        tier=plan.tier,
        blames_program=False,
        asks_lost=asks_lost,
    )
    spec = make_spec_of_work(run_id, programs, caps, terms)
    before = _read_used(store, run_id)
    try:
        async with lead_work(store, run_id, programs, spec, budget.spent, crew) as leader:
            yield partial(leader.evaluate, plan.program, replicate=0)
            usage.cached, usage.guessed = leader.broker.spent.cached, leader.broker.spent.guessed
    finally:
        used = _read_used(store, run_id) - before
        budget.charge(used.input_tokens, used.output_tokens, used.requests)
        usage.calls = used.requests


def _read_used(store: Store, run_id: str) -> Spent:
    """What a run has paid, and was charged for calls that were lost."""
    lost = store.reservations.read_charge(run_id)
    parts = [Spent(lost.requests, lost.input_tokens, lost.output_tokens)]
    return Spent.sum([*parts, store.reservations.read_spent(run_id) or Spent()])
