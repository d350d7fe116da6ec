"""Edits of a workflow's source keep it a workflow: everything that recombination makes runs."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from oversight.agents.programs import load_program
from oversight.agents.runtime import dry_run_program
from oversight.agents.sandbox import open_sandbox
from oversight.agents.search.policies.recombine import (
    EDITS,
    Recombine,
    add_vote,
    read_constants,
    read_wordings,
    remove_thinking,
    replace_constants,
    run_beside,
    set_argument,
)
from oversight.harness.types import Program
from tests.agents.helpers import ROLES

COT = load_program("cot").source


def test_constants_are_found_and_changed() -> None:
    found = read_constants(COT)
    assert found["TEMPERATURE"] == 0.5
    changed = replace_constants(COT, {"TEMPERATURE": 0.0, "ABSENT": 1})
    assert read_constants(changed) == {**found, "TEMPERATURE": 0.0}


def test_an_argument_is_passed_once() -> None:
    once = set_argument(COT, "examples", "EXAMPLES", 2)
    twice = set_argument(once, "examples", "EXAMPLES", 4)
    assert once.count("examples=EXAMPLES") == twice.count("examples=EXAMPLES") == 1
    assert read_constants(twice)["EXAMPLES"] == 4


def test_thinking_is_dropped_only_where_nobody_reads_it() -> None:
    assert '"thinking"' not in remove_thinking(COT).replace("'", '"')
    debate = load_program("debate").source
    assert remove_thinking(debate).count("thinking") >= 2


def test_two_workflows_side_by_side_keep_their_own_constants() -> None:
    other = replace_constants(COT, {"TEMPERATURE": 1.0})
    both = read_constants(run_beside(COT, other))
    assert (both["TEMPERATURE_1"], both["TEMPERATURE_2"]) == (0.5, 1.0)


@pytest.mark.parametrize("name", ["cot-sc", "debate", "role-assignment"])
def test_every_edit_gives_a_workflow_that_runs(name: str) -> None:
    source, other = load_program(name).source, load_program("role-assignment").source
    maker, rng = Recombine(read_wordings()), np.random.default_rng(0)
    programs = {op: edit(maker, source, other, rng)[0] for op, edit in EDITS.items()}
    programs["vote of two"] = add_vote(set_argument(source, "role", "ROLE", "You are calm."), 2)
    programs["two"] = run_beside(source, add_vote(other, 2))

    async def go() -> list[int]:
        async with open_sandbox() as sandbox:
            return [
                await dry_run_program(Program(op, text), sandbox=sandbox, roles=ROLES)
                for op, text in programs.items()
            ]

    assert min(asyncio.run(go())) >= 1
