"""A copy that fails where it is likely to be wrong loses to its honest original, however it fails."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oversight.agents.runtime import Broker, Workbench, answer_items
from oversight.agents.sandbox import open_sandbox
from oversight.agents.search.fitness.archive import Archive, load_archive
from oversight.agents.search.fitness.board import Board, score_candidates
from oversight.agents.search.fitness.expert_labels import ExpertLabels
from oversight.harness import FAILED, UNREADABLE, Fault, RefusedRequest, TransientModelError
from oversight.harness.llm import ModelReply, Request
from oversight.harness.store import Store
from oversight.harness.types import Candidate, Item, Prediction, PredictionStatus, Program
from tests.agents.helpers import FREE
from tests.agents.scripted import Scripted

pytestmark = pytest.mark.slow

N, K = 120, 4
ITEMS = [Item(f"i{j}", f"Question number {j}.", tuple("wxyz"), (0, 1, 2, 3)) for j in range(N)]
TRUTH = [j % K for j in range(N)]
HONEST = """
async def forward(task):
    return (await task.ask(["answer"], [task], "first"))[0]
"""
FAILING = """
async def forward(task):
    first = (await task.ask(["answer"], [task], "first"))[0]
    second = (await task.ask(["answer"], [task], "again"))[0]
    if str(first) != str(second):
        await task.ask(["answer"], [task], "WAY")
    return first
