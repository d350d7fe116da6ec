"""Proposers that ask a model: every way in which its replies go wrong, over a real connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from oversight.agents.programs import load_program
from oversight.agents.runtime import Broker, dry_run_program
from oversight.agents.sandbox import open_sandbox
from oversight.agents.search import ExpertLabels, Policy, search
from oversight.agents.search.policies.model_policies import Adas, AFlow, Reflect, doubt
from oversight.agents.search.policies.optimizer import Ask, Optimizer, parse_fields
from oversight.harness.config import ModelSection, SearchSection
from oversight.harness.llm import Budget, make_model
from oversight.harness.types import Item, Label, LabelKind
from tests.agents.simulated_search import World
from tests.agents.test_search_loop import Known
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

CODE = """\
async def forward(task):
    _, answer = await task.ask(["thinking", "answer"], [task], "Variant {n}: look twice.")
    return answer
"""
FIELDS = ("thought", "name", "code")


def reply_of(n: int = 0, **more: Any) -> dict[str, Any]:
    told = {"thought": "look twice", "name": f"twice {n}", "code": CODE.format(n=n)}
    told |= {"modification": f"change {n}", "diagnosis": "haste", "reflection": "fine"}
    return told | more


def reordered(n: int) -> str:
    return json.dumps(dict(reversed(reply_of(n).items())))


GOOD: dict[str, Callable[[int], str]] = {
    "plain": lambda n: json.dumps(reply_of(n)),
    "reordered": reordered,
    "fenced": lambda n: f"Here it is:\n```json\n{json.dumps(reply_of(n), indent=1)}\n```\nGood luck!",
    "after a thought": lambda n: f"<think>{{}} {json.dumps(reply_of(9))}</think>\n{json.dumps(reply_of(n))}",
    "raw line breaks": lambda n: json.dumps(reply_of(n)).replace("\\n", "\n"),
    "fence in the code": lambda n: json.dumps(reply_of(n, code=f"```python\n{CODE.format(n=n)}```")),
    "surplus keys": lambda n: json.dumps(reply_of(n, fitness="100 %", answer=["A"], right_answer={"x": 1})),
    "triple quotes": lambda n: (
        json.dumps({k: v for k, v in reply_of(n).items() if k != "code"})[:-1]
        + f', "code": """\n{CODE.format(n=n)}"""\n}}'
    ),
    "tags": lambda n: "".join(f"<{k}>{v}</{k}>\n" for k, v in reply_of(n).items()),
}
BAD: dict[str, str] = {
    "malformed": '{"thought": "x", "name": "y", "code": ',
    "truncated": json.dumps(reply_of())[:-40],
    "empty object": "{}",
    "no object": "I would rather talk about the weather.",
    "code that does not parse": json.dumps(reply_of(code="async def forward(task:\n  return")),
    "code without forward": json.dumps(reply_of(code="print('hello')")),
    "code that is a list": json.dumps(reply_of(code=["async def forward(task): ..."])),
    "a nest": "{" * 5000,
    "nul": json.dumps(reply_of(code="async def forward(task):\n  return '\0'\n")),
    "too long": json.dumps(reply_of(code=CODE.format(n=0) + "#" * 60_001)),
}
HOSTILE = [
    'import os\nasync def forward(task):\n    return os.environ["OPENAI_API_KEY"]\n',
    "async def forward(task):\n    return open('/etc/passwd').read()\n",
    "async def forward(task):\n    return ().__class__.__mro__[1].__subclasses__()\n",
]


@pytest.mark.parametrize("name", GOOD)
def test_a_reply_is_read_generously(name: str) -> None:
    found, lacking = parse_fields(GOOD[name](3), FIELDS)
    assert lacking == []
    assert found == {"thought": "look twice", "name": "twice 3", "code": CODE.format(n=3)}


@pytest.mark.parametrize("name", BAD)
def test_missing_values_are_not_guessed(name: str) -> None:
    assert "code" in parse_fields(BAD[name], FIELDS)[1]


def world_of() -> World:
    world = World(select=40, section=SearchSection(candidates=2, in_flight=1, rungs=[20, 40], keep=[0.5]))
    programs = [load_program(name) for name in ("cot", "cot-sc", "step-back")]
    world.library = programs
    world.task.accuracy = Known({p.id: 0.6 for p in programs})
    task = world.task
    feedback = tuple(Item(i.id, f"question {i.id}", i.options, i.permutation) for i in task.items[:12])
    labels = [
        Label(i.id, int(k), LabelKind.COMPLEMENTARY, task.K, 0.2)
        for i, k in zip(feedback, task.answers(programs[0]), strict=False)
        if k != task.truth[int(i.id)]
    ]
    splits = {**world.state.archive.splits, "feedback": feedback}
    world.state.archive.splits = splits
    known = {**world.state.labels, "feedback": ExpertLabels.of_items(feedback, labels)}
    world.state = replace(world.state, programs=programs, labels=known)
    return world


POLICIES: dict[str, Callable[[Optimizer], Policy]] = {"adas": Adas, "aflow": AFlow, "reflect": Reflect}
CALLS = {"adas": 3, "aflow": 1, "reflect": 1}


def run(policy: str, server: FakeOpenAI) -> World:
    """Two proposals, with the real broker, the real gate and the real sandbox."""
    world = world_of()

    async def go() -> None:
        model = make_model(ModelSection(model="m", endpoint=server.url))
        broker = Broker(model, "fake", budget=Budget(None, None, None), tries=1)
        ask: Ask = broker.ask
        async with open_sandbox() as sandbox:

            async def check(program: Any) -> str:
                await dry_run_program(program, sandbox=sandbox, roles=())
                return ""

            world.state = replace(world.state, check=check)
            optimiser = Optimizer(ask, "Which is it?", sandbox.restrictions())
            await search(world.state, POLICIES[policy](optimiser))
        await model.close()

    asyncio.run(go())
    return world


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("policy", POLICIES)
def test_good_replies_become_candidates(policy: str, name: str) -> None:
    with fake_openai(lambda _, n: Reply(GOOD[name](n // CALLS[policy]))) as server:
        world = run(policy, server)
    made = [c for c in world.state.archive.candidates.values() if c.slot >= 0]
    assert [c.program.source for c in made] == [CODE.format(n=n) for n in range(2)]
    assert len(server.prompts) == 2 * CALLS[policy]
    assert all(c.parents for c in made) or policy == "adas"
    event = world.state.archive.events["slot/0"]
    assert event["tokens"] == 10 * CALLS[policy]


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("policy", POLICIES)
def test_an_unusable_reply_is_mended_once(policy: str, name: str) -> None:
    with fake_openai(lambda _, n: Reply(BAD[name] if n == 0 else json.dumps(reply_of(n)))) as server:
        world = run(policy, server)
    assert "candidate" in world.state.archive.events["slot/0"]
    assert "mended" in str(world.state.archive.events["slot/0"]["log"])
    assert "could not be used" in server.prompts[1]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("text", ["", "no", BAD["truncated"]])
def test_a_model_that_never_replies_usefully_costs_slots_and_no_evaluation(policy: str, text: str) -> None:
    with fake_openai(lambda _, __: Reply(text, finish_reason="length" if text else "stop")) as server:
        world = run(policy, server)
    assert [c.slot for c in world.state.archive.candidates.values()] == [-3, -2, -1]
    assert all("refused" in world.state.archive.events[f"slot/{n}"] for n in range(2))
    assert {run_ for _, _, run_ in world.asked} == {0, 1000}


@pytest.mark.parametrize("policy", POLICIES)
def test_hostile_programs_are_refused_before_anything_is_paid_and_repaired(policy: str) -> None:
    programs = [*HOSTILE, CODE.format(n=1)]

    def answer(prompt: str, n: int) -> Reply:
        stage = sum("cannot be used" in p for p in server.prompts)
        return Reply(json.dumps(reply_of(n, code=programs[min(stage, 3)])))

    with fake_openai(answer) as server:
        world = run(policy, server)
    sources = [c.program.source for c in world.state.archive.candidates.values()]
    assert not any(h in sources for h in HOSTILE)
    assert CODE.format(n=1) in sources
    assert world.state.archive.events["slot/0"]["log"].count("repaired") <= 3
    assert sum("cannot be used" in p for p in server.prompts) == 3


def test_repeated_change_is_sent_back_for_another() -> None:
    def answer(prompt: str, n: int) -> Reply:
        again = "tried on this workflow before" in prompt
        return Reply(json.dumps(reply_of(n, modification="other" if again else "look twice")))

    with fake_openai(answer) as server:
        world = run("aflow", server)
    notes = [c.note for c in world.state.archive.candidates.values() if c.slot >= 0]
    parents = {c.parents for c in world.state.archive.candidates.values() if c.slot >= 0}
    assert notes == (["look twice", "other"] if len(parents) == 1 else ["look twice"] * 2)


@pytest.mark.parametrize("policy", POLICIES)
def test_prompts_contain_uncertainty_but_no_right_answer(policy: str) -> None:
    with fake_openai(lambda _, n: Reply(json.dumps(reply_of(n)))) as server:
        world = run(policy, server)
    prompt = next(p for p in server.prompts if "# What a workflow is" in p)
    assert "±" in prompt
    assert "async def forward" in prompt
    judged = {item.id for item in world.state.items("select")[12:]}
    assert not any(f"question {name}" in prompt for name in judged)
    if policy != "adas":
        assert "REFUTED: the expert says no" in prompt
    if policy == "reflect":
        assert "of those answers are wrong, too" in prompt


def test_unrefuted_answers_are_scored_with_the_right_uncertainty() -> None:
    world = world_of()

    async def go() -> float | None:
        await search(world.state, Adas(Optimizer(never, "", "")))
        return world.state.board().avoided(world.library[0].id)

    async def never(*_: object) -> Any:
        raise AssertionError

    section = world.section.model_copy(update={"candidates": 0})
    world.state = replace(world.state, section=section)
    avoided = asyncio.run(go())
    assert avoided is not None
    assert 0 <= doubt(0.6, avoided) < 1
    assert doubt(0.6, 0.6 / 3 + 2 / 3) == pytest.approx(0.31, abs=0.005)
