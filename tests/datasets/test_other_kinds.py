"""Files that are not what their ending says are named for what they are, and marks of byte order are read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import oversight as ov
from oversight.harness.cli.main import main
from tests.test_studies import call, inside

ROWS = [
    {"id": "a1", "text": "Who?", "options": ["x", "y"]},
    {"id": "b2", "text": "Where?", "options": ["x", "y"]},
]
TABLE = "id,text,options\n" + "".join(f'{r["id"]},{r["text"]},"[""x"",""y""]"\n' for r in ROWS)
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0a1b\nsize 77\n"
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("i.jsonl", json.dumps(ROWS), "is one JSON array"),
        ("i.jsonl", json.dumps(ROWS, indent=4), "is one JSON array"),
        ("i.jsonl", b"\xef\xbb\xbf" + json.dumps(ROWS).encode(), "is one JSON array"),
        ("i.jsonl", json.dumps(ROWS).encode("utf-16"), "is one JSON array"),
        ("i.jsonl", "[]", "is one JSON array"),
        ("i.jsonl", json.dumps(ROWS[0], indent=1), "is JSON over several lines"),
        ("i.jsonl", "\n".join(json.dumps(row, indent=2) for row in ROWS), "is JSON over several lines"),
        ("i.jsonl", '{"id": "a1",\n"text": "Who?"}', "is JSON over several lines"),
        ("i.jsonl", "", "the file is empty"),
        ("i.jsonl", TABLE, "i.jsonl:1: malformed JSON"),
        ("i.jsonl", '["a", "b"]\n', "every line must be a JSON object"),
        ("i.json", json.dumps(ROWS), "jq -c '.[]'"),
        ("i.csv", LINES, "is JSON, not CSV; rename it to .jsonl"),
        ("i.csv", json.dumps(ROWS), "is JSON, not CSV"),
        ("i.csv", "\n<!DOCTYPE HTML>\n<p>Sign in</p>", "is an HTML page"),
        ("i.jsonl", "<html lang=en>", "is an HTML page"),
        ("i.xlsx", "<html><table>", "is an HTML page"),
        ("i.jsonl", POINTER, "git lfs pull"),
        ("i.parquet", POINTER, "git lfs pull"),
        ("i.csv.gz", POINTER, "git lfs pull"),
        (
            "i.csv",
            gzip.compress(TABLE.encode(), mtime=0),
            "is compressed with gzip; rename it to i.csv.gz",
        ),
        ("i.csv.gz", TABLE, "is not compressed with gzip"),
        ("i.csv", b"PK\x03\x04\x14\0", "rename it to .xlsx"),
        ("i.xlsx", TABLE, "is a text file, not a complete Excel workbook; give it the right ending"),
        ("i.parquet", LINES, "is a text file"),
        ("i.tsv", b"PAR1\x15", "is a Parquet file"),
        ("i.csv", b"\xd0\xcf\x11\xe0\xa1\xb1", "old Excel"),
    ],
)
def test_file_of_another_kind_is_identified(name: str, data: str | bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    with inside(tmp_path):
        code, _, err = call(["init", "--items", name])
        assert code == 2
        assert name in err
        assert told in err
        assert not (tmp_path / "study.toml").exists()
        with pytest.raises(ov.DataError):
            ov.read_items(name)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("i.jsonl", b"\xef\xbb\xbf" + LINES.encode()),
        ("i.jsonl", LINES.encode("utf-16")),
        ("i.csv", TABLE.replace("\n", "\r\n").encode("utf-16")),
        (
            "i.csv",
            b"\xef\xbb\xbf"
            + TABLE.replace(',"[', ';"[')
            .replace("id,", "id;")
            .replace("text,", "text;")
            .replace("1,", "1;")
            .replace("2,", "2;")
            .encode(),
        ),
        ("i.csv.gz", gzip.compress(TABLE.encode("utf-16"), mtime=0)),
    ],
)
def test_byte_order_marks_are_not_part_of_the_data(name: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    assert [item.id for item in ov.read_items(tmp_path / name)] == ["a1", "b2"]


MODEL = '[models.{name}]\nmodel = "{name}"\ncommand = ["/bin/sh", "-c", "{command}"]\n'


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_every_text_of_a_study_may_have_a_mark(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.csv").write_text("id,text\n1,one\n2,two\n")
    study = (
        '[study]\nname = "märked"\n[items]\nfile = "notes.csv"\nclasses = ["x", "y"]\n'
        '[prompt]\ntemplate = "ask.txt"\nsystem = "be.txt"\n'
    ) + MODEL.format(name="seen", command="od -An -tx1 | head -1")
    texts = {
        "study.toml": study,
        "experts.toml": '[[expert]]\nname = "änne"\nclasses = ["x", "y"]\n',
        "ask.txt": "$text\r\nWhich: $names?\r\n",
        "be.txt": "Answer with a class.\n",
        "w.py": "async def forward(task):\n    return task.options[1]\n",
        "prices.toml": "checked = 2026-11-01\n",
        "workflow.toml": "",
    }
    for name, text in texts.items():
        Path(name).write_bytes(text.encode(encoding))
    for words in (
        ["items", "check"],
        ["label", "route"],
        ["run", "--model", "seen"],
        ["run", "--workflow", "w.py", "--model", "seen"],
        ["predictions", "export", "out.jsonl"],
    ):
        assert main(words) == 0, capsys.readouterr().err
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    raw = [row["raw"] for row in rows if row["model"] == "seen"]
    assert raw
    assert not any(mark in text for text in raw for mark in ("ef bb bf", "ff fe", "0d 0a"))
    assert [row["status"] for row in rows if row["model"] == "seen/w"] == ["ok", "ok"]
