"""A workflow as a model: ``oversight run --workflow``; its predictions are stored like any run's."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from agents.broker import Broker
from agents.evaluate import evaluate
from agents.sandbox import gate, open_sandbox
from harness.llm.cost import Budget
from harness.llm.openai_model import OpenAIModel
from harness.llm.run import make_spec
from harness.types import PredictionStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agents.broker import Spent
    from agents.program import Program
    from agents.roles import Role
    from agents.sandbox import Limits
    from agents.shape import Shape
    from harness.config import ModelSection, RunSpec
    from harness.llm.cost import Price
    from harness.store.repository import Repository
    from harness.types import Item, Prediction

_AHEAD = 3
"""Portions of items under way at once: while one waits for its last answers, others keep calls going."""
_PORTION = 8


@dataclass(frozen=True, slots=True)
class Plan:
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
    shape: Shape
    tier: str
    model: str
    settings: ModelSection

    @property
    def spec(self) -> RunSpec:
        """The run's specification; its `template` is the workflow with its setting as JSON."""
        workflow = {
            "source": self.program.source,
            "roles": [asdict(role) for role in self.roles],
            "shape": asdict(self.shape),
            "sandbox": self.tier,
        }
        text = json.dumps(workflow, sort_keys=True, ensure_ascii=False)
        return make_spec(f"{self.model}/{self.program.name}", self.settings, text, None)


def run_workflow(
    store: Repository,
    items: Sequence[Item],
    plan: Plan,
    limits: Limits,
    *,
    budget: Budget,
    price: Price | None = None,
    retry_failed: bool = False,
) -> tuple[int, Spent]:
    """Answer the items that have no stored answer; return how many, and what was spent on it.

    The items must be in the store. Interrupted, it goes on where it was: answers are stored by the
    portion, and calls one by one.

    Raises
    ------
    ProgramRefused
        If the gate refuses the workflow.
    BudgetSpent, FatalModelError, SandboxError, ConfigError
        As `agents.evaluate.evaluate` and the model do.
    """
    gate.check(plan.program)
    model = OpenAIModel(plan.settings)
    spec = plan.spec
    store.add_run(spec)
    again = {PredictionStatus.FAILED} if retry_failed else set()
    have = {p.item_id for p in store.predictions(spec.id) if p.status not in again}
    todo = [item for item in items if item.id not in have]
    broker = Broker(
        model,
        f"{plan.settings.model} at {plan.settings.endpoint}",
        budget=budget,
        price=price,
        store=store,
        concurrency=plan.settings.concurrency,
        tries=plan.settings.tries,
    )

    async def answer() -> None:
        try:
            async with open_sandbox(plan.tier, limits) as sandbox:

                async def some(portion: Sequence[Item]) -> Sequence[Prediction]:
                    return await evaluate(
                        plan.program,
                        portion,
                        broker=broker,
                        roles=plan.roles,
                        sandbox=sandbox,
                        shape=plan.shape,
                    )

                await _in_portions(todo, plan.settings.concurrency, some, write)
        finally:
            await broker.close()
            await model.close()

    from tqdm import tqdm

    seconds = 0.5 if sys.stderr.isatty() else 10.0
    done = len(items) - len(todo)
    with tqdm(
        total=len(items), initial=done, desc=spec.name, unit="item", mininterval=seconds, file=sys.stderr
    ) as bar:

        def write(batch: Sequence[Prediction]) -> None:
            store.add_predictions(spec.id, batch)
            bar.set_postfix(calls=broker.spent.calls, cached=broker.spent.cached, refresh=False)
            bar.update(len(batch))

        asyncio.run(answer())
    return len(todo), broker.spent


async def _in_portions(
    items: Sequence[Item],
    concurrency: int,
    answer: Callable[[Sequence[Item]], object],
    write: Callable[[Sequence[Prediction]], None],
) -> None:
    """Answer and write items portion by portion, several portions under way at once."""
    size = max(_PORTION, math.ceil(concurrency / (_AHEAD - 1)))
    portions = iter([items[start : start + size] for start in range(0, len(items), size)])

    async def work() -> None:
        for portion in portions:
            predictions = await answer(portion)  # type: ignore[misc]
            await asyncio.to_thread(write, predictions)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(_AHEAD):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise _first(errors) from None


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
