"""The verbs of a search, against a loopback server: killed and resumed, shown, re-scored, refused."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.journal import load_archive
from harness.cli.main import main
from harness.store.repository import Repository
from harness.store.searches import SearchStore
from protocols import SimulatedExperts
from tests.fakes.openai_server import Reply, fake_openai

CLASSES = ("red", "green", "blue", "white")
START = '''\
"""One call."""

TEMPERATURE = 0.5
INSTRUCTION = "Answer at once."


async def forward(task):
    thinking, answer = await task.ask(["thinking", "answer"], [task], INSTRUCTION, temperature=TEMPERATURE)
    return answer
'''
STUDY = """\
[study]
name = "Colours"
seed = 3
[items]
file = "items.csv"
classes = {classes}
[models.m]
endpoint = "{url}"
model = "m"
concurrency = {concurrency}
tries = 1
[search]
start = "{folder}/start.py"
library = ["{folder}/start.py"]
candidates = 4
in_flight = 2
rungs = [6, 14]
keep = [0.5]
{more}
"""


def truth(j: int) -> int:
    return (7 * j + j // 5) % 4


def answer(prompt: str, _: int) -> Reply:
    """Right in most cases, and more often if the instruction tells it to look for the detail."""
    j = int(re.findall(r"number (\d+)\.", prompt)[-1])
    right = j % 5 < (4 if "detail" in prompt else 3)
    letter = re.findall(rf"\((\w)\) {CLASSES[truth(j) if right else (truth(j) + 1) % 4]}", prompt)[-1]
    return Reply(json.dumps({"thinking": "well", "answer": letter}))


def lay_out(folder: Path, url: str, concurrency: int = 1, more: str = "", n: int = 44) -> None:
    study = STUDY.format(
        classes=json.dumps(CLASSES), url=url, concurrency=concurrency, folder=folder, more=more
    )
    (folder / "study.toml").write_text(study)
    (folder / "start.py").write_text(START)
    (folder / "experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in CLASSES)
    )
    (folder / "items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(n)))
    (folder / "key.csv").write_text("id,label\n" + "".join(f"i{j},{CLASSES[truth(j)]}\n" for j in range(n)))
    for words in (("label", "route"), ("label", "simulate", "--key", str(folder / "key.csv"))):
        assert main([*words, "--study", str(folder / "study.toml"), "--json"]) == 0


def archive_digest(folder: Path) -> str:
    with Repository(f"sqlite:///{folder / 'study.db'}") as store:
        (search,) = SearchStore(store).searches()
        return load_archive(store, search["id"]).digest()


def command(folder: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "harness.cli.main", "search", *words, "--study", str(folder / "study.toml")]


def test_killed_anywhere_it_goes_on_to_the_same_archive_and_asks_nothing_twice(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    with fake_openai(answer) as server:
        lay_out(whole, server.url)
        subprocess.run(command(whole, "start", "--json"), check=True, capture_output=True)
    expected, calls = archive_digest(whole), len(server.prompts)
    asked: list[str] = []
    hang, killed = threading.Event(), threading.Event()

    def until(stop: int) -> Callable[[str, int], Reply]:
        def reply(prompt: str, n: int) -> Reply:
            if len(asked) >= stop:  # never answered, so never paid for
                hang.set()
                killed.wait(60)
                return Reply(drop=True)
            asked.append(prompt)
            return answer(prompt, n)

        return reply

    with fake_openai(answer) as server:
        lay_out(cut, server.url)
        for stop in (calls // 3, calls - 9):
            server.answer = until(stop)
            hang.clear()
            killed.clear()
            process = subprocess.Popen(
                command(cut, "start"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            assert hang.wait(60)
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed.set()
        server.answer = until(10**9)
        done = subprocess.run(command(cut, "resume", "--json"), check=True, capture_output=True)
    assert archive_digest(cut) == expected.replace(str(whole), str(cut))
    # A prompt may come again for another draw, as often as in the search that was never killed.
    assert Counter(asked) == Counter(paid_for(whole))
    assert json.loads(done.stdout)["search"]["winner"]


def paid_for(folder: Path) -> list[str]:
    """Last messages of all calls that a study has paid for."""
    import sqlite3

    with sqlite3.connect(folder / "study.db") as connection:
        rows = connection.execute("select request from call").fetchall()
    return [json.loads(request)["messages"][-1]["content"] for (request,) in rows]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searched")
    with fake_openai(answer) as server:
        lay_out(folder, server.url, concurrency=4)
        assert main(["search", "start", "--study", str(folder / "study.toml"), "--json"]) == 0
    return folder


def test_show_tells_lineage_front_power_and_winner(
    searched: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(searched / "study.toml")
    assert main(["search", "show", "--study", study, "--open-key", str(searched / "key.csv")]) == 0
    text = capsys.readouterr().out
    for part in (
        r"with \d+ questions at K = 4 \(yes/no answers about a random option\) you cannot see differences",
        r"A/A: the start against itself: .* undecided",
        r"lineage, accuracy with about 95 % \(\* on the front",
        r"\n[ *~] start \[\w{12}\]",
        r"\n[ *~]   +start\+\d \[\w{12}\]",
        r"winner: .* corrected for being the best of many \(uncorrected",
        r"test, winner: 0\.\d{3} \[",
        r"by the opened key: winner \d",
    ):
        assert re.search(part, text), part


def test_nothing_is_asked_again_and_new_answers_score_anew(searched: Path, oversight: Any) -> None:
    study = str(searched / "study.toml")
    before = oversight("search", "show", "--study", study)["search"]
    again = oversight("search", "resume", "--study", study)["search"]  # the server is gone
    assert again == before
    with Repository(f"sqlite:///{searched / 'study.db'}") as store:
        more = [
            replace(q, id=f"{q.id}+", option=(q.option + 1) % 4, expert=CLASSES[(q.option + 1) % 4])
            for q in store.questions()
        ]
        store.add_questions(more)
        experts = SimulatedExperts({f"i{j}": truth(j) for j in range(44)})
        store.add_answers(experts.answer(more))
    after = oversight("search", "show", "--study", study)["search"]
    start = [next(c for c in r["candidates"] if c["slot"] == -1)["standing"] for r in (before, after)]
    assert start[1]["value"] != start[0]["value"]
    assert [c["id"] for c in after["candidates"]] == [c["id"] for c in before["candidates"]]


def test_the_page_needs_no_network_and_escapes(searched: Path, tmp_path: Path, oversight: Any) -> None:
    page = tmp_path / "search.html"
    oversight("search", "show", "--study", str(searched / "study.toml"), "--page", page)
    text = page.read_text(encoding="utf-8")
    assert "<svg" in text
    assert 'class="plus"' in text
    assert "What these labels can show" in text
    assert not re.search(r'(?:src|href)="(?!#)', text)
    assert "&#34;Answer at once.&#34;" in text or "&#39;Answer at once.&#39;" in text


def test_the_exported_winner_answers_as_it_did_and_needs_nothing_of_the_search(
    searched: Path, tmp_path: Path, oversight: Any
) -> None:
    file, questions = tmp_path / "winner.py", tmp_path / "questions.csv"
    oversight("search", "export", file, "--study", str(searched / "study.toml"))
    with Repository(f"sqlite:///{searched / 'study.db'}") as store:
        (search,) = SearchStore(store).searches()
        archive = load_archive(store, search["id"])
    winner, items = str(archive.events["winner"]["candidate"]), archive.splits["test"]
    stored = {p.item_id: p.option for p in archive.predictions(winner, items)}
    questions.write_text("id,text\n" + "".join(f"{item.id},{item.text}\n" for item in items))
    with fake_openai(answer) as server:
        run = [sys.executable, str(file), str(questions), "--model", "m", "--endpoint", server.url]
        done = subprocess.run(run, check=True, capture_output=True, text=True)
    found = {row["id"]: row["answer"] for row in map(json.loads, done.stdout.splitlines())}
    assert found == {name: CLASSES[option] for name, option in stored.items() if option is not None}
    look = (
        "import sys, winner; print(winner.forward.__name__, *[m for m in sys.modules if m[:7] == 'agents.'])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", look], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout.split()
    assert loaded[0] == "forward"
    assert not {f"agents.{m}" for m in ("archive", "fitness", "loop", "race", "session")} & set(loaded)
    missing = subprocess.run([*run[:2], "no.csv", *run[3:]], check=False, capture_output=True, text=True)
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)


def test_what_cannot_be_exported_is_refused(
    searched: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "export", "winner.txt", "--study", str(searched / "study.toml")]) == 2
    assert "must end in .py" in capsys.readouterr().err
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        study = str(tmp_path / "study.toml")
        assert main(["search", "start", "--tokens", "100", "--study", study]) == 0
    capsys.readouterr()
    assert main(["search", "export", str(tmp_path / "w.py"), "--study", study]) == 2
    assert "has no winner yet" in capsys.readouterr().err
    assert not (tmp_path / "w.py").exists()


def test_a_dry_run_prices_and_asks_nothing(tmp_path: Path, oversight: Any) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, more="tokens = 20000")
        found = oversight("search", "start", "--dry-run", "--study", tmp_path / "study.toml")["costs"]
        assert server.prompts == []
    assert 50 < found["calls"] < 400
    assert found["usd"] is None
    assert 0 < found["affordable"] < 400


def test_the_cap_on_tokens_is_kept_over_all_runs_and_may_be_raised(tmp_path: Path, oversight: Any) -> None:
    cap = 500  # the server counts 10 tokens a call
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, concurrency=4)
        (tmp_path / "workflow.toml").write_text("max_tokens = 40\n")
        study = tmp_path / "study.toml"
        few = oversight("search", "start", "--tokens", str(cap), "--study", study)["search"]
        assert 0 < 10 * len(server.prompts) <= cap
        assert few["winner"] is None
        oversight("search", "resume", "--tokens", str(cap), "--study", study)
        assert 10 * len(server.prompts) <= cap
        whole = oversight("search", "resume", "--tokens", "10000000", "--study", study)["search"]
    assert whole["id"] == few["id"]
    assert whole["winner"]
    assert max(Counter(paid_for(tmp_path)).values()) <= 4


BAD = {
    "usd = 1.0": "needs the model's price",
    'policy = "adas"': "needs a model that writes programs",
    'policy = "adas"\noptimiser = "x"': "there is no model 'x'",
    'policy = "magic"': "[search.policy]",
    'tier = "vm"': "there is no sandbox tier 'vm'",
    "split = {select = 0.9, test = 0.5}": "shares of at most 1 together",
    "split = {select = 0.1}": "the first rung needs 6",
}


@pytest.mark.parametrize("more", BAD)
def test_what_is_wrong_is_named_and_nothing_is_asked(
    more: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        text = (tmp_path / "study.toml").read_text()
        (tmp_path / "study.toml").write_text(f"{text}{more}\n")
        assert main(["search", "start", "--study", str(tmp_path / "study.toml")]) == 2
        assert server.prompts == []
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("oversight: ")
    assert BAD[more] in error


def test_a_search_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
    study = str(tmp_path / "study.toml")
    assert main(["search", "show", "--study", study]) == 2
    assert "this study has no search yet" in capsys.readouterr().err


def test_a_budget_that_ends_at_once_is_told_and_nothing_breaks(tmp_path: Path, oversight: Any) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        found = oversight("search", "start", "--tokens", "100", "--study", tmp_path / "study.toml")["search"]
        assert server.prompts == []
    assert (found["winner"], found["proposals"], found["a_a"]) == (None, 0, "not run yet")
