"""``oversight judge`` measures, corrects and checks transport, from files and endpoints."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from oversight.harness.analysis import OpenStudy
from oversight.harness.cli.main import main
from oversight.harness.config import read_study
from oversight.harness.judges.sources import read_judge
from oversight.harness.registry import load_page
from oversight.harness.store import Store
from oversight.harness.store.tables.study_tables import RUN_LOCK
from oversight.harness.types import Answer, Verdict
from oversight.harness.view import read_frame
from oversight.harness.web import write_json
from tests.cli.colours import CLASSES, write_colours
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai
from tests.fakes.serving import serving

N = 120
Oversight = Callable[..., Any]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Path:
    """A study with two models and a judge that is sure where it is right; every question is answered."""
    monkeypatch.chdir(tmp_path)
    make_study(oversight)
    return tmp_path


def make_study(
    oversight: Oversight,
    name: str = "t",
    *,
    seed: int = 3,
    judge_right: bool = True,
    answers: bool = True,
    more: str = "",
) -> None:
    write_colours(N)
    Path("study.toml").write_text(
        f'[study]\nname = "{name}"\nseed = {seed}\n[items]\nfile = "items.csv"\n'
        f'classes = {json.dumps(CLASSES)}\n[models]\njudge = "wise"\n{more}'
    )
    oversight("items", "check")
    for model, wrong in (("a", 4), ("b", 3)):
        rows = [{"id": f"i{j}", "prediction": CLASSES[(j + (j % wrong == 0)) % 3]} for j in range(N)]
        Path(f"{model}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        oversight("predictions", "import", f"{model}.jsonl", "--model", model)
    write_probabilities("wise.csv", right=judge_right)
    oversight("label", "route")
    oversight("judge", "import", "wise.csv", "--judge", "wise")
    if answers:
        oversight("label", "simulate", "--key", "key.csv")


def write_probabilities(file: str, *, right: bool) -> None:
    lines = ["item," + ",".join(CLASSES)]
    for j in range(N):
        best = (j % 3 + (0 if right and j % 10 else 1)) % 3
        lines.append(f"i{j}," + ",".join("0.8" if k == best else "0.1" for k in range(3)))
    Path(file).write_text("\n".join(lines) + "\n")


def test_a_model_that_has_just_begun_takes_no_answers_from_the_judges(
    study: Path, oversight: Oversight
) -> None:
    before = oversight("judge")
    Path("new.jsonl").write_text(json.dumps({"id": "i0", "prediction": CLASSES[0]}) + "\n")
    oversight("predictions", "import", "new.jsonl", "--model", "new")
    after = oversight("judge")
    assert after["judges"] == before["judges"]
    assert "new answered only 1 of 120 items and is left out; use it with --model" in after["remarks"]
    assert oversight("judge", "--model", "new")["answers"] == 1


def test_judge_is_measured_and_corrects_the_models(study: Path, oversight: Oversight) -> None:
    found = oversight("judge")
    assert found["scope"] == "options"
    assert found["answers"] == N
    (wise,) = found["judges"]
    assert wise["informative"] == "informative"
    assert wise["area"]["low"] > 0.6
    assert [one["name"] for one in wise["classes"]] == list(CLASSES)
    assert [one["model"] for one in found["corrected"]] == ["a", "b"]
    for one in found["corrected"]:
        assert one["judged"]["high"] - one["judged"]["low"] < one["plain"]["high"] - one["plain"]["low"]
        assert one["saved"] > 0


@pytest.mark.parametrize("abstention", ["0", "0.3"])
def test_accuracy_without_judges_is_the_one_that_estimate_shows(
    study: Path, oversight: Oversight, capsys: pytest.CaptureFixture[str], abstention: str
) -> None:
    Path("study.db").unlink()
    oversight("items", "check")
    for model in ("a", "b"):
        oversight("predictions", "import", f"{model}.jsonl", "--model", model)
    oversight("label", "route")
    oversight("judge", "import", "wise.csv", "--judge", "wise")
    oversight("label", "simulate", "--key", "key.csv", "--abstention", abstention)
    shown = oversight("estimate")["models"]
    for one in oversight("judge")["corrected"]:
        for key, value in shown[one["model"]]["accuracy"].items():
            assert one["plain"]["interval" if key == "method" else key] == value
    capsys.readouterr()
    assert main(["judge"]) == 0
    out = capsys.readouterr().out
    is_marked = abstention != "0"
    assert ("] (!)" in out) == ("a: (!) may not hold: " in out) == is_marked


def answer_all(unsure: int) -> None:
    """Answer all questions from the key, except "unsure" about the first `unsure` of every ten items."""
    with Store(read_study("study.toml").store_url) as store:
        order = {item.id: item.options for item in store.content.read_items()}
        store.content.add_answers(
            Answer(q, q.expert, _say(order[q.item_id][q.option], int(q.item_id[1:]), unsure), "test")
            for q in store.content.read_questions()
        )


def _say(option: str, item: int, unsure: int) -> Verdict:
    if item % 10 < unsure:
        return Verdict.SKIP
    return Verdict.YES if option == CLASSES[item % 3] else Verdict.NO


def test_missing_answers_of_items_with_two_questions_are_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    make_study(oversight, answers=False, more="[experts]\noptions_per_item = 2\n")
    answer_all(1)
    (wise,) = oversight("judge")["judges"]
    assert wise["why"].startswith("24 of 240 questions have no yes or no")


@pytest.mark.parametrize(("missing", "verdict"), [(0, "pass"), (1, "pass"), (2, "undecided")])
def test_missing_answers_that_could_change_a_verdict_leave_it_open(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    oversight: Oversight,
    capsys: pytest.CaptureFixture[str],
    missing: int,
    verdict: str,
) -> None:
    for folder, unsure in (("before", 0), ("now", missing)):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        make_study(oversight, folder, answers=False)
        answer_all(unsure)
    words = ["judge", "--against", "../before/study.toml", "--margin", "0.2"]
    found = oversight(*words, code=None)
    (held,), (wise,) = found["transport"], found["judges"]
    assert held["verdict"] == verdict
    assert held["missing"] == (24 if verdict == "undecided" else 0)
    assert main(words) == (0 if verdict == "pass" else 3)
    out = capsys.readouterr().out
    assert wise["holds"] == (missing == 0)
    assert ("wise: (!) may not hold: " in out) == (missing > 0)


def test_page_of_the_viewer_has_the_same_numbers(study: Path, oversight: Oversight) -> None:
    found = oversight("judge")
    loaded = read_study("study.toml")
    with Store(loaded.store_url) as store:
        page = json.loads(write_json(load_page("judges")(loaded, store)))
        assert "judges" in read_frame(loaded, store)["pages"]
    assert page["judges"] == found["judges"]
    assert page["verdicts"][0].startswith("wise: tells true from false;")


def test_text_begins_with_the_verdict(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["judge"]) == 0
    verdict, saving, *_ = capsys.readouterr().out.splitlines()
    assert verdict.startswith("wise: tells true from false;")
    assert saving.startswith(("The judges save questions for", "The judges are not shown to save questions"))


def test_calibration_that_fails_elsewhere_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    for name, right in (("old", False), ("new", True)):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        make_study(oversight, name, judge_right=right)
    found = oversight("judge", "--against", "../old/study.toml", code=1)
    (group,) = found["transport"]
    assert (group["group"], group["verdict"], group["judge"]) == ("old", "fail", "wise")
    assert group["further"] == 0


def test_prices_add_the_cheapest_mix_to_a_plan(study: Path, oversight: Oversight) -> None:
    assert "mixes" not in oversight("plan", "--width", "0.08")
    with Path("study.toml").open("a") as file:
        file.write("[costs]\nquestion_usd = 2\nquestion_minutes = 1.5\njudge_usd = 0.01\n")
    mixes = oversight("plan", "--width", "0.08")["mixes"]
    assert {mix["protocol"] for mix in mixes} > {"partitioned", "targeted"}
    for model in ("a", "b"):
        mine = [mix for mix in mixes if mix["model"] == model]
        assert [mix["cheapest"] for mix in mine] == [True] + [False] * (len(mine) - 1)
        assert mine[0]["usd"] == min(mix["usd"] for mix in mine)


def test_gate_does_not_hear_the_judge(study: Path, oversight: Oversight) -> None:
    with_judge = oversight("gate", "--at-least", "0.5", "--model", "a")
    text = Path("study.toml").read_text().replace('judge = "wise"\n', "")
    Path("study.toml").write_text(text)
    assert oversight("gate", "--at-least", "0.5", "--model", "a")["checks"] == with_judge["checks"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("i1,0.8,0.1,1.1", "p.csv:3 [blue]: a probability must lie between 0 and 1, is '1.1'"),
        ("i1,0.8,0.1,", "p.csv:3 [blue]: there is no probability of this option"),
        ("i1,0.8,0.1,0.3", "p.csv:3 [item]: the probabilities of an item must sum to 1, but sum to 1.2"),
        ("i0,0.8,0.1,0.1", "p.csv:3 [item]: the item 'i0' occurs twice"),
        ("x9,0.8,0.1,0.1", "p.csv:3 [item]: the study has no item 'x9'"),
    ],
)
def test_bad_probability_is_refused_with_its_place(
    study: Path, capsys: pytest.CaptureFixture[str], line: str, told: str
) -> None:
    Path("p.csv").write_text(f"item,{','.join(CLASSES)}\ni0,0.8,0.1,0.1\n{line}\n")
    capsys.readouterr()
    assert main(["judge", "import", "p.csv", "--judge", "new"]) == 2
    assert told in capsys.readouterr().err


def test_lists_and_objects_are_the_same_probabilities(study: Path, oversight: Oversight) -> None:
    rows: list[dict[str, Any]] = [{"item": "i0", "probabilities": [0.7, 0.2, 0.1]}]
    rows.append({"item": "i1", "probabilities": dict(zip(CLASSES, [0.7, 0.2, 0.1], strict=True))})
    Path("p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = oversight("judge", "import", "p.jsonl", "--judge", "new")
    assert (found["items"], found["missing"]) == (2, N - 2)


def test_unknown_column_names_those_there_are(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "--by", "ward"]) == 2
    assert "--by ward: must be 'model' or a column of the items" in capsys.readouterr().err


class DecisionHandler(BaseHTTPRequestHandler):
    """Answers typed questions about the colour that the item's number stands for."""

    refuse = False

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/systemone" or self.refuse:
            self._send(400, {"error": "no such model"})
            return
        number = int("".join(c for c in body["state"] if c.isdigit()))
        truth = CLASSES[number % 3]
        answers = {name: self._answer(q, truth) for name, q in body["questions"].items()}
        self._send(200, {"model": body["model"], "answers": answers, "usage": {"input_tokens": 7}})

    def _answer(self, question: dict[str, Any], truth: str) -> dict[str, Any]:
        right = question["instructions"].endswith(truth)
        match question["type"]:
            case "choice":
                shares = {c: 0.8 if c == truth else 0.1 for c in question["criteria"]}
                return {"type": "choice", "choice": truth, "probabilities": shares}
            case "noul":
                return {"type": "noul", "noul": 0.9 if right else 0.2}
            case _:
                levels = [0, 0, 0, 0.4, 0.6] if right else [0.6, 0.4, 0, 0, 0]
                return {"type": "score", "score": 3.6, "probabilities": levels}

    def _send(self, status: int, payload: dict[str, Any]) -> None:
        data = json.dumps(payload).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Keep the tests' output clean."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), DecisionHandler)) as url:
        yield url


