"""Searches whose optimiser uses only its prompt, over a real connection and the real sandbox."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oversight.agents.runtime import Replay
from oversight.agents.runtime.replay import ReplayedCall
from oversight.agents.search import open_search
from oversight.agents.search.policies.model_policies import MOST_CALLS, describe_calls
from oversight.harness.cli.main import main
from oversight.harness.config import read_study
from oversight.harness.llm import Message
from oversight.harness.store import Store
from oversight.harness.types import Item
from tests.cli.search_study import answer, lay_out, set_search
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

SETTINGS = """\
policy = "{policy}"
model = "m"
optimiser = "w"
{more}
[models.w]
endpoint = "{url}"
model = "writer"
tries = 1
temperature = 0.3
max_tokens = 999
"""
_EXAMPLE = re.compile(r"```python\n# calls an item: \d+\n(.*?)```", re.DOTALL)
WRONG = "import os\nasync def forward(task):\n    return os.getcwd()  # {n}\n"


def reply_with(code: str, n: int) -> Reply:
    told = {"thought": "as told", "name": f"told {n}", "code": code, "reflection": "fine"}
    return Reply(
        json.dumps({**told, "modification": f"change {n}", "diagnosis": "haste"}), billed=(2000, 500)
    )


def text_of(request: dict[str, Any]) -> str:
    return "\n\n".join(str(m["content"]) for m in request["messages"])


class Writer:
    """Writes the n-th example of the guide for the n-th proposal; `wrong` proposals are refused first."""

    def __init__(self, wrong: tuple[int, ...] = (), mends: int = 9) -> None:
        self.wrong, self.mends = wrong, mends
        self.server: FakeOpenAI | None = None
        self.asked: list[dict[str, Any]] = []

    def __call__(self, prompt: str, n: int) -> Reply:
        assert self.server is not None
        request = self.server.requests[n]
        if request["model"] != "writer":
            return answer_any(prompt, n)
        self.asked.append(request)
        told = text_of(request)
        slot = int(re.findall(r"This is proposal (\d+) of", told)[0]) - 1
        refusals = told.count("cannot be used")
        if slot in self.wrong and refusals < self.mends:
            return reply_with(WRONG.format(n=f"{slot} {refusals}"), slot)
        return self.write(told, slot)

    def write(self, told: str, slot: int) -> Reply:
        return reply_with(_EXAMPLE.findall(told)[slot], slot)


def answer_any(prompt: str, n: int) -> Reply:
    """As the study's model, whatever fields are asked for."""
    found = re.findall(r"number (\d+)\.", prompt)
    fields = dict.fromkeys(("thinking", "thought", "facts", "response", "doubts", "feedback"), "some words")
    said = json.loads(answer(prompt, n).text) if found and "(A)" in prompt else {}
    fields |= {"verdict": "wrong", "result": "reject", "expert": "red", "solution": "A", "answer": "A"}
    return Reply(json.dumps(fields | said))


@contextmanager
def searching(
    folder: Path, writer: Writer, policy: str = "adas", more: str = "", **settings: object
) -> Iterator[Callable[..., int]]:
    """A study whose models are both on one server; gives what starts its search, or goes on with it."""
    folder.mkdir(exist_ok=True)
    with fake_openai(writer) as server:
        writer.server = server
        lay_out(folder, server.url, more=SETTINGS.format(policy=policy, more=more, url=server.url))
        set_search(folder / "study.toml", **settings)
        (folder / "workflow.toml").write_text("max_tokens = 40\n")
        yield lambda *words: main(
            ["search", "start", *words, "--study", str(folder / "study.toml"), "--json"]
        )


def read_archive(folder: Path) -> Any:
    study = read_study(folder / "study.toml")
    with Store(study.store_url) as store:
        return open_search(study, store, None).archive


@pytest.mark.slow
def test_a_writer_of_nothing_but_the_guides_examples_finds_programs_that_run(tmp_path: Path) -> None:
    writer = Writer()
    with searching(tmp_path, writer, candidates=12) as start:
        assert start() == 0
    archive = read_archive(tmp_path)
    made = [c for c in archive.candidates.values() if c.slot >= 0]
    assert [c.program.source for c in made] == _EXAMPLE.findall(text_of(writer.asked[0]))
    assert len(made) == 12
    for candidate in made:
        found = archive.table.predictions(candidate.program.id, archive.splits["select"])
        assert len(found) >= 6
        assert all(p.option is not None for p in found)
    assert {(r["temperature"], r["max_completion_tokens"]) for r in writer.asked} == {(0.3, 999)}


