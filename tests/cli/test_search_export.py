"""The winner of a search as a file: it answers as it did, and needs nothing of the search."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.search.fitness.archive import load_archive
from harness.cli.main import main
from harness.store import Store
from tests.cli.search_study import CLASSES, answer, lay_out
from tests.fakes.openai_server import fake_openai


def test_the_exported_winner_answers_as_it_did_and_needs_nothing_of_the_search(
    searched: Path, tmp_path: Path, oversight: Any
) -> None:
    file, questions = tmp_path / "winner.py", tmp_path / "questions.csv"
    oversight("search", "export", file, "--study", str(searched / "study.toml"))
    with Store(f"sqlite:///{searched / 'study.db'}") as store:
        (search,) = store.searches.read_searches()
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
        "import sys, winner; print(len(winner.SOURCE) > 9, *[m for m in sys.modules if m[:7] == 'agents.'])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", look], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout.split()
    assert loaded[0] == "True"
    assert not {f"agents.{m}" for m in ("search",)} & set(loaded)
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
