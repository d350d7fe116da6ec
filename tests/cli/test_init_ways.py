"""Ways to begin a study: a named model, another study, another encoding, questions on a terminal."""

from __future__ import annotations

import errno
import os
import pty
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.config import read_study

Oversight = Callable[..., Any]
ITEMS = "id,text,ward\n" + "".join(f"i{j},note {j},w{j % 2}\n" for j in range(12))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("notes.csv").write_text(ITEMS)
    return tmp_path


def test_a_named_model_is_written_with_its_endpoint(folder: Path, oversight: Oversight) -> None:
    words = ("--model", "org/Model 7B", "--endpoint", "http://127.0.0.1:9/v1")
    oversight("init", "--classes", "red,green", *words)
    (name, model) = next(iter(read_study("study.toml").models.items()))
    assert (name, model.model, model.endpoint) == ("Model-7B", "org/Model 7B", "http://127.0.0.1:9/v1")
    refused = oversight("init", "other", "--items", "notes.csv", "--endpoint", "http://x/v1", code=2)["error"]
    assert "also name the model" in refused


@pytest.mark.parametrize("number", range(1, 5))
def test_init_continues_after_a_full_disk(
    number: int, folder: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter(range(number, 0, -1))

    def sync_until_full(_: int) -> None:
        if next(left) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    words = ("init", "--items", "notes.csv", "--classes", "red,green")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", sync_until_full)
        assert "No space left on device" in oversight(*words, code=1)["error"]
    oversight(*words)
    assert {path.name for path in folder.iterdir()} == {
        "notes.csv", "study.toml", "study.schema.json", "experts.toml", "prompt.txt"
    }  # fmt: skip


def test_a_column_of_repeated_ids_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("notes.csv").write_text(ITEMS + "i3,another note,w1\n")
    assert main(["init", "--items", "notes.csv", "--classes", "red,green"]) == 0
    assert "id: id, whose values must all be different and not empty" in capsys.readouterr().out
    assert main(["items", "check"]) == 2
    assert "notes.csv:14 [id]: the id 'i3' was used in line 5" in capsys.readouterr().err


def test_a_study_begins_like_another_one(folder: Path, oversight: Oversight) -> None:
    oversight("init", "first", "--items", "notes.csv", "--classes", 'red,"green, or blue"')
    first = Path("first/study.toml")
    first.write_text(first.read_text().replace("level = 0.95", "level = 0.9"))
    Path("first/prompt.txt").write_text("$text? $names")
    oversight("init", "second", "--from", "first", "--protocol", "disagreement")
    begun, other = read_study("second/study.toml"), read_study(first)
    assert begun.study.name == "second"
    assert begun.study.seed != other.study.seed
    assert begun.experts.protocol == "disagreement"
    assert begun.items.classes == ["red", "green, or blue"]
    assert begun.estimate.level == 0.9
    assert begun.path(begun.items.file or "").resolve() == folder / "notes.csv"
    assert Path("second/prompt.txt").read_text() == "$text? $names"
    assert oversight("items", "check", "--study", "second/study.toml")["items"] == 12
    assert "--classes" in oversight("init", "third", "--from", "first", "--classes", "a,b", code=2)["error"]
    assert "no such study file" in oversight("init", "third", "--from", "nowhere", code=2)["error"]
    assert not Path("third").exists()


def test_a_study_like_another_one_has_its_prompt_to_search_from(folder: Path, oversight: Oversight) -> None:
    oversight("init", "first", "--items", "notes.csv", "--classes", "red,green,blue")
    study = Path("first/study.toml")
    text = study.read_text()
    for start, copied in (("cot", False), ("mine.md", True)):
        Path("first/mine.md").write_text("Look closely.")
        study.write_text(f'{text}\n[search]\nstart = "{start}"\n')
        oversight("init", f"like-{start}", "--from", "first")
        assert read_study(f"like-{start}/study.toml").search.start == start
        assert Path(f"like-{start}/mine.md").exists() == copied


def test_items_in_another_encoding_become_a_utf_8_copy(folder: Path, oversight: Oversight) -> None:
    Path("latin.csv").write_bytes("id,text\na,Übelkeit\nb,Kopfweh\n".encode("windows-1252"))
    words = ("--items", "latin.csv", "--classes", "red,green")
    found = oversight("init", "study", *words, "--encoding", "windows-1252")
    assert Path("latin-utf-8.csv").read_text(encoding="utf-8").splitlines()[1] == "a,Übelkeit"
    assert found["items"] == "../latin-utf-8.csv"
    assert "exists already" in oversight("init", "b", *words, "--encoding", "latin-1", code=2)["error"]
    Path("latin-utf-8.csv").unlink()
    assert "is unknown" in oversight("init", "b", *words, "--encoding", "klingon", code=2)["error"]
    assert "is not utf-8" in oversight("init", "b", *words, "--encoding", "utf-8", code=2)["error"]


def converse(answers: str, *words: str) -> str:
    """Answer the questions of ``init`` on a terminal; return what it printed."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "oversight.harness.cli.main", "init", *words]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, close_fds=True)
    os.close(slave)
    os.write(master, answers.encode())
    printed = b""
    while True:
        try:
            ready, _, _ = select.select([master], [], [], 60)
            printed += (chunk := os.read(master, 4096) if ready else b"")
        except OSError:  # reading fails when the program has ended
            break
        if not chunk:
            break
    os.close(master)
    process.wait(timeout=60)
    return printed.decode()


@pytest.mark.parametrize(
    ("number", "protocol"), [("1", "partitioned"), ("2", "disagreement"), ("3", "targeted"), ("4", "panel")]
)
def test_a_terminal_asks_what_the_user_wants_to_know(number: str, protocol: str, folder: Path) -> None:
    printed = converse(f"{number}\n\nred,green\n\n")
    assert "What do you want to know?" in printed
    study = read_study("study.toml")
    assert (study.experts.protocol, study.items.classes) == (protocol, ["red", "green"])
    assert study.items.meta == ["ward"]


def test_an_answer_that_is_no_choice_is_refused(folder: Path) -> None:
    assert "give a number from 1 to 4, not 'seven'" in converse("seven\n")
    assert not Path("study.toml").exists()
