"""Label Studio's own JSON exports, and questions as JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from oversight.harness import DataError
from oversight.harness.config import read_study
from oversight.harness.datasets import read_filled_portions
from oversight.harness.store import Queue, QueuedTask, Response, Store
from oversight.harness.types import Assignment, Item
from oversight.protocols.collect import read_label_studio_export
from oversight.protocols.collect.label_studio.labelling_page import TaskSheet
from tests.protocols.test_label_studio_parts import ROSTER, question
from tests.test_studies import call, inside

ITEMS = {f"i{j}": Item(f"i{j}", f"text {j}", ("a", "b"), (1, 0)) for j in range(5)}


def export(tmp_path: Path, rows: list[dict[str, Any]]) -> Path:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(rows))
    return path


def exported(number: int, verdict: str = "yes", by: Any = 4, **more: Any) -> dict[str, Any]:
    annotation = {
        "id": number,
        "completed_by": by,
        "updated_by": by["id"] if isinstance(by, dict) else by,
        "result": [{"from_name": "verdict", "value": {"choices": [verdict]}}],
    }
    return {"id": number, "data": {"question_id": f"q{number}"}, "annotations": [annotation], **more}


def test_exports_are_read(tmp_path: Path) -> None:
    by = {"id": 4, "email": "Ana@experts.invalid"}
    rows = [exported(1, by=by), exported(2, "no", by=by), {**exported(3), "annotations": []}]
    asked = [question(j) for j in range(5)]
    replies = read_label_studio_export([export(tmp_path, rows)], asked, ITEMS, ROSTER)
    assert [(r.id, r.value) for r in replies] == [("q1", "yes"), ("q2", "no")]
    # A panel's page uses the numbers of the options as choices.
    given = [Assignment("q1", "i1", "ana", 0.5, "panel", 7)]
    path = export(tmp_path, [exported(1, "1", by=by)])
    assert [r.value for r in read_label_studio_export([path], given, ITEMS, ROSTER)] == ["b"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (exported(9), ("data.question_id", "'q9' was never asked")),
        (exported(1, "maybe"), ("annotations", "task 1: not one of the values")),
        (exported(1, by={"id": 8, "email": "eve@x.org"}), ("completed_by", "eve@x.org is not an expert")),
        (exported(1, by={"id": 8, "email": "bea@example.org"}), ("completed_by", "put to 'ana'")),
        (exported(1, by=None), ("completed_by", "does not say who")),
        (exported(1, data=3), ("data", "has no data")),
        (exported(1, annotations=[{"id": "x"}]), ("annotations", "cannot be read")),
        (exported(1, annotations=[{"id": 1, "task": "x"}]), ("annotations", "cannot be read (ValueError")),
    ],
)
def test_unreadable_exports_are_refused_by_task(
    tmp_path: Path, row: dict[str, Any], words: tuple[str, str]
) -> None:
    path = export(tmp_path, [row])
    with pytest.raises(DataError) as caught:
        read_label_studio_export([path], [question(1)], ITEMS, ROSTER)
    assert str(caught.value).startswith(f"{path} [{words[0]}]: task 1")
    assert words[1] in str(caught.value)


def test_one_user_is_one_expert(tmp_path: Path) -> None:
    path = export(tmp_path, [exported(1), exported(2)])
    with pytest.raises(DataError, match=r"put to 'Bea B\.', user 4 is 'ana'"):
        read_label_studio_export([path], [question(1), question(2, "Bea B.")], ITEMS, ROSTER)


def test_one_expert_is_one_user(tmp_path: Path) -> None:
    path = export(tmp_path, [exported(1), exported(2, by=5)])
    with pytest.raises(DataError, match=r"task 2: questions put to 'ana' were answered by the users 4 and 5"):
        read_label_studio_export([path], [question(1), question(2)], ITEMS, ROSTER)


def test_answers_made_from_a_prediction_are_refused(tmp_path: Path) -> None:
    row = exported(1)
    row["annotations"][0]["parent_prediction"] = 8
    with pytest.raises(DataError, match="task 1: answered while the task showed somebody's prediction"):
        read_label_studio_export([export(tmp_path, [row])], [question(1)], ITEMS, ROSTER)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"by": 9}, "[completed_by]: task 1: the question was put to 'ana', who is user 4, but user 9"),
        ({"text": "another"}, "[data.text]: task 1: 'another' is not the text of the question"),
        ({"question": "Is it y?"}, "[data.question]: task 1: 'Is it y?' is not the question of the question"),
        ({"verdict": "no"}, "[annotations]: task 1: question "),
        ({}, ""),
    ],
)
def test_export_of_a_pushed_study_is_compared_with_what_was_sent(
    change: dict[str, Any], told: str, tmp_path: Path
) -> None:
    (tmp_path / "items.csv").write_text("id,text\n1,one note\n2,two notes\n")
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "sent"\n[items]\nfile = "items.csv"\nclasses = ["x", "y"]\n'
    )
    (tmp_path / "experts.toml").write_text('[[expert]]\nname = "ana"\nclasses = ["x", "y"]\n')
    with inside(tmp_path):
        assert call(["label", "route"])[0] == 0
        with Store("sqlite:///study.db") as store:
            study = read_study(Path("study.toml"))
            first = store.content.read_questions()[0]
            data = TaskSheet.of(study).data(first, store.read_shown_items()[first.item_id])
            store.labelling.save_queue(Queue("ana", "m", "http://x", 3, "a@x.org", user_id=4))
            store.labelling.add_tasks([QueuedTask(first.id, "ana", 0, "d")])
            store.labelling.set_task_ids({first.id: 1})
            stored = Response(first.id, "ana", "yes", "label_studio")
            store.replies(panel=False).add_replies([stored])
        verdict, by = change.pop("verdict", "yes"), change.pop("by", 4)
        row = {**exported(1, verdict, by), "data": data | change}
        Path("export.json").write_text(json.dumps([row]))
        code, _, err = call(["label", "import", "export.json"])
        assert code == (2 if told else 0)
        assert told in err


def test_exported_jsonl_is_imported_again(
    oversight: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.csv").write_text("id,text\n" + "".join(f'n{j},"note {j}, é ""x"""\n' for j in range(12)))
    oversight("init", "--items", "notes.csv", "--classes", "a,b")
    oversight("label", "route")
    files = [Path(f) for f in oversight("label", "export", "--format", "jsonl")["files"]]
    rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert sorted(row["text"] for row in rows) == sorted(f'note {j}, é "x"' for j in range(12))
    for path in files:
        filled = [{**json.loads(line), "answer": "no"} for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(row) + "\n" for row in filled))
    assert oversight("label", "import", *files) == {"answers": 12, "new": 12}