@pytest.mark.parametrize(("kind", "expected"), [("choice", 0.8), ("noul", 0.9), ("score", 0.9)])
def test_decision_endpoint_is_asked_once_per_item(
    study: Path, oversight: Oversight, endpoint: str, kind: str, expected: float
) -> None:
    words = ("judge", "ask", "--url", endpoint, "--judge", "decide", "--type", kind)
    first = oversight(*words)
    assert (first["items"], first["asked"], first["input_tokens"]) == (N, N, 7 * N)
    assert oversight(*words)["asked"] == 0
    (decide,) = oversight("judge", "--judge", "decide")["judges"]
    assert decide["area"]["value"] == pytest.approx(1)
    assert decide["curve"][-1]["stated"] == pytest.approx(expected)


def test_decision_endpoint_is_asked_by_one_command_at_a_time(study: Path, oversight: Oversight) -> None:
    held = list[int]()

    class Handler(DecisionHandler):
        def do_POST(self) -> None:
            with Store(read_study("study.toml").store_url) as store:
                held.append(len(store.locks.find_held()))
            super().do_POST()

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        oversight("judge", "ask", "--url", url, "--judge", "decide")
    assert held == [1] * N


def test_ask_stores_replies_before_it_asks_about_further_items(study: Path, oversight: Oversight) -> None:
    calls, unstored = count(1), list[int]()

    class Handler(DecisionHandler):
        def do_POST(self) -> None:
            with Store(read_study("study.toml").store_url) as store:
                run = next(run["id"] for run in store.runs.read_runs() if run["name"] == "decide")
                unstored.append(next(calls) - len(store.runs.read_vectors(run)))
            super().do_POST()

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        oversight("judge", "ask", "--url", url, "--judge", "decide")
    assert max(unstored) <= 8  # number of concurrent calls, which is what a killed command pays for again


