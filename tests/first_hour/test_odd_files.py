"""A stranger's files: columns named in another way, truth in disguise, names not quite right, logs first."""

from __future__ import annotations

import csv
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from tests.install.environments import ROOT

Oversight = Callable[..., Any]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, header: str, *rows: str) -> None:
    with Path(name).open("w", encoding="utf-8-sig", newline="") as stream:
        csv.writer(stream, delimiter=";", lineterminator="\r\n").writerows(
            line.split("|") for line in (header, *rows)
        )


def notes(n: int = 30) -> list[str]:
    return [
        f"{100 + j}|Brustschmerz und Lähmung seit {j} Tagen|{'Süd' if j % 2 else 'Nord'}" for j in range(n)
    ]


@pytest.mark.parametrize("name", ["Notiz-Nr", "Nr.", "ID", "No", "Aktenzeichen"])
def test_a_first_column_of_different_short_values_is_the_id(name: str, oversight: Oversight) -> None:
    write("Meine Notizen (März).csv", f"{name}|Befund|Station", *notes())
    found = oversight("init", "--classes", "Kardiologie,Neurologie")["proposal"]
    assert (found["id"], found["text"], found["meta"]) == (name, "Befund", ["Station"])


def test_a_key_may_call_the_id_as_the_items_do(oversight: Oversight) -> None:
    write("notes.csv", "Notiz-Nr|Befund|Station", *notes())
    oversight("init", "--classes", "Kardiologie,Neurologie")
    oversight("label", "route")
    write("key.csv", "Notiz-Nr|label", *(f"{100 + j}|Neurologie" for j in range(30)))
    assert oversight("label", "simulate", "--key", "key.csv")["new"] == 30


@pytest.mark.parametrize("name", ["Correct Answer", "gold-label", "Ground Truth", "answer_letter", "Lösung"])
def test_the_truth_is_never_proposed_as_a_stratum(name: str, oversight: Oversight) -> None:
    rows = [f"Which is meant by number {j} of them?|x|y|z|Biology|{'ABC'[j % 3]}" for j in range(30)]
    write(
        "mine.csv",
        f"Question|A|B|C|Subject|{name}",
        *(r.replace("Biology", "BC"[j % 2] * 4) for j, r in enumerate(rows)),
    )
    found = oversight("init")["proposal"]
    assert (found["label"], found["meta"]) == (name, ["Subject"])


def test_the_category_of_a_question_with_options_is_a_stratum(oversight: Oversight) -> None:
    rows = [
        {"text": f"question {j}?", "category": "ab"[j % 2], "options": ["x", "y"], "answer": "AB"[j % 2]}
        for j in range(30)
    ]
    Path("mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = oversight("init")["proposal"]
    assert (found["label"], found["meta"]) == ("answer", ["category"])


def test_similar_file_name_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    write("My notes.csv", "id|text|ward", *notes())
    assert main(["init", "--items", "my notes.csv", "--classes", "a,b"]) == 2
    assert "there is no such file; did you mean 'My notes.csv'?" in capsys.readouterr().err
    assert not Path("study.toml").exists()
    assert main(["init", "--classes", "a,b"]) == 0
    assert main(["label", "route"]) == 0
    assert main(["label", "export"]) == 0
    assert main(["label", "import", "questions"]) == 2
    assert "is a folder; name a file in this folder" in capsys.readouterr().err
    assert main(["label", "import", "My note.csv"]) == 2
    assert "did you mean 'My notes.csv'?" in capsys.readouterr().err


def test_similar_column_name_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    write("notes.csv", "id|text|Station", *notes())
    write("key.csv", "id|label", *(f"{100 + j}|b" for j in range(30)))
    write("m.csv", "id|prediction", *(f"{100 + j}|b" for j in range(30)))
    for words in (
        ["init", "--items", "notes.csv", "--classes", "a,b"],
        ["label", "route"],
        ["label", "simulate", "--key", "key.csv"],
        ["predictions", "import", "m.csv", "--model", "m"],
    ):
        assert main(words) == 0
    assert main(["estimate", "--set", "estimate.strata=station"]) == 2
    assert "did you mean 'Station'?" in capsys.readouterr().err


def test_files_with_no_row_or_one_row_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    write("head.csv", "id|text")
    assert main(["init", "--classes", "a,b"]) == 2
    assert "head.csv: contains no rows" in capsys.readouterr().err
    write("head.csv", "id|text", "1|only one there is")
    assert main(["init", "--classes", "a,b"]) == 0
    assert "head.csv: 1 row\n" in capsys.readouterr().out


def test_beside_a_log_items_are_made_of_it_first(
    capsys: pytest.CaptureFixture[str], oversight: Oversight
) -> None:
    log = ROOT / "tests" / "datasets" / "logs" / "questions.eval"
    Path("my run.eval").write_bytes(log.read_bytes())
    assert main(["init"]) == 2
    assert "oversight predictions items 'my run.eval'" in capsys.readouterr().err
    oversight("predictions", "items", "my run.eval")
    assert oversight("init")["proposal"]["options"] == "options"
    oversight("items", "check")


def test_a_log_without_options_has_items_for_fixed_classes(oversight: Oversight) -> None:
    rows = [{"id": f"q{j}", "text": f"what is number {j}?", "prediction": "b"} for j in range(4)]
    Path("log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert oversight("predictions", "items", "log.jsonl", "--format", "table")["items"] == 4
    assert set(json.loads(Path("items.jsonl").read_text().splitlines()[0])) == {"id", "text"}
    oversight("init", "--items", "items.jsonl", "--classes", "a,b")
    assert oversight("predictions", "import", "log.jsonl", "--model", "m")["ok"] == 4


def test_full_disk_leaves_no_part_of_the_items_of_a_log(
    oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    Path("log.jsonl").write_text(json.dumps({"id": "q", "text": "what is it?", "prediction": "b"}))
    words = ("predictions", "items", "log.jsonl", "--format", "table")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        oversight(*words, code=1)
    assert oversight(*words)["items"] == 1
