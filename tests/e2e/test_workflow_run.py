"""``oversight run --workflow`` from end to end: like a model, resumable, and with the real small one."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.llm.local.lifecycle import LocalServer
from oversight.harness.store import Store
from tests.e2e.test_kill import CONCURRENCY, command, kill_when, lay_out
from tests.fakes.openai_server import Reply, fake_openai

pytestmark = pytest.mark.slow

GREEN = json.dumps({"correct": "False", "feedback": "why?", "answer": "B", "thinking": "it is green"})


def test_a_workflow_is_a_model_to_everything_after_it(
    oversight: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workflow.toml").write_text('answer = "option"\n')
    with fake_openai(lambda prompt, n: Reply('{"answer": "green", "thinking": ""}')) as server:
        lay_out(tmp_path, 30, server.url)
        oversight("label", "route")
        (tmp_path / "key.csv").write_text("id,label\n" + "".join(f"i{j},green\n" for j in range(30)))
        oversight("label", "simulate", "--key", "key.csv")
        result = oversight("run", "--workflow", "cot-sc")["workflows"]["m/cot-sc"]
        assert (result["ok"], result["calls_paid"], result["sandbox"]) == (30, 150, "monty")
        again = oversight("run", "--workflow", "cot-sc")["workflows"]["m/cot-sc"]
        assert (again["asked_now"], again["calls_paid"], again["run"]) == (0, 0, result["run"])
        look = oversight("run", "--workflow", "cot", "--sample", "6")["workflows"]["m/cot"]
        assert (look["predictions"], look["sample"]["items"], look["sample"]["of"]) == (6, 6, 30)
        cot = oversight("run", "--workflow", "cot", "--model", "m")["workflows"]["m/cot"]
        assert (cot["run"], cot["asked_now"], cot["predictions"]) == (look["run"], 24, 30)
        assert cot["run"] != result["run"]
        assert len(server.prompts) == 150 + 30
        (tmp_path / "mute.py").write_text(
            "async def forward(task):\n    return '?' if 'number' in task.text else 'A'\n"
        )
        assert oversight("run", "--workflow", "mute.py")["workflows"]["m/mute"]["unreadable"] == 30
    estimates = oversight("estimate")["models"]
    assert set(estimates) == {"m/cot-sc", "m/cot", "m/mute"}
    assert all(e["low"] == 0 for e in estimates["m/mute"]["estimates"].values())
    assert estimates["m/mute"]["estimates"]["ml"]["high"] < 0.5
    assert estimates["m/cot-sc"]["estimates"]["ml"]["high"] == 1.0
    assert oversight("compare")
    assert Path(oversight("report")["report"]).stat().st_size > 10_000


def test_a_workflow_makes_no_more_requests_than_allowed_whatever_an_earlier_command_left(
    oversight: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workflow.toml").write_text('answer = "option"\n')
    with fake_openai(lambda prompt, n: Reply('{"answer": "green", "thinking": ""}')) as server:
        lay_out(tmp_path, 30, server.url)
        for cap in (20, 20, 33, 70):
            words = ("run", "--workflow", "cot-sc", "--budget-requests", str(cap))
            assert f"the budget of {cap} requests is spent" in oversight(*words, code=1)["error"]
            assert len(server.prompts) == cap
        result = oversight("run", "--workflow", "cot-sc", "--budget-requests", "150")["workflows"]["m/cot-sc"]
        assert (result["ok"], len(server.prompts)) == (30, 150)


def test_failed_calls_of_a_workflow_are_requests_too(
    oversight: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def answer(prompt: str, n: int) -> Reply:
        return Reply(status=500, body="", headers={"Retry-After": "0"}) if n % 3 else Reply(GREEN)

    with fake_openai(answer) as server:
        lay_out(tmp_path, 30, server.url)
        for cap in (25, 40):
            words = ("run", "--workflow", "cot-sc", "--budget-requests", str(cap))
            oversight(*words, code=1)
            assert len(server.prompts) == cap


def test_a_workflow_that_is_killed_has_paid_for_what_was_under_way(tmp_path: Path) -> None:
    cap = 60
    with fake_openai(lambda prompt, _: Reply(GREEN, stall=0.01)) as server:
        lay_out(tmp_path, 40, server.url)
        words = command("run", "--workflow", "self-refine", "--json", "--budget-requests", str(cap))
        for calls in (10, 25, 40):
            process = subprocess.Popen(
                words, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
            assert kill_when(process, lambda calls=calls: len(server.prompts) >= calls)  # type: ignore[misc]
        for _ in range(2):
            end = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert (end.returncode, "requests is spent" in end.stdout) == (1, True)
            assert 40 <= len(server.prompts) <= cap
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        [run] = store.runs.read_runs()
        spent, left = store.calls.read_spent(run["id"]), store.calls.read_charge(run["id"])
    assert spent is not None
    assert (spent.requests + left.requests, spent.input_tokens > 0, spent.output_tokens > 0) == (
        cap,
        True,
        True,
    )


def test_killed_it_goes_on_and_pays_for_no_call_twice(tmp_path: Path) -> None:
    n = 24
    with fake_openai(lambda prompt, _: Reply(GREEN)) as server:
        lay_out(tmp_path, n, server.url)
        words = command("run", "--workflow", "self-refine", "--json")
        for calls in (1, 60):
            process = subprocess.Popen(
                words, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
            assert kill_when(process, lambda calls=calls: len(server.prompts) >= calls)  # type: ignore[misc]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True)
        paid = len(server.prompts)
        before = Counter(server.prompts)
        again = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True)
        assert Counter(server.prompts) == before
    result = json.loads(done.stdout)["workflows"]["m/self-refine"]
    assert (result["predictions"], result["ok"]) == (n, n)
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        assert len(store.runs.read_predictions(result["run"])) == n
    each = 11 * n  # this critic never accepts an answer
    assert each <= paid <= each + 2 * CONCURRENCY * 2
    assert json.loads(again.stdout)["workflows"]["m/self-refine"]["calls_paid"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workflow", "best"], "there is no workflow 'best'"),
        (["--workflow", "own.py"], "workflow 'own', line 1: may not import os"),
        (["--workflow", "mute.py"], "workflow 'mute' chose none of 3 options in the smoke run"),
    ],
)
def test_an_invalid_workflow_is_refused(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, 3)
    (tmp_path / "mute.py").write_text("async def forward(task):\n    return '?'\n")
    (tmp_path / "own.py").write_text("import os\n\nasync def forward(task):\n    return 'A'\n")
    assert main(["run", *words]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "study.db").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('answer = "word"', "workflow.toml [answer]"),
        ("answers = 1", "workflow.toml [answers]"),
        ("answer = ", "workflow.toml: not valid TOML"),
        ('examples = "none.jsonl"', "none.jsonl: there is no such file"),
        ('[[role]]\nname = "x"\ntext = "y"\n[[role]]\nname = "x"\ntext = "z"', "a role occurs twice"),
    ],
)
def test_a_wrong_setting_is_named(
    text: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, 3)
    (tmp_path / "workflow.toml").write_text(text)
    assert main(["run", "--workflow", "cot"]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "study.db").exists()


@pytest.mark.local_model
@pytest.mark.parametrize("style", ["json", "lines"])
def test_the_real_small_model_answers_through_the_sandbox(
    style: str,
    local_model: LocalServer,
    oversight: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, 2, local_model.url)
    study = tmp_path / "study.toml"
    study.write_text(study.read_text().replace('model = "m"', f'model = "{local_model.model}"'))
    (tmp_path / "workflow.toml").write_text(
        f'style = "{style}"\nanswer = "option"\nmax_tokens = 60\nfield_chars = 20\nexamples = "solved.csv"\n'
    )
    (tmp_path / "solved.csv").write_text(
        "text,label,thinking\nthe sky,blue,it is clear\ngrass,green,it is alive\n"
    )
    result = oversight("run", "--workflow", "cot")["workflows"]["m/cot"]
    assert result["ok"] + result["unreadable"] == 2
    assert result["calls_paid"] >= 2
    assert result["output_tokens"] > 0
    if style == "json":  # with a schema, the model cannot answer without an option
        assert result["ok"] == 2
