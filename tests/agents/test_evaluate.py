"""The evaluation of a program's answers: options in source order, unreadable answers, errors on one item."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from oversight.agents.programs import PromptFormat, load_program
from oversight.agents.runtime import dry_run_program
from oversight.agents.sandbox import open_sandbox
from oversight.agents.sandbox.base import SandboxLimits
from oversight.harness import ProgramRefused, SandboxError, StoreError
from oversight.harness.llm import Request
from oversight.harness.types import PredictionStatus, Program
from tests.agents.helpers import ROLES, an_item, answer
from tests.agents.scripted import Scripted

UNREADABLE, OK = PredictionStatus.UNREADABLE, PredictionStatus.OK


def program(body: str) -> str:
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    return f"async def forward(task):\n{lines}\n"


def test_letters_and_texts_name_options_in_display_order() -> None:
    items = [an_item(4, f"i{n}") for n in range(4)]
    said = {"i0": "A", "i1": "the answer is (B)", "i2": "thing 0", "i3": "### C"}
    source = program(f"return {said}[task.text[8:10]]")
    assert [p.option for p in answer(source, items=items)] == [3, 2, 0, 1]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('return "?"', "none"),
        ('return ""', "empty"),
        ('return "A or B"', "several"),
        ("return 1", "forward returned int"),
        ("pass", "forward returned NoneType"),
        ("return 1 / 0", "ZeroDivisionError"),
        ("while True:\n    pass", "s between two calls|time limit"),
        ('return "x" * 10**6', "longer than 200,000 characters"),
        ('return await task.ask("answer")', "forward returned list"),
        ("await task.ask([])", "fields: give 1 to 16"),
        ('await task.ask(["x"], temperature=9)', "temperature: must be a number from 0 to 2"),
        ('await task.ask(["x"], ["plain text"])', "inputs must be the task and records"),
        ('for _ in range(99):\n    await task.ask(["x"])', "more than 64 calls"),
        ('await task.run_code("print(1)")', "not allowed in this study"),
    ],
)
@pytest.mark.parametrize("tier", ["monty", "cpython"])
def test_an_answer_without_an_option_is_unreadable_with_its_reason(tier: str, body: str, reason: str) -> None:
    limits = SandboxLimits(seconds=0.3)
    try:
        [prediction] = answer(program(body), items=[an_item(4)], tier=tier, limits=limits)
    except SandboxError as error:
        pytest.skip(f"the tier {tier} does not work here: {error}")
    assert (prediction.status, prediction.option) == (UNREADABLE, None)
    assert re.search(reason, prediction.reason)


def test_one_item_that_stops_the_session_does_not_harm_the_others() -> None:
    items = [an_item(3, f"i{n}") for n in range(6)]
    source = program(
        '(answer,) = await task.ask(["answer"])\nwhile "i3" in task.text:\n    pass\nreturn answer'
    )
    model = Scripted()
    predictions = answer(source, model, items, limits=SandboxLimits(seconds=0.2))
    assert [p.status for p in predictions] == [OK, OK, OK, UNREADABLE, OK, OK]
    assert len(model.requests) == 6  # no call is paid for twice
    assert {(p.input_tokens, p.output_tokens) for p in predictions} == {(100, 10)}


@pytest.mark.parametrize("fault", [StoreError("disk full"), ZeroDivisionError()])
def test_internal_error_ends_the_run_and_is_no_wrong_answer(fault: Exception) -> None:
    source = program('try:\n    await task.ask(["answer"])\nexcept Exception:\n    return "A"')
    with pytest.raises(type(fault)):
        answer(source, Scripted(lambda _: fault))


SENSE = {"kind": "ask", "fields": ["x"], "inputs": [], "instruction": "", "name": "", "role": ""}


@pytest.mark.parametrize("tier", ["monty", "cpython"])
@pytest.mark.parametrize(
    "call",
    [
        *(5, None, [], {"kind": 1}),
        *(SENSE | {"fields": fields} for fields in ("x", [], [["x"]], ["x", "x"], [1], [""])),
        *(SENSE | {"inputs": inputs} for inputs in (5, [[1, 2, 3, 4]], [["a", "b", "c", "d"]], ["x"])),
        *(SENSE | {part: 1} for part in ("instruction", "name", "role", "choices")),
        *(
            SENSE | {"choices": {name: texts}}
            for name, texts in (("x", list[object]()), ("y", ["a"]), ("x", [1]))
        ),
        *(SENSE | {"temperature": temperature} for temperature in (-0.5, 3, "hot", True)),
        *(SENSE | {"examples": examples} for examples in (-1, 0.5, "all")),
    ],
)
def test_malformed_call_fails_only_the_program(tier: str, call: object) -> None:
    model = Scripted()
    try:
        [prediction] = answer(program(f"await task.host({call})"), model, tier=tier)
    except SandboxError as error:
        pytest.skip(f"the tier {tier} does not work here: {error}")
    assert prediction.status is UNREADABLE
    assert "RuntimeError" in prediction.reason
    assert not model.requests


def test_characters_that_a_database_cannot_store_are_replaced() -> None:
    model = Scripted()
    source = program('await task.ask(["x"], [task], "a" + chr(0))\nreturn "b" + chr(0)')
    assert answer(source, model)[0].raw == "b?"
    assert model.requests[0].messages[-1].content.endswith("a?\n")


def test_a_reply_with_its_fields_in_another_order_unpacks_as_asked() -> None:
    model = Scripted(lambda _: json.dumps({"extra": 1, "answer": "B", "thinking": "A"}))
    assert [p.option for p in answer(load_program("cot"), model)] == [1]


def test_replicates_are_samples() -> None:
    assert [p.sample for p in answer(load_program("cot"), replicate=3)] == [3]


def test_many_items_in_several_sessions_keep_their_order() -> None:
    items = [an_item(3, f"i{n}") for n in range(150)]

    def say(request: Request) -> str:
        n = int(request.messages[-1].content.split("What is i")[1].split("?")[0])
        return json.dumps({"thinking": "", "answer": "ABC"[n % 3]})

    predictions = answer(load_program("cot"), Scripted(say), items)
    assert [p.item_id for p in predictions] == [item.id for item in items]
    assert [p.option for p in predictions] == [2 - n % 3 for n in range(150)]


def test_code_that_a_model_wrote_runs_where_the_study_allows_it() -> None:
    source = program("code, output = await programmer(task)\nreturn task.letters[int(output)]")
    codes = ["print(1 / 0)", "import os", "print(sum(range(2)))"]
    model = Scripted(lambda _: json.dumps({"code": codes.pop(0)}))
    [prediction] = answer(source, model, [an_item(3)], shape=PromptFormat(code=True))
    assert prediction.option == 1
    assert "error: ZeroDivisionError" in model.requests[1].messages[-1].content
    assert "may not import os" in model.requests[2].messages[-1].content


# --- the free run ---------------------------------------------------------------------------------


def rehearse(source: str) -> int:
    async def run() -> int:
        async with open_sandbox() as sandbox:
            return await dry_run_program(Program("test", source), sandbox=sandbox, roles=ROLES)

    return asyncio.run(run())


def test_the_smoke_run_counts_the_calls() -> None:
    assert rehearse(load_program("self-refine").source) == 11


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return task.letters[5]", "chose none of 2 options in the smoke run: IndexError"),
        ('return "?"', "chose none of"),
        ("import os", "line 2: may not import os"),
        ("return task.__dict__", "may not use the attribute __dict__"),
    ],
)
def test_the_smoke_run_refuses_before_a_token_is_spent(body: str, reason: str) -> None:
    with pytest.raises(ProgramRefused, match=reason):
        rehearse(program(body))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def forward(task):\n    return 'A'", "exactly one function `async def forward"),
        ("async def forward(task, other):\n    return 'A'", "must have exactly one required argument"),
        ("print(1)\nasync def forward(task):\n    return 'A'", "line 1: only imports"),
        ("async def forward(task):\n  return (", "is not Python"),
        ("x = 1\n" * 30_000, "is longer than"),
    ],
)
def test_the_gate_names_line_and_reason(source: str, reason: str) -> None:
    with pytest.raises(ProgramRefused, match=reason):
        answer(source)


def test_restrictions_name_what_a_tier_lacks() -> None:
    monty = open_sandbox("monty").restrictions()
    assert "no class inheritance" in monty
    assert "heapq" not in monty
    assert "heapq" in open_sandbox("cpython").restrictions()
