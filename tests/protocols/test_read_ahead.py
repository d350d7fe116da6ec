"""Files are read to their end before anything is made, locked or written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.analysis import import_predictions
from oversight.harness.config import Study, read_study
from oversight.harness.datasets import Portion, Row, read_filled_portions, read_portions, read_rows
from oversight.harness.store import Store
from oversight.protocols.study_labels import import_answers, route_questions
from tests.test_studies import call, inside

ITEMS = "".join(json.dumps({"id": f"i{j}", "text": f"t {j}"}) + "\n" for j in range(2100))


@pytest.fixture
def study(tmp_path: Path) -> Study:
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "s"\n[items]\nfile = "items.jsonl"\nclasses = ["a", "b"]\n'
        '[models.m]\nmodel = "m"\npython = "answer.py:answer"\n'
    )
    (tmp_path / "answer.py").write_text("def answer(prompt):\n    return 'A'\n")
    (tmp_path / "experts.toml").write_text('[[expert]]\nname = "ana"\nclasses = ["*"]\n')
    (tmp_path / "log.csv").write_text("id,prediction\ni0,a\n")
    (tmp_path / "items.jsonl").write_text(ITEMS)
    return read_study(tmp_path / "study.toml")


@pytest.mark.parametrize(
    "words",
    [("label", "route"), ("run",), ("predictions", "import", "log.csv", "--model", "m")],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize(
    ("last", "told"),
    [
        ('{"id": "i5", "text": "t"}', "the id 'i5' was used in line 6"),
        ('{"id": "x", "text": " "}', "is empty"),
        ('{"id": "x"}', "there is no such column"),
        ('{"id": "x", "text":', "malformed JSON"),
        ('{"id": 1e3, "text": "t"}', "must be text, is 1000.0"),
    ],
)
def test_a_bad_items_file_leaves_no_database(
    study: Study, words: tuple[str, ...], last: str, told: str
) -> None:
    study.path("items.jsonl").write_text(f"{ITEMS}{last}\n")
    with inside(study.path(".")):
        code, _, err = call(list(words))
    assert code == 2
    assert told in err
    assert "items.jsonl:2101" in err or "line 2101" in err, err
    assert not list(study.path(".").glob("study.db*"))


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, study: Study) -> list[str]:
    """Files during whose reading another connection wrote, without waiting."""
    written = list[str]()

    def write(path: str | Path) -> None:
        if study.path("study.db").exists():
            other: Any = sqlite3.connect(study.path("study.db"), timeout=0)
            with other:
                other.execute("UPDATE item SET text = text")
            other.close()
            written.append(Path(path).name)

    def read(path: str | Path, columns: Sequence[str] = ()) -> Iterator[Portion]:
        for portion in read_filled_portions(path, columns) if columns else read_portions(path):
            write(path)
            yield portion

    def read_each(path: Path) -> Iterator[Row]:
        for row in read_rows(path):
            write(path)
            yield row

    monkeypatch.setattr("oversight.harness.analysis.inputs.read_portions", read)
    monkeypatch.setattr("oversight.harness.datasets.log_formats.read_rows", read_each)
    filled = "oversight.protocols.collect.spreadsheets.filled_files.read_filled_portions"
    monkeypatch.setattr(filled, read)
    monkeypatch.setattr("oversight.harness.analysis.inputs.MANY", 0)
    return written


def test_others_write_while_files_are_read(study: Study, elsewhere: list[str]) -> None:
    with Store(study.store_url):
        pass
    assert route_questions(study).new == 2100
    with Store(study.store_url) as store:
        lines = [f"{q.id},ana,no" for q in store.content.read_questions()]
    study.path("answers.csv").write_text("\n".join(["question_id,expert,answer", *lines]))
    assert import_answers(study, [study.path("answers.csv")]) == (2100, 2100)
    assert import_predictions(study, str(study.path("log.csv")), "m").answers == 1
    assert set(elsewhere) == {"items.jsonl", "answers.csv", "log.csv"}
