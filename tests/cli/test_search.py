"""The verbs of a search, against a loopback server: killed and resumed, shown, re-scored, refused."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oversight.agents.search.fitness.archive import load_archive
from oversight.harness.cli.main import main
from oversight.harness.store import Store
from oversight.protocols.collect import SimulatedExperts
from tests.cli.search_study import CLASSES, answer, lay_out, set_search, truth
from tests.fakes.openai_server import Reply, fake_openai


def archive_digest(folder: Path) -> str:
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        (search,) = store.searches.read_searches()
        return load_archive(store, search["id"]).digest()


def command(folder: Path, *words: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "oversight.harness.cli.main",
        "search",
        *words,
        "--study",
        str(folder / "study.toml"),
    ]


@pytest.mark.slow
def test_killed_search_resumes_to_the_same_archive(tmp_path: Path) -> None:
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
            if len(asked) >= stop:  # calls without a reply are not paid for
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
    # Each prompt is sent as often as in the search that was never killed.
    assert Counter(asked) == Counter(paid_for(whole))
    assert json.loads(done.stdout)["search"]["winner"]


def paid_for(folder: Path) -> list[str]:
    """Last messages of all calls that a study has paid for."""
    with sqlite3.connect(folder / "study.db") as connection:
        rows = connection.execute("select request from call").fetchall()
    return [json.loads(request)["messages"][-1]["content"] for (request,) in rows]


def test_show_tells_lineage_front_power_and_winner(
    searched: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(searched / "study.toml")
    assert main(["search", "show", "--study", study, "--open-key", str(searched / "key.csv")]) == 0
    text = capsys.readouterr().out
    for part in (
        r"with \d+ questions about select items at K = 4 \(yes/no answers about a random option\) you ",
        r"\ntest, difference: .* points, 95 % interval .* \(\d+ items\), so (it is not|the winner is) ",
        rf"\ntokens: {count_tokens(searched):,} of all calls in the study since this search began",
        r"A/A: the start against itself: .* undecided",
        r"lineage, accuracy with about 95 % \(\* on the front",
        r"\n[ *~] start \[\w{12}\]",
        r"\n[ *~]   +start\+\d \[\w{12}\]",
        r"winner: .* on the sealed test, 95 % ",
        r"may be too high\): .* corrected for being the best of many \(uncorrected",
        r"test, winner: 0\.\d{3} \[",
        r"by the opened key: winner \d",
    ):
        assert re.search(part, text), part


def count_tokens(folder: Path) -> int:
    """Tokens of all calls that a study has paid for."""
    with closing(sqlite3.connect(folder / "study.db")) as database:
        ((found,),) = database.execute("SELECT sum(input_tokens + output_tokens) FROM call")
    return int(found)


def test_difference_says_by_how_much_the_two_accuracies_differ(searched: Path, oversight: Any) -> None:
    winner = oversight("search", "show", "--study", str(searched / "study.toml"))["search"]["winner"]
    ends = [min(1.0, max(0.0, winner[name]["value"])) for name in ("test", "start_test")]
    gap = f"{100 * (ends[0] - ends[1]):+z.1f} points"
    told = f"the two accuracies, which differ by {gap}" in winner["difference"]
    assert told != winner["difference"].startswith(gap)


def test_new_answers_change_scores_without_calls(searched: Path, oversight: Any) -> None:
    study = str(searched / "study.toml")
    before = oversight("search", "show", "--study", study)["search"]
    again = oversight("search", "resume", "--study", study)["search"]  # the server has stopped
    assert again == before
    with Store(f"sqlite:///{searched / 'study.db'}") as store:
        more = [
            replace(q, id=f"{q.id}+", option=(q.option + 1) % 4, expert=CLASSES[(q.option + 1) % 4])
            for q in store.content.read_questions()
        ]
        store.content.add_questions(more)
        experts = SimulatedExperts({f"i{j}": truth(j) for j in range(44)})
        store.content.add_answers(experts.answer(more))
    after = oversight("search", "show", "--study", study)["search"]
    start = [next(c for c in r["candidates"] if c["slot"] == -1)["standing"] for r in (before, after)]
    assert start[1]["value"] != start[0]["value"]
    assert [c["id"] for c in after["candidates"]] == [c["id"] for c in before["candidates"]]


def test_search_page_is_one_file(searched: Path, tmp_path: Path, oversight: Any) -> None:
    page, study = tmp_path / "search.html", searched / "study.toml"
    found = oversight("search", "show", "--study", study, "--page", page, "--open-key", searched / "key.csv")
    text = page.read_text(encoding="utf-8")
    data = json.loads(re.findall(r'(?s)<script type="application/json" id="data">(.*?)</script>', text)[0])
    parts = data["parts"]
    assert parts["frame"]["pages"] == ["search"]
    assert found["search"]["id"] in data["note"]
    rows = parts["search"]["search"]["rows"]
    assert [row["id"] for row in rows] == [c["id"] for c in found["search"]["candidates"]]
    truth = {each["key"]: each["value"] for each in parts["search"]["search"]["others"]}
    assert truth["truth"] == found["search"]["winner"]["truth"]
    for row in rows:
        kept = parts[f"candidate?id={row['id']}&search={found['search']['id']}"]
        assert kept["lines"]
        told = [item for item in kept["items"]["rows"] if item.get("is_kept")]
        assert bool(told) == (
            row["id"] in (found["search"]["winner"]["id"], parts["search"]["search"]["start"])
        )
        for item in told:
            query = f"id={row['id']}&item={item['id']}&search={found['search']['id']}"
            assert parts[f"candidate-item?{query}"]["calls"]
    assert not re.search(r'(?:src|href)="(?!#)', text)


def test_a_dry_run_prices_and_asks_nothing_and_leaves_no_search(
    tmp_path: Path, oversight: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, more="tokens = 200000")
        found = oversight("search", "start", "--dry-run", "--study", tmp_path / "study.toml")["costs"]
        assert server.prompts == []
    assert 50 < found["calls"] < 400
    assert main(["search", "show", "--study", str(tmp_path / "study.toml")]) == 2
    assert "this study has no search yet" in capsys.readouterr().err
    assert found["usd"] is None
    assert 0 < found["affordable"] < 400


def test_a_prompt_in_a_file_beside_the_study_is_the_start(
    tmp_path: Path, oversight: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.toml"
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        (tmp_path / "triage.md").write_text("Name the colour.\n\nSay “why” first.\n", encoding="utf-8")
        set_search(study, start="triage.md", library=["cot"])
        oversight("search", "start", "--study", study)
        assert any(prompt.endswith("Name the colour.\n\nSay “why” first.\n") for prompt in server.prompts)
        assert main(["search", "show", "--study", str(study)]) == 0
        shown = re.search(r"triage \[(\w{12})\]", capsys.readouterr().out)
        asked = len(server.prompts)
        (run,) = oversight("run", "--workflow", tmp_path / "triage.md", "--study", study)[
            "workflows"
        ].values()
        assert shown
        assert shown[1] == run["workflow"]
        assert server.prompts[asked].endswith("Say “why” first.\n")
    (tmp_path / "triage.md").write_text("Name one of $options.")
    assert main(["search", "start", "--study", str(study)]) == 2
    assert "triage.md: the prompt contains the template field '$options'" in capsys.readouterr().err
    (tmp_path / "triage.md").write_text(" \n")
    assert main(["search", "start", "--study", str(study)]) == 2
    assert "triage.md: the prompt is empty" in capsys.readouterr().err


def test_the_cap_on_tokens_is_kept_over_all_runs_and_may_be_raised(tmp_path: Path, oversight: Any) -> None:
    cap = 500  # the server charges 10 tokens per call
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, concurrency=4)
        (tmp_path / "workflow.toml").write_text("max_tokens = 40\n")
        study = tmp_path / "study.toml"
        few = oversight("search", "start", "--set", f"search.tokens={cap}", "--study", study)["search"]
        assert 0 < 10 * len(server.prompts) <= cap
        assert few["winner"] is None
        oversight("search", "resume", "--set", f"search.tokens={cap}", "--study", study)
        assert 10 * len(server.prompts) <= cap
        whole = oversight("search", "resume", "--set", "search.tokens=10000000", "--study", study)["search"]
    assert whole["id"] == few["id"]
    assert whole["winner"]
    assert max(Counter(paid_for(tmp_path)).values()) <= 4


def test_a_search_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
    study = str(tmp_path / "study.toml")
    assert main(["search", "show", "--study", study]) == 2
    assert "this study has no search yet" in capsys.readouterr().err


def test_budget_that_ends_immediately_is_reported(tmp_path: Path, oversight: Any) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        found = oversight(
            "search", "start", "--set", "search.tokens=100", "--study", tmp_path / "study.toml"
        )["search"]
        assert server.prompts == []
    assert (found["winner"], found["proposals"], found["a_a"]) == (None, 0, "not run yet")


def test_a_search_begun_without_clusters_is_not_taken_for_one_with_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        study, items = tmp_path / "study.toml", tmp_path / "items.csv"
        words = ["--study", str(study), "--json"]
        assert main(["search", "start", *words]) == 0
        lines = items.read_text().splitlines()
        items.write_text(
            "\n".join([lines[0] + ",ward", *(f"{x},w{j // 2}" for j, x in enumerate(lines[1:]))])
        )
        study.write_text(
            study.read_text().replace('file = "items.csv"', 'file = "items.csv"\ncluster = "ward"')
        )
        capsys.readouterr()
        assert main(["search", "show", *words]) == 2
        assert "items.cluster was None when search" in capsys.readouterr().out
        assert main(["search", "start", *words]) == 0
        found = json.loads(capsys.readouterr().out)
        assert main(["search", "show", *words]) == 0
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        splits = load_archive(store, found["search"]["id"]).splits
    wards = [{int(item.id[1:]) // 2 for item in part} for part in splits.values()]
    assert sum(map(len, wards)) == len(set.union(*wards))


def test_search_of_another_version_is_shown_but_not_resumed(
    searched: Path, tmp_path: Path, oversight: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "older"
    shutil.copytree(searched, folder)
    study = str(folder / "study.toml")
    engine = sa.create_engine(f"sqlite:///{folder / 'study.db'}")
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE search SET spec = json_remove(spec, '$.loop')"))
    engine.dispose()
    assert oversight("search", "show", "--study", study)["search"]["winner"]
    oversight("search", "export", tmp_path / "winner.json", "--study", study)
    assert main(["search", "resume", "--study", study]) == 2
    assert "begun by another version" in capsys.readouterr().err
