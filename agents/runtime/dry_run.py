"""A free run of a program against a model that only plays along, before any call is paid for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agents.programs import DEFAULT_FORMAT, PromptFormat, Role
from agents.runtime.broker import Broker
from agents.runtime.host import answer_items
from harness import ProgramRefused
from harness.llm import FREE, Budget, ModelReply, Request
from harness.types import Item, PredictionStatus, Program

if TYPE_CHECKING:
    from agents.sandbox import Sandbox

SIZES = (2, 4, 11)
"""Numbers of options that a program must cope with, if the study has no numbers of its own."""


async def dry_run_program(
    program: Program,
    *,
    sandbox: Sandbox,
    roles: Sequence[Role],
    shape: PromptFormat = DEFAULT_FORMAT,
    sizes: Iterable[int] = SIZES,
) -> int:
    """Run a program on made-up items of several sizes, with replies that are always in order.

    Returns
    -------
    int
        Most calls that it made for one item: what an item will cost at least.

    Raises
    ------
    ProgramRefused
        If the gate refuses it, or it fails, or does not return an option that the model named.
    """
    most = 0
    shape = replace(shape, style="json")  # whose schema tells the model what to play along with
    for size in sizes:
        for pick in (0, -1):  # a critic who is content, and one who never is
            model = _Obliging(pick)
            broker = Broker(model, "smoke", budget=Budget(None, None, FREE))
            (prediction,) = await answer_items(
                program, [_item(size)], broker=broker, roles=roles, sandbox=sandbox, shape=shape
            )
            most = max(most, model.calls)
            if prediction.status is not PredictionStatus.OK:
                said = f" from {prediction.raw[:100]!r}" if prediction.raw else ""
                raise ProgramRefused(
                    f"workflow {program.name!r} names no option of {size} in the smoke run: "
                    f"{prediction.reason}{said}"
                )
    return most


def _item(size: int) -> Item:
    options = tuple(f"option {chr(97 + j) * 3}" for j in range(size))
    return Item("smoke", "Which one is it?", options, tuple(reversed(range(size))))


@dataclass(slots=True)
class _Obliging:
    """Fills in every field that is asked for: of choices the first or the last, else some words."""

    pick: int
    calls: int = 0

    async def ask(self, request: Request) -> ModelReply:
        self.calls += 1
        properties: dict[str, Any] = (request.schema or {}).get("properties", {})
        fields = {
            name: spec["enum"][self.pick] if "enum" in spec else "Some words."
            for name, spec in properties.items()
        }
        return ModelReply(json.dumps(fields), "stop", 1, 1)

    async def close(self) -> None:
        """Nothing to free."""
