"""The winner of a search as a file: it answers as it did, and needs nothing of the search."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oversight.agents.search.fitness.archive import load_archive
from oversight.harness.cli.main import main
from oversight.harness.store import Store
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


@pytest.fixture
def winner(searched: Path, tmp_path: Path, oversight: Any) -> Path:
    """The winner as a file, beside ok.csv, sixty questions."""
    file: Path = tmp_path / "winner.py"
    oversight("search", "export", file, "--study", str(searched / "study.toml"))
    questions = "".join(f"q{j},number {j}.\n" for j in range(60))
    (tmp_path / "ok.csv").write_text(f"id,text\n{questions}")
    return file


@pytest.mark.parametrize(
    ("questions", "model", "error"),
    [
        (
            'id,text,options\na,number 1.,"[""x"", ""y""]"\n',
            "m",
            "questions.csv:2 [options]: this workflow answers with ",
        ),
        ("id,text,options\na,number 1.,red\n", "m", "questions.csv:2 [options]"),
        ("id,text\na,number 1.\n", "", "must not be empty"),
    ],
)
def test_an_exported_winner_refuses_what_it_cannot_take(
    winner: Path, questions: str, model: str, error: str
) -> None:
    (winner.parent / "questions.csv").write_text(questions)
    run = [
        sys.executable,
        winner.name,
        "questions.csv",
        "--model",
        model,
        "--endpoint",
        "http://127.0.0.1:9/v1",
    ]
    done = subprocess.run(run, cwd=winner.parent, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert error in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_an_exported_winner_whose_reader_or_disk_ends_says_so_in_a_line(winner: Path) -> None:
    with fake_openai(answer) as server:
        run = [sys.executable, winner.name, "ok.csv", "--model", "m", "--endpoint", server.url]
        read, write = os.pipe()
        os.close(read)
        closed = subprocess.run(
            run, cwd=winner.parent, check=False, stdout=write, stderr=subprocess.PIPE, text=True
        )
        os.close(write)
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                run, cwd=winner.parent, check=False, stdout=full, stderr=subprocess.PIPE, text=True
            )
    assert (closed.returncode, closed.stderr) == (0, "")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "cannot be written" in done.stderr


def test_what_cannot_be_exported_is_refused(
    searched: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "export", "winner.txt", "--study", str(searched / "study.toml")]) == 2
    assert "must end in .py" in capsys.readouterr().err
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        study = str(tmp_path / "study.toml")
        assert main(["search", "start", "--set", "search.tokens=100", "--study", study]) == 0
    capsys.readouterr()
    assert main(["search", "export", str(tmp_path / "w.py"), "--study", study]) == 2
    assert "has no winner yet" in capsys.readouterr().err
    assert not (tmp_path / "w.py").exists()


def test_no_option_exports_code_that_runs_outside_the_sandbox(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["search", "export", "winner.py", "--in-process"])
    assert ended.value.code == 2
    assert "unrecognized arguments: --in-process" in capsys.readouterr().err
