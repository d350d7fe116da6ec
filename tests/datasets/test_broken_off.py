"""Lines of tables are counted through breaks, and a file that breaks off is read up to there."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

import pytest

from oversight.harness import DataError
from oversight.harness.datasets import read_rows


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
