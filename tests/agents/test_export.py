"""Exported workflows answer as they do in the sandbox."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from oversight.agents.programs import NAMES, Example, PromptFormat, Role, load_program
from oversight.agents.runtime import Broker, Workbench, answer_items
from oversight.agents.sandbox import open_sandbox
from oversight.agents.standalone import Workflow
from oversight.harness import BadInput, DataError
from oversight.harness.llm import Budget
from oversight.harness.types import Item, Prediction, Program
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


HOSTILE = '"""\n' + 'open("PATH", "w").write("x")' + "\n\u2028\x00\x1b[31m{0.__class__}"


async def in_sandbox(program: Program) -> list[Prediction]:
    broker = Broker(Scripted(), "m", budget=Budget(None, None, None))
    async with open_sandbox() as sandbox:
        return await answer_items(program, ITEMS, Workbench(broker, sandbox, ROLES, SHAPE))


def exported(program: Program, path: Path, options: tuple[str, ...] = ()) -> Workflow:
    """The workflow, once written to a file and read again."""
    workflow = Workflow(program=program, options=options, shape=SHAPE, roles=ROLES, search="s1")
    path.write_text(workflow.write_json(), encoding="utf-8")
    found = Workflow.read(path)
    assert found == workflow
    return found


@pytest.mark.parametrize("name", [*NAMES, "bare"])
def test_an_exported_workflow_answers_as_in_the_sandbox(name: str, tmp_path: Path) -> None:
    program = Program("bare", BARE, HOSTILE) if name == "bare" else load_program(name)
    workflow = exported(program, tmp_path / "winner.json")
    found = asyncio.run(workflow.answer(ITEMS, Scripted()))
    expected = asyncio.run(in_sandbox(program))
    assert [(p.option, p.status, p.raw) for p in found] == [(p.option, p.status, p.raw) for p in expected]
    assert all(p.option is not None for p in found)


def test_items_with_other_options_are_refused(tmp_path: Path) -> None:
    workflow = exported(load_program("cot"), tmp_path / "winner.json", ("green", "red"))
    with pytest.raises(BadInput, match=r"'i1'.*can answer only with green, red"):
        asyncio.run(workflow.answer(ITEMS, Scripted()))


@pytest.mark.parametrize(
    ("text", "told"),
    [("{", "not an exported workflow"), ("[]", "exported"), ('{"program": {"name": "a"}}', "program.source")],
)
def test_a_file_that_is_no_exported_workflow_is_refused(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "winner.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=told):
        Workflow.read(tmp_path / "winner.json")
