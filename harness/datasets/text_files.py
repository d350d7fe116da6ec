"""Text files to portions of records: CSV (commas, semicolons or tabs) and JSON Lines, both also gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import IO, Any

from harness.datasets.portions import PORTION, CsvPortion, JsonPortion, Portion, split_records
from harness.errors import DataError
from harness.output import did_you_mean

_BYTES = 1 << 18
"""Of a text are decoded at once."""
_DELIMITERS = (",", ";", "\t")
_MOST_NAMES = 1000
"""Of files beside one that is not there are looked at."""
_ENCODING = (
    "not UTF-8, perhaps Windows-1252 or another code page; save it with UTF-8 encoding "
    '(in Excel: "CSV UTF-8")'
)


def read_csv_portions(path: Path) -> Iterator[Portion]:
    """Read a CSV file; the line with the columns' names tells what separates them."""
    csv.field_size_limit(2**31 - 1)
    text = _lines(path)
    head = next(text, "")
    reader = csv.reader(chain([head], text), strict=True, delimiter=_find_delimiter(head))
    header = _read_header(reader, path)
    number = PORTION
    while number == PORTION:
        start, records, bad = reader.line_num + 1, list[list[str]](), None
        try:
            records.extend(islice(reader, PORTION))  # up to one that cannot be read
        except csv.Error as error:
            bad = _name_malformed(error, path, reader.line_num)
        except DataError as error:
            bad = error
        number = len(records)
        lines: Sequence[int] = range(start, reader.line_num + 1)
        if len(lines) != number or not all(records):
            filled = [pair for pair in zip(_number_lines(records, start), records, strict=True) if pair[1]]
            lines, records = [line for line, _ in filled], [record for _, record in filled]
        if records:
            yield CsvPortion(str(path), lines, header, records)
        if bad is not None:
            raise bad


def read_jsonl_portions(path: Path) -> Iterator[Portion]:
    """Read a file of JSON Lines."""
    numbered = enumerate(_lines(path), start=1)
    for portion in split_records((number, line) for number, line in numbered if line.strip()):
        lines, texts = zip(*portion, strict=True)
        yield JsonPortion(str(path), lines, texts)


def check_header(header: Sequence[str] | None, path: Path) -> list[str]:
    """Return the columns' names.

    Raises
    ------
    DataError
        If there are none, or one is there twice.
    """
    if not header:
        raise DataError("the file is empty; the first line names the columns", file=path, line=1)
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise DataError("the column is there twice", file=path, line=1, field=twice)
    return list(header)


def _lines(path: Path) -> Iterator[str]:
    """Decode a text, so that a file of any length takes little memory."""
    return chain.from_iterable(_line_portions(path))


def _line_portions(path: Path) -> Iterator[Iterable[str]]:
    """Decode many lines at once; where that fails, those that are left one by one, up to the bad one."""
    given, encoding = 0, "utf-8-sig"
    try:
        with _open(path) as stream:
            while text := stream.read(_BYTES) + stream.readline():
                yield io.StringIO(text.decode(encoding), newline="\n")
                given, encoding = given + text.count(b"\n"), "utf-8"
    except (UnicodeDecodeError, OSError, EOFError, zlib.error):
        yield islice(_each_line(path), given, None)


def _each_line(path: Path) -> Iterator[str]:
    number = 0
    try:
        with _open(path) as stream:
            for number, line in enumerate(stream, start=1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise DataError(_ENCODING, file=path, line=number) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot be read: {error}", file=path) from None


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _find_delimiter(head: str) -> str:
    """What stands most often between the columns' names; a comma where nothing does."""
    outside = "".join(head.split('"')[::2])  # what is in quotes is part of a name
    return max(_DELIMITERS, key=outside.count)


def _read_header(reader: Any, path: Path) -> list[str]:
    try:
        return check_header(next(reader, None), path)
    except csv.Error as error:
        raise _name_malformed(error, path, reader.line_num) from None


def _name_malformed(error: csv.Error, path: Path, line: int) -> DataError:
    return DataError(f"malformed CSV: {error}", file=path, line=line)


def _number_lines(records: Sequence[list[str]], start: int) -> Iterator[int]:
    """Line on which every record begins; one with line breaks in its values has several."""
    heights = [1 + "".join(record).count("\n") for record in records]
    return accumulate(heights[:-1], initial=start) if heights else iter(())


def no_file(path: Path) -> DataError:
    """The error of a path at which there is no file: a folder is there, or a name like it beside."""
    if path.is_dir():
        return DataError("is a folder; name the files in it", file=path)
    beside = path.parent.iterdir() if path.parent.is_dir() else iter(())
    # endings alike make no names alike
    names = [f.name for f in islice(beside, _MOST_NAMES) if did_you_mean(path.stem, [f.stem])]
    return DataError(f"there is no such file{did_you_mean(path.name, names)}", file=path)
