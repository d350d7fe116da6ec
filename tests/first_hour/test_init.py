"""The first command, `init`: it reads the only file in the folder, and the next verbs work immediately."""

from __future__ import annotations

import csv
import json
import os
import pty
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.config import Study
from oversight.harness.config.study_file import generate_schema, read_schema_text
from tests.fakes.openai_server import Reply, fake_openai

Oversight = Callable[..., Any]
NOTES = [
    [
        f"n{j}",
        f"Patient {j} has had this for a week, and; it hurts.",
        ["red", "green"][j % 2],
        f"ward {j % 3}",
    ]
    for j in range(30)
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_csv(name: str, header: list[str], rows: Iterable[list[str]], delimiter: str = ",") -> None:
    with Path(name).open("w", encoding="utf-8-sig", newline="") as stream:
        csv.writer(stream, delimiter=delimiter).writerows([header, *rows])


def settings() -> dict[str, Any]:
    return tomllib.loads(Path("study.toml").read_text(encoding="utf-8"))


def go_on(oversight: Oversight, n: int, said: str) -> None:
    """The verbs of a newcomer, up to the model's answers."""
    assert oversight("items", "check")["items"] == n
    assert oversight("label", "route")["questions"] == n
    oversight("label", "export")
    with fake_openai(lambda prompt, _: Reply(said)) as server:
        text = Path("study.toml").read_text().replace('endpoint = "local"', f'endpoint = "{server.url}"')
        Path("study.toml").write_text(text)
        assert oversight("run")["models"]["small"]["ok"] == n
        assert "Patient 0" in "".join(server.prompts) or "question 0" in "".join(server.prompts)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_classes_beside_a_lone_file_need_nothing_else(
    delimiter: str, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv("mine.csv", ["note_id", "question", "colour", "ward"], NOTES, delimiter)
    assert main(["init", "--classes", "red,green"]) == 0
    told = capsys.readouterr().out
    for line in ("mine.csv: 30 rows", "id: note_id", "text: question", "strata: ward", "left out: colour"):
        assert line in told
    items = settings()["items"]
    assert items == {
        "file": "mine.csv",
        "id": "note_id",
        "text": "question",
        "classes": ["red", "green"],
        "meta": ["ward"],
    }
    assert settings()["prompt"] == {"template": "prompt.txt"}
    experts = tomllib.loads(Path("experts.toml").read_text())["expert"]
    assert [expert["classes"] for expert in experts] == [["red"], ["green"]]
    go_on(oversight, 30, "red")


def test_classes_come_from_a_label_column(oversight: Oversight) -> None:
    write_csv("mine.csv", ["id", "text", "label", "ward"], NOTES)
    proposal = oversight("init")["proposal"]
    assert (proposal["classes"], proposal["label"]) == (["red", "green"], "label")
    assert "label" not in settings()["items"]["meta"]
    go_on(oversight, 30, "green")


def test_own_options_come_from_columns(oversight: Oversight) -> None:
    rows = [
        [str(j), f"question {j}: which is the one that is meant here?", "x", "y", "z" * 90, "A"]
        for j in range(9)
    ]
    write_csv("mine.csv", ["id", "question", "A", "B", "C", "answer"], rows)
    proposal = oversight("init")["proposal"]
    assert proposal["options"] == ["A", "B", "C"]
    assert settings()["models"]["small"]["max_tokens"] >= 48 + 45
    go_on(oversight, 9, "B")


def test_own_options_come_from_lists(oversight: Oversight) -> None:
    rows = [
        {"uid": j, "prompt": f"question {j}: which?", "choices": ["x", "y"], "topic": "t"} for j in range(9)
    ]
    Path("mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert oversight("init")["proposal"]["options"] == "choices"
    go_on(oversight, 9, "A")


def test_a_workbook_is_looked_at_too(oversight: Oversight) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [["id", "text", "label", "ward"], *NOTES]:
        book.active.append(row)
    book.save("mine.xlsx")
    oversight("init")
    assert settings()["items"]["file"] == "mine.xlsx"
    assert oversight("items", "check")["items"] == 30


def test_of_several_files_one_is_to_be_named(
    capsys: pytest.CaptureFixture[str], oversight: Oversight
) -> None:
    write_csv("a.csv", ["id", "text", "label", "ward"], NOTES)
    write_csv("b.csv", ["id", "text"], [])
    assert main(["init"]) == 2
    assert (
        "several files could contain the items: a.csv, b.csv; name one with --items"
        in capsys.readouterr().err
    )
    assert not Path("study.toml").exists()
    assert oversight("init", "--items", "a.csv")["items"] == "a.csv"


def test_unusable_files_are_reported_by_init(capsys: pytest.CaptureFixture[str]) -> None:
    write_csv("mine.csv", ["nr", "x"], [[str(j), f"v{j}"] for j in range(9)])
    assert main(["init", "--classes", "a,b"]) == 2
    told = "mine.csv: no column is known to hold the text; its columns are: nr, x; name"
    assert told in capsys.readouterr().err
    assert main(["init", "--text", "x"]) == 2
    assert "give the classes with --classes a,b,c" in capsys.readouterr().err
    assert not Path("study.toml").exists()


def test_a_person_at_a_terminal_is_asked(folder: Path) -> None:
    write_csv("mine.csv", ["id", "text", "label", "ward"], NOTES)
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "oversight.harness.cli.main", "init"]
    with subprocess.Popen(command, stdin=child, stdout=child, stderr=child, cwd=folder) as process:
        os.close(child)
        os.write(parent, b"1\n\nred,green,blue\n\n")
        assert process.wait(60) == 0
    os.close(parent)
    assert settings()["items"]["classes"] == ["red", "green", "blue"]
    assert settings()["items"]["meta"] == ["ward"]
    assert settings()["items"]["text"] == "text"


def test_the_schema_is_that_of_the_settings_and_lies_beside_the_study(oversight: Oversight) -> None:
    assert json.loads(read_schema_text()) == generate_schema(), (
        "python -m oversight.harness.config.study_file"
    )
    write_csv("mine.csv", ["id", "text", "label", "ward"], NOTES)
    oversight("init")
    assert Path("study.toml").read_text().startswith("#:schema study.schema.json\n")
    schema = json.loads(Path("study.schema.json").read_text())
    assert set(schema["properties"]) == set(Study.model_fields) - {"folder", "judges"}
    assert "judge" in schema["properties"]["models"]["properties"]
    assert "skip_bad" in schema["$defs"]["ItemsSection"]["properties"]
    assert "sequential" in schema["$defs"]["ExpertsSection"]["properties"]["protocol"]["enum"]
