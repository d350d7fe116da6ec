from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from oversight.harness import DataError
from oversight.harness.datasets import read_items, read_key
from oversight.harness.datasets.rows import read_hub

ROOT = Path(__file__).parents[2]
ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "first, with a comma", "options": ["x", "y", "z"], "subject": "s1"},
    {"id": "b", "text": 'second "quoted"\nline', "options": ["p", "q"], "subject": "s2"},
]


def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / name
    if ".jsonl" in name:
        text = "\n".join(json.dumps(row) for row in rows) + "\n"
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    elif name.endswith(".parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        import pandas as pd

        flat = [{**r, "options": json.dumps(r["options"])} if "options" in r else r for r in rows]
        pd.DataFrame(flat).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", ["i.csv", "i.csv.gz", "i.jsonl", "i.jsonl.gz", "i.parquet"])
def test_every_format_gives_the_same_items(name: str, tmp_path: Path) -> None:
    items = read_items(write(tmp_path, name, ROWS), meta=("subject",), seed=3)
    assert items == read_items(write(tmp_path, "other.jsonl", ROWS), meta=("subject",), seed=3)
    assert [item.id for item in items] == ["a", "b"]
    assert items[0].options == ("x", "y", "z")
    assert items[1].text == 'second "quoted"\nline'
    assert items[1].meta == {"subject": "s2"}


def test_options_may_be_columns_of_their_own_and_vary_in_number(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "text": "t", "A": "x", "B": "y", "C": ""},
        {"id": 2, "text": "u", "A": "x", "B": "y", "C": "z"},
    ]
    items = read_items(write(tmp_path, "i.csv", rows), options=("A", "B", "C"))
    assert [len(item.options) for item in items] == [2, 3]


def test_shuffle_depends_only_on_seed_and_id(tmp_path: Path) -> None:
    rows = [{"id": f"i{j}", "text": "t", "options": list("abcdef")} for j in range(300)]
    path = write(tmp_path, "i.jsonl", rows)
    items = read_items(path, seed=1)
    assert all(sorted(item.permutation) == list(range(6)) for item in items)
    assert [item.permutation for item in items] == [item.permutation for item in read_items(path, seed=1)]
    assert [item.permutation for item in items] != [item.permutation for item in read_items(path, seed=2)]
    back = read_items(write(tmp_path, "r.jsonl", rows[::-1]), seed=1)
    assert {i.id: i.permutation for i in back} == {i.id: i.permutation for i in items}
    first = [item.permutation[0] for item in items]
    assert all(25 <= first.count(j) <= 80 for j in range(6))  # 50 expected
    assert read_items(path, shuffle=False)[0].permutation == (0, 1, 2, 3, 4, 5)


def test_ids_that_are_not_given_come_from_the_content(tmp_path: Path) -> None:
    rows = [{"text": f"t{j}"} for j in range(3)]
    ids = [i.id for i in read_items(write(tmp_path, "a.jsonl", rows), classes=("x", "y"))]
    back = [i.id for i in read_items(write(tmp_path, "b.jsonl", rows[::-1]), classes=("x", "y"))]
    assert ids == back[::-1]
    assert len(set(ids)) == 3


