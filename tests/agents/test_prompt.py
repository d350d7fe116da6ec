"""How calls are worded: fields, options, examples, records; whole objects and lines."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from oversight.agents.programs import Example, PromptFormat, load_program
from oversight.harness.types import Item, PredictionStatus
from tests.agents.helpers import answer
from tests.agents.scripted import Scripted

ITEM = Item("i0", "What is the sky?", ("red", "green", "blue"), (2, 0, 1))
EXAMPLES = (Example("grass?", "green", "it grows"), Example("a stone?", "grey"))


def sent(shape: PromptFormat, model: Scripted | None = None) -> Scripted:
    model = model or Scripted()
    answer(load_program("cot"), model, [ITEM], shape=shape)
    return model


def test_the_answer_is_asked_for_on_a_last_line() -> None:
    [request] = sent(PromptFormat(examples=EXAMPLES, field_chars=9)).requests
    system, question, solved, last = request.messages  # the example whose answer the item lacks is left out
    assert system.content == (
        "You are a helpful assistant.\n"
        "Reply with these parts, in this order. Begin each with its name, on a line of its own:\n"
        "THINKING: your thinking, at most 9 characters\n"
        "ANSWER: only the letter of the option you choose, one of: A, B, C\n"
        "Your last line has the form ANSWER: X\n"
    )
    assert question.content == "### Question\ngrass?\n"
    assert solved.content == "THINKING: it grows\nANSWER: C\n"
    assert last.content.startswith("### Question\nWhat is the sky?\n(A) blue\n(B) red\n(C) green\n\n")
    assert request.schema is None


def test_json_style_asks_for_one_object_with_a_schema() -> None:
    [request] = sent(PromptFormat(style="json", examples=EXAMPLES, field_chars=9)).requests
    system, _, solved, _ = request.messages
    assert system.content.endswith('- "answer": only the letter of the option you choose, one of: A, B, C\n')
    assert json.loads(solved.content) == {"thinking": "it grows", "answer": "C"}
    assert request.schema is not None
    assert request.schema["properties"] == {
        "thinking": {"type": "string", "maxLength": 9},
        "answer": {"type": "string", "enum": ["A", "B", "C"]},
    }
    assert request.schema["required"] == ["thinking", "answer"]


def test_answers_may_be_texts_of_options() -> None:
    [request] = sent(PromptFormat(answer="option", max_words=2)).requests
    assert "one of: blue, red, green" in request.messages[0].content
    assert request.messages[-1].content.startswith("### Question\nWhat is\n\n")
    [prediction] = answer(
        load_program("cot"),
        Scripted(lambda _: '{"thinking": "", "answer": "red"}'),
        [ITEM],
        shape=PromptFormat(answer="option"),
    )
    assert prediction.option == 0


def test_lines_are_completed_one_by_one() -> None:
    shape = PromptFormat(
        style="lines",
        answer="option",
        max_tokens=7,
        examples=EXAMPLES,
        labels={"question": "Q:", "answer": "It is", "options": "Colours:"},
    )
    said = [" it is high\nQ: next", " blue."]
    model = sent(shape, Scripted(lambda _: said.pop(0)))
    first, second = (request.messages[0].content for request in model.requests)
    assert first == (
        "Think step by step, then answer.\nColours: blue, red, green.\n\n"
        "Q: grass?\nThinking: it grows\nIt is green.\n\nQ: What is the sky?\nThinking:"
    )
    assert second == f"{first} it is high\nIt is"
    assert {(r.max_tokens, r.stop, r.schema) for r in model.requests} == {(7, ("\n",), None)}
    said = ["", " red"]
    [prediction] = answer(load_program("cot"), Scripted(lambda _: said.pop(0)), [ITEM], shape=shape)
    assert prediction.option == 0  # an empty line is the model's whole reasoning


def test_a_program_may_show_fewer_examples() -> None:
    source = 'async def forward(task):\n    return (await task.ask(["answer"], examples=0))[0]\n'
    model = Scripted()
    answer(source, model, [ITEM], shape=PromptFormat(examples=EXAMPLES))
    assert len(model.requests[0].messages) == 2


def test_the_ensemble_returns_the_solution_that_is_named() -> None:
    source = """
