"""The seven hand-made workflows make the calls that their descriptions say."""

from __future__ import annotations

import json

import pytest

from oversight.agents.programs import NAMES, load_program
from oversight.agents.sandbox.gate import check_program
from oversight.harness import ConfigError
from oversight.harness.llm import Request
from oversight.harness.types import PredictionStatus
from tests.agents.helpers import ROLES, an_item, answer
from tests.agents.scripted import Scripted, obliging

NEVER_CONTENT = {"correct": "False"}


def saying(**fields: str) -> Scripted:
    """A model that puts these contents into fields of these names."""

    def say(request: Request) -> str:
        parts = dict(line.split(": ", 1) for line in obliging(request).splitlines())
        return "\n".join(f"{name}: {fields.get(name.lower(), text)}" for name, text in parts.items())

    return Scripted(say)


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("cot", 1),
        ("cot-sc", 5),
        ("self-refine", 2),
        ("debate", 9),
        ("step-back", 2),
        ("quality-diversity", 5),
        ("role-assignment", 2),
    ],
)
@pytest.mark.parametrize("k", [2, 5, 30])
def test_workflow_makes_its_stated_calls_and_answers(name: str, calls: int, k: int) -> None:
    model = Scripted()
    [prediction] = answer(load_program(name), model, [an_item(k)])
    assert len(model.requests) == calls
    assert (prediction.status, prediction.option) == (PredictionStatus.OK, k - 1)  # the first option shown


def test_all_of_the_library_is_named_and_passes_the_gate() -> None:
    assert len(NAMES) == 7
    for name in NAMES:
        program = load_program(name)
        check_program(program)
        assert program.thought


def test_an_unknown_workflow_is_refused() -> None:
    with pytest.raises(ConfigError, match="there is no workflow 'best'; there are: cot, cot-sc"):
        load_program("best")


def test_self_refinement_goes_on_until_the_critic_is_content() -> None:
    model = saying(correct="False")
    answer(load_program("self-refine"), model)
    assert len(model.requests) == 11
    last = model.requests[-1].messages[-1].content
    assert [last.count(part) for part in ("### thinking", "### answer", "### feedback")] == [5, 5, 5]


def test_debaters_see_their_own_thinking_first_and_no_answers() -> None:
    def say(request: Request) -> str:
        who = request.messages[0].content.split("\n")[0]
        return json.dumps({"answer": "B", "thinking": f"as {who}"})

    model = Scripted(say)
    answer(load_program("debate"), model)
    second = [r.messages[-1].content for r in model.requests[4:8]]
    for role, text in zip(ROLES, second, strict=True):
        assert text.index(f"by {role.name} (yourself)\nas {role.text}") < min(
            text.index(f"as {other.text}") for other in ROLES if other is not role
        )
        assert "### answer" not in text
    judge = model.requests[8]
    assert judge.messages[-1].content.count("### answer, round 2") == 4
    assert [r.temperature for r in model.requests] == [0.8] * 8 + [0.1]
    assert model.requests[0].messages[0].content.startswith("You are a biologist.")


def test_quality_diversity_shows_every_attempt_to_the_next() -> None:
    model = Scripted()
    answer(load_program("quality-diversity"), model)
    assert [r.messages[-1].content.count("### thinking") for r in model.requests] == [0, 1, 2, 3, 4]
    assert [r.temperature for r in model.requests] == [0.5] * 4 + [0.1]


@pytest.mark.parametrize(
    ("choice", "role"), [("chemist", "You are a chemist."), ("a poet", "You are a generalist.")]
)
def test_the_router_names_who_answers(choice: str, role: str) -> None:
    model = saying(choice=choice)
    answer(load_program("role-assignment"), model)
    assert model.requests[1].messages[0].content.startswith(role)


@pytest.mark.parametrize(("letters", "option"), [("CABBA", 2), ("CABBB", 1)])
def test_the_most_frequent_answer_wins_and_the_first_seen_wins_a_tie(letters: str, option: int) -> None:
    left = list(letters)  # A is shown first: option 2
    model = Scripted(lambda _: json.dumps({"thinking": "", "answer": left.pop(0)}))
    [prediction] = answer(load_program("cot-sc"), model)
    assert prediction.option == option


def test_samples_are_drawn_at_the_workflows_temperature() -> None:
    model = Scripted()
    answer(load_program("cot-sc"), model)
    assert {r.temperature for r in model.requests} == {0.8}
    assert len({r.text() for r in model.requests}) == 1