def bad(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [ROWS[0], row]


@pytest.mark.parametrize(
    ("row", "field", "message"),
    [
        ({"id": "b", "options": ["x", "y"]}, "text", "no such column"),
        ({"id": "b", "text": "  ", "options": ["x", "y"]}, "text", "is empty"),
        ({"id": "b", "text": None, "options": ["x", "y"]}, "text", "is empty"),
        ({"id": "b", "text": 1.5, "options": ["x", "y"]}, "text", "must be text"),
        ({"id": "a", "text": "t", "options": ["x", "y"]}, "id", "was used in line 1"),
        ({"id": "", "text": "t", "options": ["x", "y"]}, "id", "is empty"),
        ({"id": "b", "text": "t", "options": ["x"]}, "options", "at least 2 options, but has 1"),
        ({"id": "b", "text": "t", "options": []}, "options", "has 0"),
        ({"id": "b", "text": "t", "options": ["x", " x "]}, "options", "'x' occurs twice, in the item 'b'"),
        ({"id": "b", "text": "t", "options": ["x", " "]}, "options", "option 2 is empty"),
        ({"id": "b", "text": "t", "options": "x, y"}, "options", "must be a JSON list"),
        ({"id": "b", "text": "t", "options": 7}, "options", "must be a list"),
    ],
)
def test_a_bad_row_is_named_by_file_line_and_field(
    row: dict[str, Any], field: str, message: str, tmp_path: Path
) -> None:
    path = write(tmp_path, "i.jsonl", bad(row))
    with pytest.raises(DataError, match=message) as caught:
        read_items(path)
    assert str(caught.value).startswith(f"{path}:2 [{field}]: ")


def test_lines_are_counted_as_an_editor_does_in_csv_with_line_breaks(tmp_path: Path) -> None:
    path = tmp_path / "i.csv"
    path.write_text('id,text\na,"two\nlines"\nb,\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"i\.csv:4 \[text\]: is empty"):
        read_items(path, classes=("x", "y"))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("none.csv", None, "no such file"),
        ("i.xls", b"x", "unknown format"),
        ("i.csv", b"", "the file is empty"),
        ("i.csv", b"id,id\n", r":1 \[id\]: the column occurs twice"),
        ("i.csv", b"id,text\na,b,c\n", ":2: 3 values, but the header has 2"),
        ("i.csv", b'id,text\na,"b"x\n', ":2: malformed CSV"),
        ("i.csv", b"id,text\na,caf\xe9\n", ":2: not UTF-8"),
        ("i.csv.gz", gzip.compress(b"id,text\n" * 99, mtime=0)[:20], "cannot be read"),
        ("i.jsonl", b'{"id": 1, \n', ":1: malformed JSON"),
        ("i.jsonl", b"[1]\n", ":1: every line must be a JSON object"),
        ("i.jsonl", b"\n\n", "the source contains no items"),
        ("i.parquet", b"PAR1 cut", "not a complete Parquet file"),
    ],
)
def test_unreadable_files_are_named(name: str, data: bytes | None, message: str, tmp_path: Path) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=message):
        read_items(tmp_path / name)


def test_a_truncated_parquet_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "i.parquet", ROWS)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(DataError, match="not a complete Parquet file"):
        read_items(path)


def test_hub_data_sets_are_read_through_the_hub_library(tmp_path: Path) -> None:
    write(tmp_path, "test.jsonl", ROWS)
    rows = list(read_hub(str(tmp_path), split="test"))
    assert [row.fields["id"] for row in rows] == ["a", "b"]
    with pytest.raises(DataError, match="could not be loaded"):
        list(read_hub(str(tmp_path / "nowhere")))


def test_the_key_gives_positions_in_source_order(tmp_path: Path) -> None:
    items = read_items(write(tmp_path, "i.jsonl", ROWS))
    key = tmp_path / "key.csv"
    key.write_text("id,label\nb,q\na,z\nother,x\n", encoding="utf-8")
    assert read_key(key, items) == {"a": 2, "b": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,answer\na,x\n", r":2 \[label\]: there is no such column"),
        ("id,label\na,nope\n", r":2 \[label\]: 'nope' is not one of the options"),
        ("id,label\na,x\na,x\n", r":3 \[id\]: the id 'a' occurs twice"),
        ("id,label\na,x\n", r":2 \[id\]: no answer for 1 items, such as 'b'"),
    ],
)
def test_a_bad_key_is_named(text: str, message: str, tmp_path: Path) -> None:
    items = read_items(write(tmp_path, "i.jsonl", ROWS))
    (tmp_path / "key.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_key(tmp_path / "key.csv", items)
