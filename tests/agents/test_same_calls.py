"""A program makes the same calls in any batch and session, and cannot tell a race from use."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from oversight.agents.sandbox import Host, Payload, open_sandbox
from oversight.harness import SandboxError
from oversight.harness.types import Program

SOURCE = """
import datetime
import random

SEEN = []


async def forward(task):
    SEEN.append(task.text)
    words = [word for word in {"alpha", "beta", "gamma", "delta", "epsilon"}]
    said = [str(len(SEEN)), str(random.random()), str(random.Random().random()), " ".join(words)]
    said.append(str(datetime.datetime.now()))
    (answer,) = await task.ask(["answer"], [], " ".join(said))
    return answer
"""


@dataclass
class Echo(Host):
    asked: dict[int, str] = field(default_factory=dict)

    async def ask(self, index: int, call: Payload) -> Payload:
        self.asked[index] = call["instruction"]
        await asyncio.sleep(0.01 * (index % 3))
        return {"answer": call["instruction"]}


def payload(text: str) -> Payload:
    return {"text": text, "options": [], "letters": [], "answers": [], "roles": [], "code_allowed": False}


@pytest.mark.parametrize("tier", ["monty", "cpython"])
def test_calls_do_not_depend_on_batch_session_or_process(tier: str) -> None:
    async def run(texts: list[str]) -> list[str | None]:
        async with open_sandbox(tier) as sandbox:
            outcomes = await sandbox.run(Program("x", SOURCE), [payload(t) for t in texts], Echo())
        return [found.answer for found in outcomes]

    try:
        alone, together = asyncio.run(run(["a"])), asyncio.run(run(["b", "c", "a", "d"]))
    except SandboxError as error:
        pytest.skip(f"the tier {tier} does not work here: {error}")
    assert alone[0] is not None
    assert set(together) == set(alone)


@pytest.mark.parametrize("tier", ["monty", "cpython"])
def test_a_program_does_not_see_which_reply_came_first(tier: str) -> None:
    source = """
import asyncio


async def one(task, number, order):
    await task.ask(["answer"], [], str(number))
    order.append(str(number))


async def forward(task):
    order = []
    await asyncio.gather(one(task, 3, order), one(task, 2, order), one(task, 1, order))
    return " ".join(order)
"""

    @dataclass
    class Slow(Host):
        waits: list[float]

        async def ask(self, index: int, call: Payload) -> Payload:  # noqa: ARG002  as hosts have it
            await asyncio.sleep(self.waits[int(call["instruction"]) - 1])
            return {"answer": "A"}

    async def run(*waits: float) -> str | None:
        async with open_sandbox(tier) as sandbox:
            (found,) = await sandbox.run(Program("x", source), [payload("a")], Slow(list(waits)))
        return found.answer

    try:
        waits = [(0, 0, 0)] * 5 + [(0.1, 0.2, 0.3), (0.3, 0.1, 0.2)]
        found = [asyncio.run(run(*one)) for one in waits]
        assert len(set(found)) == 1, found
    except SandboxError as error:
        pytest.skip(f"the tier {tier} does not work here: {error}")
