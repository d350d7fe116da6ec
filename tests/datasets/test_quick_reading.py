"""What is read by columns is what is read row by row."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path
from unittest import mock

import pytest

from oversight.harness import DataError
from oversight.harness.datasets import ItemMapping, iterate_fields, read_portions, read_rows
from oversight.harness.datasets.row import CsvPortion, JsonPortion
from tests.datasets.foreign_answers import read_foreign

TABLES = [
    "id,prediction\n a ,x\nb, y \n",
    "id,raw,confidence,sample\na,I say x,0.5,0\na,I say y,,1\n",
    "text,prediction,error\nwhat?,x,\nwho?,,down\n",
    "id,prediction,input_tokens,output_tokens\na,x,12,3\nb,,0,0\n",
    "id,prediction,confidence\na,x,1e-3\nb,x,nan\n",
    "id,prediction,confidence\na,x,1.5\n",
    "id,prediction,sample\na,x,-1\n",
    "id,prediction,sample\na,x,1.0\nb,x,\n",
    "id,prediction,sample\na,x,99999999999\n",
    "id,prediction\na,x\na,y\n",
    "id,prediction\na,x,z\n",
    "name,prediction\na,x\n",
    'id,prediction\n"a\nb","x"\n\n"c,","y"\n',
]
LINES = [
    [{"id": "a", "prediction": "x", "confidence": 0.5}, {"id": "b", "prediction": "y", "confidence": 0.25}],
    [{"id": "a", "prediction": "x", "confidence": None}, {"id": "b", "prediction": "y", "confidence": 1}],
    [{"id": 10**30, "prediction": 2}, {"id": True, "prediction": "y"}],
    [{"id": "a", "prediction": "x"}, {"id": "b", "prediction": "y", "raw": "z"}],
    [{"id": "a", "prediction": "x", "sample": 1}, ["a"]],
    [{"id": "\ud800", "prediction": "x"}],
]
ITEMS = [
    [{"id": " a ", "text": "t\u00a0"}, {"id": "b", "text": "u"}],
    [{"id": "a", "text": "t", "m": "1"}, {"id": 7, "text": "u", "m": 2}],
    [{"text": "t"}, {"text": "u"}],
    [{"id": "a", "text": "t"}, {"id": "a", "text": "u"}],
    [{"id": "a", "text": " "}],
    [{"id": "a", "text": None}],
    [{"id": 10**30, "text": "t"}],
    [{"id": "a", "text": "t", "options": ["x", " y "]}, {"id": "b", "text": "u", "options": ["x", "y", "z"]}],
    [{"id": "a", "text": "t", "options": ["x", 10**30]}, {"id": "b", "text": "u", "options": ["x", 0.5]}],
    [{"id": "a", "text": "t", "options": {"B": "x", "A": "y"}}],
    [{"id": "a", "text": "t", "options": '["x", 2]'}],
    [{"id": "a", "text": "t", "options": ["x", "X "]}],
    [{"id": "a", "text": "t", "options": ["x", None]}],
    [{"id": "a", "text": "t", "options": []}],
]


def outcome(path: Path, *, items: bool = False) -> object:
    try:
        if items:
            text = path.read_text()
            classes = () if "options" in text else ("x", "y", "z")
            mapping = ItemMapping(classes=classes, meta=("m",) if '"m"' in text else ())
            return [f for p in iterate_fields(read_portions(path), mapping, str(path)) for f in p]
        return read_foreign(path, "table")
    except DataError as error:
        return str(error)


def row_by_row(path: Path, *, items: bool = False) -> object:
    """The outcome where no portion is read by columns."""
    with (
        mock.patch.object(CsvPortion, "columns", return_value=None),
        mock.patch.object(JsonPortion, "columns", return_value=None),
    ):
        return outcome(path, items=items)


@pytest.mark.parametrize("table", TABLES)
def test_tables_of_predictions_say_the_same_both_ways(tmp_path: Path, table: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(table)
    assert outcome(path) == row_by_row(path)


@pytest.mark.parametrize("rows", LINES)
def test_lines_of_predictions_say_the_same_both_ways(tmp_path: Path, rows: list[object]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert outcome(path) == row_by_row(path)


@pytest.mark.parametrize("rows", ITEMS)
def test_items_are_the_same_both_ways(tmp_path: Path, rows: list[object]) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert outcome(path, items=True) == row_by_row(path, items=True)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_are_counted_through_breaks_and_blank_lines(end: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(end.join(["id,text", 'a,"x', "", 'y"', "", "b,z", "c", ""]).encode())
    rows = read_rows(file)
    assert [(row.line, row.fields["id"]) for row in islice(rows, 2)] == [(2, "a"), (6, "b")]
    with pytest.raises(DataError, match=":7: 1 values"):
        next(rows)
    file.write_bytes(file.read_bytes() + b'd,"open')
    assert [row.line for row in islice(read_rows(file), 2)] == [2, 6]


@pytest.mark.parametrize("bytes_at_once", [1, 7, 1 << 18])
def test_a_text_that_breaks_off_is_read_up_to_there(
    bytes_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oversight.harness.datasets.text_files._BYTES", bytes_at_once)
    text = "\ufeffid,text\n" + "".join(f"i{j},é\u2028\x0b{j}\n" for j in range(50))
    file = tmp_path / "rows.csv"
    file.write_text(text)
    assert [row.fields["text"] for row in read_rows(file)] == [f"é\u2028\x0b{j}" for j in range(50)]
    file.write_bytes(text.encode() + b"i50,\xff\ni51,x\n")
    rows = read_rows(file)
    assert [row.line for row in islice(rows, 50)] == list(range(2, 52))
    with pytest.raises(DataError, match=":52: not UTF-8"):
        next(rows)
    packed = tmp_path / "rows.csv.gz"
    packed.write_bytes(gzip.compress(text.encode())[:-12])
    with pytest.raises(DataError, match="cannot be read"):
        list(read_rows(packed))
