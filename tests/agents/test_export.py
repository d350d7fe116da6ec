"""Exported workflows answer as they do in the sandbox."""

from __future__ import annotations

import asyncio
from types import ModuleType

import pytest

from agents.programs import NAMES, Example, PromptFormat, Role, load_program
from agents.runtime import Broker, Workbench, answer_items
from agents.sandbox import open_sandbox
from agents.search.winner_file import write_file
from harness.llm import Budget
from harness.types import Item, Prediction, Program
from tests.agents.scripted import Scripted

ROLES = (Role("chemist", "You are a chemist."), Role("generalist", "You are a generalist."))
SHAPE = PromptFormat(
    answer="option", examples=(Example('A "quoted" text\\', "red", "thought"),), labels={"answer": "A:"}
)
ITEMS = [
    Item(f"i{n}", f"What is {n}?", ("red", "green", "blue")[: 2 + n % 2], (1, 0, 2)[: 2 + n % 2])
    for n in range(4)
]
BARE = '''\
"""Uses what stands in front of every program, without importing it."""


async def forward(task):
    first = await answer_generate(task)
    texts = await asyncio.gather(*[sc_ensemble(task, [first[1], first[1]]) for _ in range(2)])
    return vote([Record("answer", text) for text in texts] + [statistics.mode(first[1:])])
'''


def imported(text: str) -> ModuleType:
    module = ModuleType("winner")
    exec(compile(text, "winner.py", "exec"), module.__dict__)  # noqa: S102  written by us, of the library
    return module


async def in_sandbox(program: Program) -> list[Prediction]:
    broker = Broker(Scripted(), "m", budget=Budget(None, None, None))
    async with open_sandbox() as sandbox:
        return await answer_items(program, ITEMS, Workbench(broker, sandbox, ROLES, SHAPE))


@pytest.mark.parametrize("name", [*NAMES, "bare"])
def test_an_exported_workflow_answers_as_in_the_sandbox(name: str) -> None:
    program = Program("bare", BARE, 'Says """so""" \\') if name == "bare" else load_program(name)
    module = imported(write_file(program, SHAPE, ROLES, (), title="A workflow.", name="winner.py"))
    assert module.__doc__ is not None
    found = asyncio.run(module.WORKFLOW.answer(ITEMS, Scripted()))
    expected = asyncio.run(in_sandbox(program))
    assert [(p.option, p.status, p.raw) for p in found] == [(p.option, p.status, p.raw) for p in expected]
    assert all(p.option is not None for p in found)
