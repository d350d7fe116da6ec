"""Running programs against a scripted model in a few words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from oversight.agents.programs import DEFAULT_FORMAT, PromptFormat, Role
from oversight.agents.runtime import Broker, Workbench, answer_items
from oversight.agents.sandbox import open_sandbox
from oversight.agents.sandbox.base import DEFAULT_LIMITS, SandboxLimits
from oversight.harness.llm import Budget
from oversight.harness.types import Item, Prediction, Program
from tests.agents.scripted import Scripted

ROLES = tuple(
    Role(name, f"You are a {name}.") for name in ("biologist", "physicist", "chemist", "generalist")
)
FREE = Budget(None, None, None)


def an_item(k: int = 3, name: str = "i0") -> Item:
    return Item(name, f"What is {name}?", tuple(f"thing {j}" for j in range(k)), tuple(reversed(range(k))))


def answer(
    program: Program | str,
    model: Scripted | None = None,
    items: Sequence[Item] | None = None,
    *,
    tier: str = "monty",
    limits: SandboxLimits = DEFAULT_LIMITS,
    shape: PromptFormat = DEFAULT_FORMAT,
    replicate: int = 0,
    **settings: Any,
) -> list[Prediction]:
    """Run a program, or the source of one, over items."""
    program = Program("test", program) if isinstance(program, str) else program
    settings.setdefault("budget", FREE)
    broker = settings.pop("broker", None) or Broker(model or Scripted(), "scripted", **settings)

    async def run() -> list[Prediction]:
        async with open_sandbox(tier, limits) as sandbox:
            bench = Workbench(broker, sandbox, ROLES, shape)
            return await answer_items(program, items if items is not None else [an_item()], bench, replicate)

    return asyncio.run(run())
