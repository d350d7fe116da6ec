"""A program's answers to items, as predictions like any model's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.programs import DEFAULT_FORMAT, PromptFormat, Role
from agents.runtime.host import WorkflowHost
from agents.sandbox import ProgramOutcome, Sandbox, check_program
from harness.llm import Unreadable, parse_answer
from harness.types import Item, Prediction, PredictionStatus, Program

if TYPE_CHECKING:
    from agents.runtime.broker import Broker

BATCH = 64
"""Items of one session: enough that its start costs nothing, few enough to hold in memory."""


async def answer_items(
    program: Program,
    items: Sequence[Item],
    *,
    broker: Broker,
    roles: Sequence[Role],
    replicate: int = 0,
    sandbox: Sandbox,
    shape: PromptFormat = DEFAULT_FORMAT,
) -> list[Prediction]:
    """Answer every item with a program.

    A program that raises, loops or passes a limit has answered and named no option: UNREADABLE,
    which is wrong on the accuracy scale, so that crashing never pays. Only what the program cannot
    help is FAILED: a call that failed after all retries, whatever the program made of it.

    Parameters
    ----------
    program
        What to run.
    items
        What to answer.
    broker
        The only way to the model.
    roles
        Experts the program may name, see `agents.programs.roles`.
    replicate
        Number of the independent repetition; it becomes the predictions' `sample`.
    sandbox
        Where the program runs.
    shape
        How calls are worded in this study.

    Returns
    -------
    list of Prediction
        One per item, in order; tokens are summed over the item's calls, cached ones included.

    Raises
    ------
    ProgramRefused
        If the static gate refuses the source.
    BudgetSpent
        If the budget ends; what was answered stays in the broker's cache.
    FatalModelError
        If the endpoint refuses in a way that no repetition mends.
    SandboxError
        If the sandbox itself cannot work.
    """
    check_program(program)
    batches = [items[start : start + BATCH] for start in range(0, len(items), BATCH)]

    async def answer(batch: Sequence[Item]) -> list[Prediction]:
        desk = WorkflowHost(batch, broker, roles, shape, replicate, sandbox)
        outcomes = await sandbox.run(program, desk.payloads(), desk)
        if desk.fatal is not None:
            raise desk.fatal
        return [prediction_of(desk, j, outcome) for j, outcome in enumerate(outcomes)]

    tasks = [asyncio.create_task(answer(batch)) for batch in batches]
    try:
        return [prediction for done in await asyncio.gather(*tasks) for prediction in done]
    finally:
        for task in tasks:
            task.cancel()


def prediction_of(desk: WorkflowHost, index: int, outcome: ProgramOutcome) -> Prediction:
    """Read what became of one of the desk's items."""
    item, tally = desk.items[index], desk.tallies[index]
    option, status, reason = None, PredictionStatus.UNREADABLE, outcome.reason
    if tally.failed:
        status, reason = PredictionStatus.FAILED, tally.failed
    elif outcome.answer is not None:
        shown = parse_answer(outcome.answer, item.shown_options, asked=desk.asked)
        if isinstance(shown, Unreadable):
            reason = shown.reason
        else:
            option, status, reason = item.permutation[shown], PredictionStatus.OK, ""
    return Prediction(
        item.id,
        option,
        status,
        reason,
        sample=desk.replicate,
        raw=outcome.answer or "",
        input_tokens=tally.input_tokens,
        output_tokens=tally.output_tokens,
        seconds=tally.seconds,
    )