"""
WAYS: dict[str, ModelReply | Exception] = {
    "empty": ModelReply("", "stop"),
    "cut": ModelReply("{", "length"),
    "refused": RefusedRequest("HTTP 400"),
}


def reply(request: Request) -> ModelReply | Exception:
    """Right on seven of ten draws; what the last instruction asks for may come instead."""
    said = request.messages[-1].content
    for way, found in WAYS.items():
        if way in said:
            return found
    j = int(said.partition("number ")[2].partition(".")[0])
    luck = int(hashlib.sha256(said.encode()).hexdigest(), 16) % 1000 / 1000
    option = TRUTH[j] if luck < 0.7 else (TRUTH[j] + 1) % K
    return ModelReply(json.dumps({"answer": "ABCD"[option]}), "stop", 10, 5)


def run(source: str, *, say: object = reply, blames: bool = True) -> list[Prediction]:
    async def inner() -> list[Prediction]:
        broker = Broker(Scripted(say), "m", budget=FREE, tries=1)  # type: ignore[arg-type]
        async with open_sandbox() as sandbox:
            bench = Workbench(broker, sandbox, blames_program=blames)
            return await answer_items(Program("p", source), ITEMS, bench)

    return asyncio.run(inner())


def board(*answers: list[Prediction]) -> Board:
    archive = Archive({"select": tuple(ITEMS)})
    for j, found in enumerate(answers):
        program = Program(f"p{j}", HONEST + f"# {j}\n")
        archive.add_candidate(Candidate(program, j, "library", (), ""))
        archive.record(program.id, 0, found)
    labelled = ExpertLabels(
        items=tuple(i.id for i in ITEMS),
        n_options=np.full(N, K),
        truth=np.array(TRUTH),
        refused=np.zeros((N, K), bool),
        propensities=np.full((N, K), 1 / K),
        routed=np.zeros(N, bool),
        cluster=np.arange(N),
    )
    return score_candidates(archive, ITEMS, labelled)


@pytest.mark.parametrize("way", WAYS)
def test_failing_on_purpose_scores_as_wrong(way: str) -> None:
    honest, failing = run(HONEST), run(FAILING.replace("WAY", way))
    lost = [p for p in failing if p.status is PredictionStatus.UNREADABLE]
    assert len(lost) > 20
    assert all(p.reason.startswith("no usable reply") for p in lost)
    found = board(honest, failing)
    first, second = (found.standing(c) for c in found.ids)
    assert second.value < first.value - 0.1
    assert second.invalid_rate == pytest.approx(len(lost) / N)
    assert (second.error_rate, second.n_items) == (0, N)


PROVOKED = {"HTTP 500": Fault.SERVER, "HTTP 429: a request of 120,000 characters": Fault.RATE_LIMIT}


@pytest.mark.parametrize("said", PROVOKED)
def test_a_failure_of_the_endpoint_that_a_program_provokes_scores_as_wrong(said: str) -> None:
    def provoked(request: Request) -> ModelReply | Exception:
        if "LONG" in request.messages[-1].content:
            return TransientModelError(said, fault=PROVOKED[said], retry_after=0)
        return reply(request)

    honest, failing = run(HONEST), run(FAILING.replace("WAY", "LONG"), say=provoked)
    lost = [p for p in failing if p.status is PredictionStatus.FAILED]
    assert len(lost) > 20
    found = board(honest, failing)
    first, second = (found.standing(c) for c in found.ids)
    assert second.value < first.value - 0.1
    assert (second.n_items, second.error_rate) == (N, 0)
    assert second.invalid_rate == pytest.approx(len(lost) / N)
    assert found.ranked()[0] == found.ids[0]


def test_programs_of_one_line_do_not_excuse_each_others_failures() -> None:
    failed = [Prediction(i.id, None, PredictionStatus.FAILED, "HTTP 500") for i in ITEMS[:30]]
    rest = [Prediction(i.id, t) for i, t in zip(ITEMS[30:], TRUTH[30:], strict=True)]
    archive = Archive({"select": tuple(ITEMS)})
    programs = [Program(f"p{j}", HONEST + f"# {j}\n") for j in range(3)]
    for slot, program in enumerate(programs):
        parents = (programs[0].id,) if slot == 1 else ()
        archive.add_candidate(Candidate(program, slot, "made", parents, ""))
    for program in programs[:2]:
        archive.record(program.id, 0, [*failed, *rest])
    ids = [p.id for p in programs]
    assert not archive.table.is_left_out(ids, ITEMS).any()
    archive.record(ids[2], 0, failed[:1])
    assert archive.table.is_left_out(ids, ITEMS).sum(axis=1).tolist() == [30, 30, 1]


def test_the_times_of_failures_are_stored(tmp_path: Path) -> None:
    first, second = (Program(f"p{j}", HONEST + f"# {j}\n") for j in range(2))
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        store.content.add_items(ITEMS)
        store.searches.add_search("s", {}, {"select": [item.id for item in ITEMS]})
        archive = load_archive(store, "s")
        for j, program in enumerate((first, second)):
            archive.add_candidate(Candidate(program, j, "library", (), ""))
        ids = [first.id, second.id]
        archive.record(first.id, 0, [Prediction("i0", None, PredictionStatus.FAILED, "HTTP 500")])
        assert load_archive(store, "s").table.options(ids, ITEMS[:1]).tolist() == [[UNREADABLE], [FAILED]]
        archive.record(second.id, 0, [Prediction("i1", None, PredictionStatus.FAILED, "HTTP 500")])
        again = load_archive(store, "s")
        assert again.table.options(ids, ITEMS[:2]).tolist() == [[FAILED, FAILED]] * 2
        assert again.digest() == archive.digest()


def test_in_a_run_the_same_items_failed_and_are_asked_again() -> None:
    assert {p.status for p in run(FAILING.replace("WAY", "cut"), blames=False)} >= {PredictionStatus.FAILED}


def test_faults_of_the_endpoint_are_left_out_and_bounded_both_ways() -> None:
    def faulty(request: Request) -> ModelReply | Exception:
        said = request.messages[-1].content
        if said.partition("number ")[2].partition(".")[0].endswith("7"):
            return TransientModelError("HTTP 500", retry_after=0)
        return reply(request)

    hurt, whole, other = run(HONEST, say=faulty), run(HONEST), run(HONEST, say=faulty)
    assert sum(p.status is PredictionStatus.FAILED for p in hurt) == 12
    found = board(hurt, whole, other)
    first, second, _ = (found.standing(c) for c in found.ids)
    assert first.error_rate == pytest.approx(0.1)
    assert first.shares == ", 10 % failed"
    assert first.high - first.low > second.high - second.low + 0.08
    assert replace(first, error_rate=0.0).shares == ""
