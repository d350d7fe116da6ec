"""Searches that a cap, a model that is down, silent experts or another process end, and what comes after."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.config import read_study
from oversight.harness.store import Store
from tests.cli.search_study import CLASSES, answer, lay_out, set_search, truth
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

pytestmark = pytest.mark.slow

PROGRAM = '''\
"""Looks."""


async def forward(task):
    thinking, answer = await task.ask(["thinking", "answer"], [task], "Look at detail {}.", temperature=0.5)
    return answer
'''
WRITER = """\
policy = "aflow"
optimiser = "w"
[models.w]
endpoint = "{url}"
model = "w"
tries = 1
"""
PRICES = """\
checked = 2026-11-21
[models.m]
input = 1.0
output = 1.0
[models.w]
input = 100.0
output = 100.0
"""
Write = Callable[[int], Reply]


def write(number: int) -> Reply:
    """A proposal of the optimiser: the program of this number."""
    told = {"reflection": "r", "modification": "x", "name": f"p{number}", "code": PROGRAM.format(number)}
    return Reply(json.dumps(told), billed=(3000, 1000))


def script(server: FakeOpenAI, writes: Write = write, best: int = 0) -> None:
    """Both models: one writes programs, the other is right where `best` or a later one of them asks."""
    written = 0

    def reply(prompt: str, n: int) -> Reply:
        nonlocal written
        if server.requests[n]["model"] == "w":
            written += 1
            return writes(written)
        asked = re.findall(r"Look at detail (\d+)\.", prompt)
        if not best:
            return answer(prompt, n)
        j = int(re.findall(r"number (\d+)\.", prompt)[-1])
        is_right = bool(asked) and int(asked[0]) >= best
        option = CLASSES[truth(j) if is_right else (truth(j) + 1) % 4]
        letter = re.findall(rf"\((\w)\) {option}", prompt)[-1]
        return Reply(json.dumps({"thinking": "well", "answer": letter}))

    server.answer = reply


@pytest.fixture
def study(tmp_path: Path) -> str:
    return str(tmp_path / "study.toml")


def test_a_cap_that_ends_a_search_names_no_winner_so_that_later_proposals_can_win(
    tmp_path: Path, study: str, oversight: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, more=WRITER.format(url=server.url))
        script(server, best=3)
        assert main(["search", "start", "--set", "search.tokens=22000", "--study", study]) == 0
        told = capsys.readouterr()
        assert "is spent" in told.err
        assert "no winner was confirmed: raise the cap, then resume" in told.err
        found = oversight("search", "show", "--study", study)["search"]
        assert found["winner"] is None
        assert 0 < found["proposals"] < 4
        found = oversight("search", "resume", "--set", "search.tokens=1000000", "--study", study)["search"]
    winner = found["winner"]
    assert winner["name"] in ("start+3", "start+4")
    assert (winner["test"]["value"], winner["start_test"]["value"]) == (1, 0)
    ends = [float(end) for end in re.findall(r"[+-]\d+\.\d", winner["difference"])]
    assert -100 <= ends[1] <= ends[0] <= ends[2] <= 100
    for bounded in (winner, *(c["standing"] for c in found["candidates"])):
        assert 0 <= bounded["low"] <= bounded["high"] <= 1


def test_after_a_winner_was_named_early_nothing_is_proposed(
    tmp_path: Path, study: str, oversight: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        begun = oversight("search", "start", "--set", "search.tokens=800", "--study", study)["search"]
        best = begun["candidates"][0]["id"]
        with Store(read_study(Path(study)).store_url) as store:
            store.searches.add_event(begun["id"], "winner", {"candidate": best, "finalists": [best]})
        assert main(["search", "resume", "--set", "search.tokens=1000000", "--study", study]) == 0
    assert "the search ended at a cap, and its winner can no longer change" in capsys.readouterr().err
    found = oversight("search", "show", "--study", study)["search"]
    assert (found["proposals"], found["winner"]["id"]) == (begun["proposals"], best)


def test_dollar_cap_holds_across_resumes_for_two_models(tmp_path: Path, study: str, oversight: Any) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, more=WRITER.format(url=server.url))
        (tmp_path / "prices.toml").write_text(PRICES)
        script(server)
        words = ("--set", "search.usd=1.9", "--study", study)
        set_search(Path(study), candidates=12)
        oversight("search", "start", *words)
        for _ in range(2):
            oversight("search", "resume", *words)
        prices = {"m": 1e-6, "w": 1e-4}
        calls = zip(server.requests, server.bill, strict=True)
        assert 0.5 < sum(prices[request["model"]] * sum(bill) for request, bill in calls) <= 1.9
        assert len(oversight("search", "show", "--study", study)["search"]["candidates"]) > 1


def test_calls_made_before_prices_were_known_count_at_the_highest_price(
    tmp_path: Path, study: str, oversight: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, more=WRITER.format(url=server.url))
        script(server)
        set_search(Path(study), candidates=12)
        oversight("search", "start", "--set", "search.tokens=16000", "--study", study)
        before = len(server.bill)
        (tmp_path / "prices.toml").write_text(PRICES)
        assert main(["search", "resume", "--set", "search.usd=2.4", "--study", study]) == 0
        assert "tokens are charged at the highest price of the study's models, $" in capsys.readouterr().err
        prices = {"m": 1e-6, "w": 1e-4}
        calls = zip(server.requests, server.bill, strict=True)
        assert sum(prices[request["model"]] * sum(bill) for request, bill in calls) <= 2.4
        assert len(server.bill) > before


def test_dry_run_counts_prices_of_sent_and_of_received_tokens(
    tmp_path: Path, study: str, oversight: Any
) -> None:
    lay_out(tmp_path, "http://127.0.0.1:9/v1", more=WRITER.format(url="http://127.0.0.1:9/v1"))
    models = "[models.m]\ninput = {0}\noutput = {1}\n[models.w]\ninput = {0}\noutput = {1}\n"
    usd = {}
    for sent, received in ((1, 0), (0, 1), (1, 200)):
        (tmp_path / "prices.toml").write_text(models.format(sent, received))
        costs = oversight("search", "start", "--dry-run", "--study", study)["costs"]
        usd[sent, received] = costs["usd"]
    assert min(usd.values()) > 0
    assert usd[1, 0] + usd[0, 1] == pytest.approx((costs["tokens"] + costs["meta_tokens"]) * 1e-6)
    assert usd[1, 200] == pytest.approx(usd[1, 0] + 200 * usd[0, 1])


@pytest.mark.parametrize("words", [("--dry-run",), ()])
def test_dollar_cap_without_a_price_names_the_model(
    tmp_path: Path, study: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    lay_out(tmp_path, "http://127.0.0.1:9/v1", more=WRITER.format(url="http://127.0.0.1:9/v1"))
    (tmp_path / "prices.toml").write_text(PRICES[: PRICES.index("[models.w]")])
    assert main(["search", "start", *words, "--set", "search.usd=1", "--study", study]) == 2
    assert "usd = 1.0 needs the price of the model 'w', which is unknown" in capsys.readouterr().err
    assert main(["search", "show", "--study", study]) == 2  # no search was stored


def test_a_dry_run_prices_the_optimiser_s_calls_at_the_optimiser_s_price(
    tmp_path: Path, study: str, oversight: Any
) -> None:
    lay_out(tmp_path, "http://127.0.0.1:9/v1", more=WRITER.format(url="http://127.0.0.1:9/v1"))
    (tmp_path / "prices.toml").write_text(PRICES)
    costs = oversight("search", "start", "--dry-run", "--set", "search.usd=1.3", "--study", study)["costs"]
    assert costs["usd"] == pytest.approx(costs["tokens"] * 1e-6 + costs["meta_tokens"] * 1e-4)
    assert costs["affordable"] == 5
    far = oversight("search", "start", "--dry-run", "--set", "search.usd=1e308", "--study", study)["costs"]
    assert far["affordable"] >= 10**9
    (tmp_path / "prices.toml").write_text(PRICES[: PRICES.index("[models.w]")])
    assert oversight("search", "start", "--dry-run", "--study", study)["costs"]["usd"] is None


@pytest.mark.parametrize("status", [500, 503])
def test_an_optimiser_that_is_down_uses_up_no_proposal(
    tmp_path: Path, study: str, oversight: Any, capsys: pytest.CaptureFixture[str], status: int
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, more=WRITER.format(url=server.url))
        script(server, lambda n: Reply("down", status=status))
        assert main(["search", "start", "--study", study]) == 0
        assert f"the optimiser's model: HTTP {status}" in capsys.readouterr().err
        found = oversight("search", "show", "--study", study)["search"]
        assert (found["proposals"], found["winner"]) == (0, None)
        script(server)
        found = oversight("search", "resume", "--study", study)["search"]
        assert (found["proposals"], found["refused"]) == (4, [])
        assert found["winner"]["reused"] == ""
        again = oversight("search", "start", "--set", "search.policy=adas", "--study", study)["search"]
    assert "also tested on these items: 1;" in again["winner"]["reused"]


def test_optimiser_that_cannot_be_reached_costs_no_call(
    tmp_path: Path, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, more=WRITER.format(url="http://127.0.0.1:9/v1"))
        assert main(["search", "start", "--study", study]) == 2
        assert "http://127.0.0.1:9/v1 cannot be reached" in capsys.readouterr().err
        assert not server.prompts


def test_model_whose_calls_all_fail_is_given_up_early(
    tmp_path: Path, study: str, oversight: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(lambda prompt, n: Reply(body='{"choices": [{"message": {"content": {}}}]}')) as server:
        lay_out(tmp_path, server.url)
        assert main(["search", "start", "--study", study]) == 0
        assert "failed; no winner was confirmed: resume to ask again" in capsys.readouterr().err
        assert len(server.prompts) <= 12
        server.answer = answer
        assert oversight("search", "resume", "--study", study)["search"]["winner"]


def test_a_search_that_another_process_makes_is_refused(
    tmp_path: Path, study: str, oversight: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        begun = oversight("search", "start", "--set", "search.tokens=100", "--study", study)["search"]["id"]
        calls = len(server.prompts)
        with (
            Store(read_study(Path(study)).store_url) as store,
            store.locks.hold({begun: "the other one"}),
        ):
            assert main(["search", "resume", "--set", "search.tokens=1000000", "--study", study]) == 1
            assert f"search {begun}: process" in capsys.readouterr().err
        assert len(server.prompts) == calls
        oversight("search", "resume", "--set", "search.tokens=1000000", "--study", study)


def test_second_search_is_refused_while_one_runs(tmp_path: Path, study: str, oversight: Any) -> None:
    words = "oversight.harness.cli.main", "search", "start", "--set", "study.seed=8", "--study", study
    told: list[str] = []

    def reply(prompt: str, n: int) -> Reply:
        if n == 20:
            done = subprocess.run([sys.executable, "-m", *words], check=False, capture_output=True, text=True)
            told.append(done.stderr)
        return answer(prompt, n)

    with fake_openai(reply) as server:
        lay_out(tmp_path, server.url)
        oversight("search", "start", "--study", study)
        assert f"a search of this study: process {os.getpid()} on " in told[0]
        calls = len(server.prompts)
        assert main(list(words[1:])) == 0
        assert len(server.prompts) > calls


def test_rates_and_tries_may_change(tmp_path: Path, study: str, oversight: Any) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        begun = oversight("search", "start", "--set", "search.tokens=100", "--study", study)["search"]["id"]
        text = Path(study).read_text()
        more = "concurrency = 3\ntries = 2\ntimeout = 20"
        Path(study).write_text(text.replace("concurrency = 1\ntries = 1", more))
        found = oversight("search", "resume", "--set", "search.tokens=1000000", "--study", study)["search"]
    assert (found["id"], found["proposals"]) == (begun, 4)


def test_before_every_expert_has_answered_no_search_begins(
    tmp_path: Path, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(tmp_path, "http://127.0.0.1:9/v1")
    _forget(study, {"red": 0, "blue": 0})
    capsys.readouterr()
    assert main(["search", "start", "--study", study]) == 2
    told = capsys.readouterr().err
    assert "search: blue, red have not answered yet" in told
    assert "not a random part of all items" in told


def test_answers_of_faster_experts_are_left_out_with_a_message(
    tmp_path: Path, study: str, oversight: Any
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, n=100)
        _forget(study, {"red": 12})
        found = oversight("search", "start", "--study", study)["search"]
    (partial,) = [line for line in found["power"] if line.startswith("partial: ")]
    assert re.fullmatch(
        r"partial: \d+ of \d+ answers used, .* \d+% .*, because red has answered only so many", partial
    )
    kept, of = map(int, re.findall(r"(\d+) of (\d+)", partial)[0])
    assert sum(found["splits"].values()) <= kept < of


def _forget(study: str, keep: dict[str, int]) -> None:
    """Keep the first answers of some experts, in the order of their queues, as if more were to come."""
    with closing(sqlite3.connect(Path(study).with_name("study.db"))) as edited, edited:
        for expert, number in keep.items():
            edited.execute(
                "DELETE FROM answer WHERE expert = ? AND question_id NOT IN "
                "(SELECT id FROM question WHERE expert = ? ORDER BY place LIMIT ?)",
                (expert, expert, number),
            )