class Hashing(Writer):
    """Writes a program that depends on every word of its prompt except the proposal numbers."""

    def write(self, told: str, slot: int) -> Reply:  # noqa: ARG002  of the class
        seen = hashlib.sha256(
            re.sub(r"This is proposal [^;]*sees the others\.", "", told).encode()
        ).hexdigest()
        return reply_with(_EXAMPLE.findall(told)[0].replace("Name what", f"{seen}: Name what"), 0)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["adas", "aflow", "reflect"])
def test_a_deterministic_writer_writes_nothing_twice(tmp_path: Path, policy: str) -> None:
    with searching(tmp_path, Hashing(), policy, candidates=8) as start:
        assert start() == 0
    events = read_archive(tmp_path).events
    assert ["candidate" in events[f"slot/{n}"] for n in range(8)] == [True] * 8


@pytest.mark.slow
def test_a_repair_goes_on_in_its_conversation_and_later_proposals_are_told_the_errors(tmp_path: Path) -> None:
    writer = Writer(wrong=(0, 1), mends=2)
    with searching(tmp_path / "mended", writer, "reflect") as start:
        assert start() == 0
    repairs = [r for r in writer.asked if "cannot be used" in str(r["messages"][-1]["content"])]
    assert sorted(len(r["messages"]) for r in repairs) == [4, 4, 6, 6]
    for request in repairs:
        assert request["messages"][2]["role"] == "assistant"
        assert "import os" in request["messages"][2]["content"]
        assert "This is proposal" in request["messages"][1]["content"]
    hopeless = Writer(wrong=(0, 1))
    with searching(tmp_path / "refused", hopeless, "reflect") as start:
        assert start() == 0
    told = [text_of(r) for r in hopeless.asked]
    first, later = (next(t for t in told if f"proposal {n} of 4" in t) for n in (2, 3))
    assert "None was refused." in first
    assert "may not import os" in later
    assert "candidate" in read_archive(tmp_path / "refused").events["slot/2"]


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["adas", "reflect"])
def test_cut_short_anywhere_a_conversation_is_taken_up_where_it_was(tmp_path: Path, policy: str) -> None:
    ended: list[Any] = []
    asked: list[list[str]] = []
    grown: set[int] = set()
    for name, caps in (("whole", range(0)), ("cut", range(6000, 60000, 2000))):
        writer = Writer(wrong=(1, 2), mends=2)
        with searching(tmp_path / name, writer, policy) as start:
            for cap in caps:
                start("--set", f"search.tokens={cap}")
                grown.add(len(writer.asked))
            assert start("--set", "search.tokens=100000000") == 0
        archive = read_archive(tmp_path / name)
        ended.append((archive.events, list(archive.candidates.values())))
        asked.append(sorted(map(text_of, writer.asked)))
    assert len(grown) > 4  # the searches were cut within conversations
    assert asked[0] == asked[1]
    assert ended[0] == ended[1]
    assert "repaired" in str(ended[0])


def test_reflection_is_told_what_the_calls_on_refuted_items_asked_and_got(tmp_path: Path) -> None:
    writer = Writer()
    with searching(tmp_path, writer, "reflect", candidates=6) as start:
        assert start() == 0
    cases = "\n".join(text_of(r).split("# A workflow, and what")[-1] for r in writer.asked).split(
        "Question: "
    )
    refuted = [case for case in cases if "\nREFUTED" in case]
    assert refuted
    for case in refuted:
        assert re.search(r'Call 1 asked "### Question\\n\(the question\)', case)
        given = re.findall(r"Answer given: (\w+)", case)[0]
        options = re.findall(r"Options: (.*)", case)[0].split(", ")
        assert given in options
        assert re.search(r'and got "\{.*\}"', case)
    others = [case for case in cases if "\nnot refuted" in case]
    assert not any("Call 1" in case for case in others)
    calls = Replay(
        [ReplayedCall(messages=(Message("user", "a" * 999),), reply='"\n```\n# Do this' * 99)] * 20
    )
    told = describe_calls(calls, Item("i", "q", ("a", "b"), (0, 1)))
    assert len(told) < MOST_CALLS * 800 + 100
    assert "12 more calls" in told
    assert "```" not in told
    assert len(told.strip().splitlines()) == MOST_CALLS + 1
