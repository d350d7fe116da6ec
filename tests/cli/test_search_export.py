"""The winner of a search as a data file: another study runs it, and it answers as it did."""

from __future__ import annotations

import ast
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from oversight.agents.search.fitness.archive import load_archive
from oversight.harness.cli.main import main
from oversight.harness.store import Store
from tests.cli.search_study import answer, lay_out
from tests.fakes.openai_server import fake_openai


def test_exported_winner_gives_the_same_answers_elsewhere(
    searched: Path, tmp_path: Path, oversight: Any
) -> None:
    file = tmp_path / "winner.json"
    oversight("search", "export", file, "--study", str(searched / "study.toml"))
    with Store(f"sqlite:///{searched / 'study.db'}") as store:
        (search,) = store.searches.read_searches()
        archive = load_archive(store, search["id"])
    winner, items = str(archive.events["winner"]["candidate"]), archive.splits["test"]
    stored = {p.item_id: p.option for p in archive.table.predictions(winner, items)}
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        said = oversight("run", "--workflow", file, "--study", str(tmp_path / "study.toml"))
    (run,) = said["workflows"].values()
    assert run["workflow"] == winner
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        (stored_run,) = store.runs.read_runs()
        found = {p.item_id: p.option for p in store.runs.read_predictions(stored_run["id"])}
    assert {name: found[name] for name in stored} == stored


def test_a_winner_is_marked_where_the_answers_chose_it(tmp_path: Path, oversight: Any) -> None:
    study, file = str(tmp_path / "study.toml"), tmp_path / "winner.json"
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, concurrency=4)
        search = oversight("search", "start", "--study", study)["search"]["id"]
        oversight("search", "export", file, "--study", study)
        same, source = tmp_path / "same.py", json.loads(file.read_text())["program"]["source"]
        body = ast.unparse(ast.Module(ast.parse(source).body[1:], []))
        same.write_text(f'"""Another title."""\n\n{body}\n# the end\n')
        for workflow in (file, same, tmp_path / "start.py"):
            (run,) = oversight("run", "--workflow", workflow, "--study", study)["workflows"]
            found = oversight("estimate", "--study", study)["models"][run]["accuracy"]
            assert (f"search {search} chose this workflow" in found["why"]) == (workflow in (file, same))
            gate = oversight("gate", "--at-least", "0.02", "--model", run, "--study", study, code=None)
            assert (gate["verdict"] == "undecided") == (workflow in (file, same))
        pairs = oversight("compare", "--study", study)["comparisons"]
    assert all("chose this workflow" in pair["why"] for pair in pairs)


def test_a_winner_from_the_library_is_marked(tmp_path: Path, oversight: Any) -> None:
    study = str(tmp_path / "study.toml")
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, concurrency=4)
        said = oversight("search", "start", "--set", 'search.library=["debate"]', "--study", study)
        with closing(sqlite3.connect(tmp_path / "study.db")) as database, database:
            (winner,) = database.execute("SELECT id FROM candidate WHERE name = 'debate'").fetchone()
            database.execute(
                "UPDATE search_event SET data = ? WHERE key = 'winner'", [f'{{"candidate": "{winner}"}}']
            )
        (run,) = oversight("run", "--workflow", "debate", "--study", study)["workflows"]
        found = oversight("estimate", "--study", study)["models"][run]["accuracy"]
    assert f"search {said['search']['id']} chose this workflow" in found["why"]


def test_the_choice_is_named_beside_another_reason_for_doubt(tmp_path: Path, oversight: Any) -> None:
    study, file = str(tmp_path / "study.toml"), tmp_path / "winner.json"
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, concurrency=4)
        search = oversight("search", "start", "--study", study)["search"]["id"]
        with closing(sqlite3.connect(tmp_path / "study.db")) as database, database:
            database.execute("UPDATE answer SET verdict = 'unsure' WHERE position % 3 = 0")
        oversight("search", "export", file, "--study", study)
        (run,) = oversight("run", "--workflow", file, "--study", study)["workflows"]
        oversight("run", "--study", study)
        why = oversight("estimate", "--study", study)["models"][run]["accuracy"]["why"]
        (pair,) = oversight("compare", "--study", study)["comparisons"]
    for doubts in (why, pair["why"]):
        assert doubts.startswith(f"search {search} chose this workflow")
        assert "have no yes or no" in doubts


def test_a_study_with_other_options_refuses_an_exported_winner(
    searched: Path, tmp_path: Path, oversight: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "winner.json"
    oversight("search", "export", file, "--study", str(searched / "study.toml"))
    lay_out(tmp_path, "http://127.0.0.1:9/v1")
    study = tmp_path / "study.toml"
    study.write_text(study.read_text().replace('classes = ["', 'classes = ["other", "', 1))
    assert main(["run", "--workflow", str(file), "--study", str(study)]) == 2
    assert "this workflow can answer only with" in capsys.readouterr().err
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        assert store.runs.read_runs() == []


def test_a_search_without_a_winner_is_not_exported(
    searched: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "export", "winner.txt", "--study", str(searched / "study.toml")]) == 2
    assert "must end in .json" in capsys.readouterr().err
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        study = str(tmp_path / "study.toml")
        assert main(["search", "start", "--set", "search.tokens=100", "--study", study]) == 0
    capsys.readouterr()
    assert main(["search", "export", str(tmp_path / "w.json"), "--study", study]) == 2
    assert "has no winner yet" in capsys.readouterr().err
    assert not (tmp_path / "w.json").exists()
