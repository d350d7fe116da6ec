"""Exported workflows answer as they do in the sandbox."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import ModuleType

import pytest

from oversight.agents.programs import NAMES, Example, PromptFormat, Role, load_program
from oversight.agents.runtime import Broker, Workbench, answer_items
from oversight.agents.sandbox import open_sandbox
from oversight.agents.search.winner_file import make_setting, write_file
from oversight.agents.standalone import Workflow
from oversight.harness import BadInput
from oversight.harness.llm import Budget
from oversight.harness.types import Item, Prediction, Program
from tests.agents.hostile_exports import hostile_programs
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


def written(program: Program) -> str:
    setting = make_setting(SHAPE, ROLES, (), "monty")
    return write_file(program, setting, search="s1", file="winner.py")


@pytest.mark.parametrize("name", [*NAMES, "bare"])
def test_an_exported_workflow_answers_as_in_the_sandbox(name: str) -> None:
    program = Program("bare", BARE, 'Says """so""" \\') if name == "bare" else load_program(name)
    module = imported(written(program))
    assert module.__doc__ is not None
    assert (program.name, program.thought.strip()) == (module.NAME, module.THOUGHT)
    found = asyncio.run(module.WORKFLOW.answer(ITEMS, Scripted()))
    expected = asyncio.run(in_sandbox(program))
    assert [(p.option, p.status, p.raw) for p in found] == [(p.option, p.status, p.raw) for p in expected]
    assert all(p.option is not None for p in found)


def test_nothing_that_a_model_wrote_runs_when_an_export_is_imported(tmp_path: Path) -> None:
    marker = tmp_path / "written"
    programs = hostile_programs(str(marker))
    assert len(programs) >= 40
    for program in programs:
        module = imported(written(program))
        assert program.source == module.SOURCE
        assert (program.name, program.thought.strip()) == (module.NAME, module.THOUGHT)
        assert not marker.exists(), program


def test_a_file_that_was_exported_before_names_no_tier_and_still_answers() -> None:
    setting = make_setting(SHAPE, ROLES, (), "monty")
    del setting["tier"]
    module = imported(write_file(load_program("cot"), setting, search="s1", file="w.py"))
    found = asyncio.run(module.WORKFLOW.answer(ITEMS, Scripted()))
    assert all(p.option is not None for p in found)


def test_a_workflow_takes_no_code_that_runs_outside_the_sandbox() -> None:
    async def forward(task: object) -> object:
        return task

    with pytest.raises(BadInput, match="source of a workflow as text"):
        Workflow(forward, make_setting(SHAPE, ROLES, (), "monty"))  # type: ignore[arg-type]