@pytest.mark.parametrize("form", ["csv", "xlsx", "jsonl"])
@pytest.mark.parametrize("protocol", ["partitioned", "panel"])
def test_tasks_made_of_exported_files_come_back_by_their_ids(
    form: str, protocol: str, tmp_path: Path
) -> None:
    (tmp_path / "items.csv").write_text("id,text\n=1,ä one\n'2,two\n-3,three\n")
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "away"\n[items]\nfile = "items.csv"\nclasses = ["x", "y"]\n'
        f'[experts]\nprotocol = "{protocol}"\nannotators_per_item = 2\n'
    )
    classes = '["*"]' if protocol == "panel" else '["x", "y"]'
    (tmp_path / "experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{name}"\nclasses = {classes}\n' for name in ("ana", "-bo"))
    )
    with inside(tmp_path):
        assert call(["label", "route"])[0] == 0
        assert call(["label", "export", "q", "--format", form])[0] == 0
        column, name = ("assignment_id", "annotator") if protocol == "panel" else ("question_id", "expert")
        portions = (read_filled_portions(path, [column]) for path in sorted(Path("q").iterdir()))
        rows = [row.fields for portion in chain.from_iterable(portions) for row in portion]
        users = {
            person: number for number, person in enumerate(sorted({row[name] for row in rows}), start=11)
        }
        given = "1" if protocol == "panel" else "yes"
        tasks = [
            {**exported(number, given, by=users[row[name]]), "data": dict(row)}
            for number, row in enumerate(rows, start=1)
        ]
        Path("away.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(tasks).encode())
        code, out, err = call(["label", "import", "away.json", "--json"])
        assert code == 0, err
        assert json.loads(out)["new"] == len(rows)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "the file is empty"),
        (b"<!doctype html>", "is an HTML page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"\x1f\x8b\x08", "is compressed with gzip"),
    ],
)
def test_file_that_is_not_an_export_is_reported(data: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_bytes(data)
    with pytest.raises(DataError, match=told):
        read_label_studio_export([path], [question(1)], ITEMS, ROSTER)