async def forward(task):
    solutions = ["it is red", "it is green", "it is blue"]
    one = await sc_ensemble(task, solutions)
    most = await md_ensemble(task, solutions, votes=3)
    accepted, feedback = await review(task, one)
    assert (accepted, feedback) == (False, "why?")
    return one + " " + most
"""
    reply = json.dumps({"thought": "", "solution": "B", "result": "reject", "feedback": "why?"})
    model = Scripted(lambda _: reply)
    [prediction] = answer(source, model, [ITEM])
    # B names another solution in each order; with one vote for each of three solutions, the first wins.
    assert prediction.raw == "it is green it is green"
    assert len(model.requests) == 1 + 3 + 1


@pytest.mark.parametrize(
    ("reply", "option"),
    [
        ("THINKING: It is high.\nIt is wide.\n\nANSWER: B", 0),
        ("It is high.\n\n**ANSWER:** (B) red", 0),
        ("## THINKING\nHigh.\n## ANSWER: red.", 0),
        ("<think>ANSWER: A</think>THINKING: ANSWER is not A.\nANSWER: C\n", 1),
        ("ANSWER: B\nTHINKING: as it burns", 0),
        ("ANSWER: A\nTHINKING: no, wait\nANSWER: B", None),
        ("THINKING: either\nANSWER: A or B", None),
        ("THINKING: either\nANSWER:", None),
        ("THINKING: either", None),
        ('{"thinking": "", "answer": "B"}', 0),
        ('```json\n{"answer": "B", "thinking": "ANSWER: A"}\n```', 0),
        ("思考\nANSWER：B", 0),
    ],
)
def test_parts_are_read_whatever_stands_around_them(reply: str, option: int | None) -> None:
    model = Scripted(lambda _: reply)
    [prediction] = answer(load_program("cot"), model, [ITEM])
    assert prediction.option == option


def test_differently_formatted_equal_answers_count_as_equal_votes() -> None:
    source = """
async def forward(task):
    replies = [await task.ask(["thinking", "answer"], [task], str(j)) for j in range(3)]
    return " ".join(answer.content for _, answer in replies)
"""
    said = ["THINKING: a\nANSWER: (B) red", "THINKING: b\nANSWER: **B**", "THINKING: c\nANSWER: red"]
    [prediction] = answer(source, Scripted(lambda _: said.pop(0)), [ITEM])
    assert prediction.raw == "B B B"


def test_a_reply_that_lacks_a_part_is_asked_for_once_more() -> None:
    said = ["It is high.", "THINKING: high\nANSWER: B"]
    model = Scripted(lambda _: said.pop(0))
    [prediction] = answer(load_program("cot"), model, [ITEM])
    assert prediction.option == 0
    wish = model.requests[1].messages[-1].content
    assert "the part THINKING: and ANSWER: is missing" in wish


@pytest.mark.parametrize("depth", [100, 990, 5_000])
def test_a_field_that_is_nested_too_deep_is_wrong_and_ends_nothing(depth: int) -> None:
    deep = '{"thinking": "x", "answer": ' + '{"answer": ' * depth + '"A"' + "}" * depth + "}"
    model = Scripted(lambda _: deep)
    [prediction] = answer(load_program("cot"), model, [ITEM])
    assert (prediction.option, prediction.status) == (None, PredictionStatus.UNREADABLE)
    assert len(model.requests) == 2  # a missing field is requested again


def test_half_a_surrogate_pair_that_json_spells_reaches_the_program_as_a_character() -> None:
    model = Scripted(lambda _: r'{"thinking": "\ud800", "answer": "B"}')
    items = [ITEM, replace(ITEM, id="i1")]
    for tier in ("monty", "cpython"):
        found = answer(load_program("cot"), model, items, tier=tier)
        assert [prediction.option for prediction in found] == [0, 0], tier


@pytest.mark.parametrize("style", ["parts", "json", "lines"])
def test_an_item_is_never_its_own_example(style: str) -> None:
    own = Example("What  is the\nsky?", "blue")
    shape = PromptFormat(style=style, examples=(*EXAMPLES, own))  # type: ignore[arg-type]
    other = replace(ITEM, id="i1", text="What is the sea?")
    for item, shows in ((other, True), (ITEM, False), (other, True)):
        model = Scripted()
        answer(load_program("cot"), model, [item], shape=shape)
        text = "\n".join(message.content for message in model.requests[0].messages)
        assert (own.text in text) == shows
        assert "grass?" in text
