"""Budgets of workflows through the real command: nothing a kill, a neighbour or a retry does passes them."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oversight.harness.store import Store
from tests.e2e.test_kill import command, kill_when
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

pytestmark = pytest.mark.slow

GREEN = json.dumps({"correct": "False", "feedback": "why?", "answer": "B", "thinking": "it is green"})
FAULT = Reply(status=500, body="", headers={"Retry-After": "0"})
CAP, CONCURRENCY = 20, 48


def lay_out(
    folder: Path, url: str, *, models: tuple[str, ...] = ("m",), concurrency: int = CONCURRENCY
) -> None:
    sections = (
        f'[models.{name}]\nendpoint = "{url}"\nmodel = "{name}"\nconcurrency = {concurrency}\n'
        for name in models
    )
    (folder / "study.toml").write_text(
        '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["red", "green", "blue"]\n'
        + "".join(sections)
    )
    (folder / "items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(40)))


def capped(workflow: str, cap: int = CAP, *more: str) -> list[str]:
    return ["run", "--workflow", workflow, "--budget-requests", str(cap), *more]


def start(folder: Path, words: list[str]) -> subprocess.Popen[bytes]:
    null = subprocess.DEVNULL
    return subprocess.Popen(command(*words, "--json"), cwd=folder, stdout=null, stderr=null)


def finish(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words, "--json"), cwd=folder, capture_output=True, text=True, check=False)


def calls_by_model(server: FakeOpenAI) -> Counter[str]:
    return Counter(str(request["model"]) for request in server.requests)


def charged_requests(folder: Path) -> list[tuple[int, int]]:
    """Requests of calls that are over, and of those that a kill left, of every run."""
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        account = store.calls
        found = [
            (account.read_spent(run["id"]), account.read_charge(run["id"])) for run in store.runs.read_runs()
        ]
    return [(spent.requests, charge.requests) for spent, charge in found if spent is not None]


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_moment_a_workflow_stays_within_its_budget(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)  # noqa: S311  not for secrets
    workflow, stall = draw.choice(["cot-sc", "self-refine", "debate"]), draw.choice([0.0, 0.02, 0.2])
    faults, moments = draw.choice([0.0, 0.3]), sorted(draw.sample(range(1, CAP), draw.choice([1, 2])))
    words = capped(workflow)
    with fake_openai(lambda *_: FAULT if draw.random() < faults else Reply(GREEN, stall=stall)) as server:
        lay_out(tmp_path, server.url)
        for moment in moments:
            kill_when(start(tmp_path, words), lambda moment=moment: len(server.prompts) >= moment)  # type: ignore[misc]
        ends = [finish(tmp_path, words) for _ in range(2)]
        assert moments[0] <= len(server.prompts) <= CAP
    assert [end.returncode for end in ends] == [1, 1]
    assert all(f"the budget of {CAP} requests is spent: {CAP} used" in end.stdout for end in ends)
    assert "calls were unfinished" not in ends[1].stderr  # charged once
    [(paid, left)] = charged_requests(tmp_path)
    assert paid + left == CAP


@pytest.mark.parametrize("killed_at", [None, 5])
def test_two_commands_at_once_on_different_runs_keep_a_budget_each(
    killed_at: int | None, tmp_path: Path
) -> None:
    with fake_openai(lambda *_: Reply(GREEN, stall=0.02)) as server:
        lay_out(tmp_path, server.url, models=("a", "b"))
        both = {name: start(tmp_path, capped("self-refine", CAP, "--model", name)) for name in ("a", "b")}
        if killed_at is not None:
            assert kill_when(both["a"], lambda: calls_by_model(server)["a"] >= killed_at)
            assert finish(tmp_path, capped("self-refine", CAP, "--model", "a")).returncode == 1
        assert both["b"].wait(60) == 1
        assert killed_at is not None or both["a"].wait(60) == 1
        assert calls_by_model(server)["b"] == CAP
        assert calls_by_model(server)["a"] <= CAP
        before = len(server.prompts)
        end = finish(tmp_path, capped("self-refine", 2 * CAP))
        assert f"the budget of {2 * CAP} requests is spent: {2 * CAP} used" in end.stdout
        assert len(server.prompts) == before
    assert [paid + left for paid, left in charged_requests(tmp_path)] == [CAP, CAP]


def test_two_commands_at_once_on_one_run_share_its_budget(tmp_path: Path) -> None:
    with fake_openai(lambda *_: Reply(GREEN, stall=0.02)) as server:
        lay_out(tmp_path, server.url)
        first, second = (start(tmp_path, capped("cot-sc", CAP, "--wait")) for _ in range(2))
        assert (first.wait(60), second.wait(60)) == (1, 1)
        assert len(server.prompts) == CAP


def test_earlier_spending_of_any_model_counts_from_the_first_call(
    oversight: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with fake_openai(lambda *_: Reply(GREEN)) as server:
        lay_out(tmp_path, server.url, models=("a", "b"))
        oversight(*capped("cot-sc", CAP, "--model", "b"), code=1)
        for cap in (CAP, CAP + 7):
            error = oversight(*capped("cot-sc", cap), code=1)["error"]
            assert f"the budget of {cap} requests is spent: {cap} used" in error
            assert calls_by_model(server) == {"b": CAP} | ({"a": cap - CAP} if cap > CAP else {})


def test_calls_that_are_all_cached_cost_nothing(
    oversight: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = (
        "async def forward(task):\n"
        "    for _ in range(3):\n"
        "        _, answer = await task.ask(['thinking', 'answer'], [task], 'Which one is it?')\n"
        "    return answer\n"
    )
    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text(source)
    with fake_openai(lambda *_: Reply(GREEN)) as server:
        lay_out(tmp_path, server.url)
        paid = oversight(*capped("first.py", 120))["workflows"]["m/first"]
        free = oversight(*capped("second.py", 0))["workflows"]["m/second"]
        assert len(server.prompts) == 120
    assert (paid["calls_paid"], free["calls_paid"], free["calls_cached"], free["ok"]) == (120, 0, 120, 40)
    assert paid["input_tokens"] + paid["output_tokens"] == paid["answer_tokens"] == free["answer_tokens"] > 0
    assert (free["input_tokens"], free["output_tokens"]) == (0, 0)
    assert sorted(charged_requests(tmp_path)) == [(0, 0), (120, 0)]
    oversight("items", "remove", "i0", "--reason", "gone")  # calls paid for stay charged, exactly once
    assert sorted(charged_requests(tmp_path)) == [(0, 0), (120, 0)]


def test_a_kill_between_tries_charges_the_call_that_is_out_and_no_other(tmp_path: Path) -> None:
    words = capped("cot", 100)
    with fake_openai(lambda _, n: FAULT if n < 3 else Reply(GREEN, stall=60.0)) as server:
        lay_out(tmp_path, server.url, concurrency=1)
        assert kill_when(start(tmp_path, words), lambda: len(server.prompts) == 4)
        end = finish(tmp_path, [*words, "--budget-tokens", "0"])
    assert "m/cot: 1 calls were unfinished when an earlier command ended" in end.stderr
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        [run] = store.runs.read_runs()
        spent, charge = store.calls.read_spent(run["id"]), store.calls.read_charge(run["id"])
    assert spent is not None
    assert (spent.requests, spent.input_tokens, spent.output_tokens) == (3, 0, 0)
    assert (charge.requests, charge.output_tokens) == (1, 2048)


def test_a_run_that_another_process_took_over_pays_for_no_more_calls(
    oversight: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("oversight.harness.store.calls.run_locks._CHECKED", 0.01)
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'study.db'}")

    def answer(_: str, n: int) -> Reply:
        if n == 10:
            with engine.begin() as connection:
                connection.execute(sa.text("UPDATE run_lock SET owner = 'another'"))
        return Reply(GREEN, stall=0.05)

    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, concurrency=2)
        assert "another command took this run over" in oversight(*capped("cot-sc", 200), code=1)["error"]
        assert 10 <= len(server.prompts) < 100
    engine.dispose()