def test_ask_continues_after_a_command_that_was_killed_on_another_machine(
    study: Path, oversight: Oversight, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("judge", "ask", "--url", endpoint, "--judge", "decide")
    run = oversight(*words)["run"]
    with Store(read_study("study.toml").store_url) as store, store.transaction() as connection:
        store.locks.acquire([run], "killed")
        connection.execute(sa.update(RUN_LOCK).values(machine="before the restart"))

    def refuse(_: float) -> None:
        pytest.fail("the command waits for a process that has ended")

    monkeypatch.setattr(time, "sleep", refuse)
    assert oversight(*words)["asked"] == 0


def test_password_in_the_url_of_a_decision_endpoint_is_refused_unseen(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["judge", "ask", "--url", "http://bob:hunter2secret@127.0.0.1:1", "--judge", "decide"]) == 2
    told = capsys.readouterr().err
    assert "--url: must not contain a user or a password" in told
    assert "hunter2secret" not in told


def run_judge(server: FakeOpenAI) -> int:
    """Run the model `told` with log-probabilities, which is the study's judge; return the exit code."""
    text = Path("study.toml").read_text().replace('"wise"', '"told"')
    Path("prompt.txt").write_text("$text $options")
    section = f'[models.told]\nmodel = "m"\nendpoint = "{server.url}"\nlogprobs = true\n'
    Path("study.toml").write_text(f'{text}{section}[prompt]\ntemplate = "prompt.txt"\n')
    return main(["run"])


def test_log_probabilities_give_the_judge_a_vector(study: Path, oversight: Oversight) -> None:
    tokens = (("C?\n### ", -0.01), ("B", math.log(0.6)))
    reply = Reply("C?\n### B", logprobs=tokens, tops=({"###": 0.9}, {"B": 0.6, "A": 0.3}))
    with fake_openai(lambda p, n: reply) as server:
        assert run_judge(server) == 0
    loaded = read_study("study.toml")
    with Store(loaded.store_url) as store:
        items = store.content.read_items()
        p = read_judge(OpenStudy(loaded, store), "told").p
    # probabilities of A, B and C of every item, in the order shown
    shown = np.array([[row[k] for k in item.permutation] for row, item in zip(p, items, strict=True)])
    assert shown == pytest.approx(np.tile([0.3, 0.6, 0.1], (N, 1)))
    stated = {round(one["stated"], 2) for one in oversight("judge")["judges"][0]["curve"]}
    assert stated <= {0.1, 0.3, 0.6}
    # parse the same replies as another option
    settings = 'pattern = "^(?P<answer>C)"\n'
    Path("study.toml").write_text(Path("study.toml").read_text() + settings)
    oversight("predictions", "reread", "--model", "told", "--write")
    with Store(loaded.store_url) as store:
        (run,) = [run for run in store.runs.read_runs() if run["name"] == "told"]
        assert not store.runs.read_vectors(run["id"])


def test_endpoint_without_log_probabilities_is_refused_for_a_judge(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(lambda p, n: Reply("### B")) as server:
        assert run_judge(server) == 2
        assert len(server.prompts) == 1  # only the endpoint's test call; no item was sent
        told = f"told: logprobs = true, but {server.url} returns no log-probabilities"
        assert told in capsys.readouterr().err


def test_missing_log_probabilities_are_tested_again_for_a_judge(study: Path) -> None:
    replies = [Reply("### B"), Reply("### B", logprobs=(("### ", -0.1), ("B", -0.1)))]
    with fake_openai(lambda p, n: replies[min(n, 1)]) as server:
        assert run_judge(server) == 2
        assert main(["run"]) == 0
        assert len(server.prompts) == 2 + N


def test_answers_without_log_probabilities_are_refused_for_a_judge(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replies = [Reply("yes", logprobs=(("yes", -0.1),)), Reply("### B")]
    with fake_openai(lambda p, n: replies[min(n, 1)]) as server:
        assert run_judge(server) == 0
    assert main(["judge"]) == 2
    assert "the judge 'told' has logprobs = true, but its answers came without" in capsys.readouterr().err


def test_refusing_endpoint_is_named_with_the_item(
    study: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(DecisionHandler, "refuse", True)
    assert main(["judge", "ask", "--url", endpoint, "--judge", "decide"]) == 2
    assert "the endpoint answers HTTP 400" in capsys.readouterr().err
