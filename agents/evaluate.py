"""A program's answers to items, as predictions like any model's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.broker import Broker
    from agents.program import Program
    from agents.roles import Role
    from agents.sandbox import Sandbox
    from harness.types import Item, Prediction

DEFAULT_SHAPE = Shape()


async def evaluate(
    program: Program,
    items: Sequence[Item],
    *,
    broker: Broker,
    roles: Sequence[Role],
    replicate: int = 0,
    sandbox: Sandbox,
    shape: Shape = DEFAULT_SHAPE,
) -> list[Prediction]:
    """Answer every item with a program.

    A program that raises, loops or passes a limit has answered and named no option: UNREADABLE,
    which is wrong on the accuracy scale, so that crashing never pays. Only what the program cannot
    help is FAILED: a call that failed after all retries (whatever the program made of it), or a
    sandbox that broke of itself.

    Parameters
    ----------
    program
        What to run.
    items
        What to answer.
    broker
        The only way to the model.
    roles
        Experts the program may name, see `agents.roles`.
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
        If the sandbox cannot be started.
    """
    raise NotImplementedError
