"""Read text files in portions: CSV (commas, semicolons or tabs) and JSON Lines, both also gzipped."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import IO, Any

from oversight.harness.datasets.row import PORTION, CsvPortion, JsonPortion, Portion, split_records
from oversight.harness.errors import DataError
from oversight.harness.output import UTF_16_MARKS, did_you_mean, explain_kind

_BYTES = 1 << 18
"""Number of bytes of a text that are decoded at once."""
_UTF_8 = "utf-8-sig"
_DELIMITERS = (",", ";", "\t")
_IS_ARRAY = re.compile(r'\[\s*(\{\s*["}]|\]\s*$)')
_IS_OBJECT = re.compile(r'\{[^\S\n]*\r?\n\s*["}]')
"""Patterns of two beginnings: of an array that is empty or has objects, and of an object on several lines."""
_MARKS = {".xlsx": b"PK\x03\x04", ".parquet": b"PAR1"}
"""First bytes of files that are not text files."""
_TO_LINES = (
    "convert it to JSON Lines, for example with: jq -c 'if type == \"array\" then .[] else . end' FILE"
)
_MOST_NAMES = 1000
"""Maximum number of neighbouring files that are compared with the name of a missing file."""
_SEPARATOR = re.compile(r"\ufeff?sep=(.)", re.IGNORECASE)
"""Pattern of a first line that tells Excel the separator."""
_ENCODING = (
    "not UTF-8, perhaps Windows-1252 or another code page; save it with UTF-8 encoding "
    '(in Excel: "CSV UTF-8")'
)


def refuse_other_kinds(path: Path, kind: str) -> None:
    """Raise an error if a file's content does not match the ending of its name.

    Raises
    ------
    DataError
        If the file's format is not the one that its ending names, for example if it is a web page, a Git LFS
        pointer, or JSON that is not JSON Lines.
    """
    try:
        with _open(path) as stream:
            start = stream.read(_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        if "gzip" not in str(error):
            return  # reading the file will report the error
        told = "is not compressed with gzip; remove the ending .gz from its name"
        with path.open("rb") as stream:
            raise DataError(explain_kind(stream.read(_BYTES), path.name) or told, file=path) from None
    is_marked = start.startswith(_MARKS.get(kind, b"\0"))
    told = "" if is_marked else explain_kind(start, path.name)
    if not start and kind != ".csv":  # an empty CSV file is reported when it is read
        told = "the file is empty"
    if not told and kind in _MARKS and not is_marked and b"\0" not in start:
        what = "Excel workbook" if kind == ".xlsx" else "Parquet file"
        told = f"is a text file, not a complete {what}; give it the right ending, such as .csv or .jsonl"
    elif not told and kind not in _MARKS:
        encoding = "utf-16" if start.startswith(UTF_16_MARKS) else _UTF_8
        # The decoder is incremental, because the bytes that were read may end within a character.
        text = codecs.getincrementaldecoder(encoding)("ignore").decode(start)
        told = _explain_json(text.lstrip(), is_csv=kind != ".jsonl")
    if told:
        raise DataError(told, file=path)


def _explain_json(text: str, *, is_csv: bool) -> str:
    """Return why a file with JSON content is not valid JSON Lines or CSV; empty if nothing is wrong.

    `text` is only the beginning of the file, so it may end within a value.
    """
    first, _, more = text.partition("\n")
    whole = _find_json(first)  # None if the value continues on the next line, or if the line is CSV
    if is_csv and (isinstance(whole, dict) or _IS_ARRAY.match(text) or _IS_OBJECT.match(text)):
        return "is JSON, not CSV; rename it to .jsonl if each line is one object"
    if _IS_ARRAY.match(text):
        return f"is one JSON array, not one object per line; {_TO_LINES}"
    if whole is None and more and (_IS_OBJECT.match(text) or _find_json(text) is not None):
        return f"is JSON over several lines, not one object per line; {_TO_LINES}"
    return ""


def _find_json(text: str) -> Any:
    """Return the JSON value at the beginning of a text; None for a number, and for a text without JSON."""
    with suppress(ValueError, RecursionError):
        found = json.JSONDecoder().raw_decode(text)[0]
        return found if isinstance(found, dict | list) else None
    return None


def read_csv_portions(path: Path, *, as_saved: bool = False) -> Iterator[Portion]:
    """Read a CSV file; the header line determines the separator.

    If `as_saved` is true, a spreadsheet program may have saved the file: it can be UTF-16 or Windows-1252,
    begin with empty lines or ``sep=;``, and have empty columns at its end. Its column names are normalised
    (`tidy_header`).
    """
    csv.field_size_limit(2**31 - 1)
    text = _lines(path, find_encoding(path) if as_saved else _find_marked(path))
    skipped, delimiter, head = _read_head(text, as_saved)
    reader = csv.reader(chain([head], text), strict=True, delimiter=delimiter)
    header = _read_header(reader, path, as_saved)
    number = PORTION
    while number == PORTION:
        start, records, bad = reader.line_num + 1, list[list[str]](), None
        try:
            # If a record is unreadable, the records before it are added nevertheless.
            records.extend(islice(reader, PORTION))
        except csv.Error as error:
            bad = _name_malformed(error, path, skipped + reader.line_num)
        except DataError as error:
            bad = error
        number = len(records)
        lines: Sequence[int] = range(skipped + start, skipped + reader.line_num + 1)
        if len(lines) != number or not all(records):
            numbered = zip(_number_lines(records, skipped + start), records, strict=True)
            filled = [pair for pair in numbered if pair[1]]
            lines, records = [line for line, _ in filled], [record for _, record in filled]
        if as_saved and set(map(len, records)) != {len(header)}:
            records = [fit_record(record, len(header)) for record in records]
        if records:
            yield CsvPortion(str(path), lines, header, records)
        if bad is not None:
            raise bad


def read_jsonl_portions(path: Path) -> Iterator[Portion]:
    """Read a JSON Lines file."""
    numbered = enumerate(_lines(path, _find_marked(path)), start=1)
    for portion in split_records((number, line) for number, line in numbered if line.strip()):
        lines, texts = zip(*portion, strict=True)
        yield JsonPortion(str(path), lines, texts)


def check_header(header: Sequence[str] | None, path: Path) -> list[str]:
    """Return the column names.

    Raises
    ------
    DataError
        If there are no names, or a name occurs twice.
    """
    if not header:
        raise DataError("the file is empty; its first line must name the columns", file=path, line=1)
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise DataError("the column occurs twice", file=path, line=1, field=twice)
    return list(header)


def tidy_header(names: Sequence[str]) -> list[str]:
    """Normalise column names: lower case, ``_`` for spaces, no empty names at the end.

    An unnamed column before the last named one is named after its position, counted from 1.
    """
    plain = [re.sub(r"[\s_-]+", "_", unicodedata.normalize("NFKC", name).strip().lower()) for name in names]
    while plain and not plain[-1]:
        plain.pop()
    return [name or f"(column {place})" for place, name in enumerate(plain, start=1)]


def fit_record(record: list[str], width: int) -> list[str]:
    """Remove empty cells at the end of a record that is longer than `width`.

    If all cells that remain are empty, `width` empty cells are returned.
    """
    while len(record) > width and not record[-1]:
        record = record[:-1]
    return record if any(record) else [""] * width


def find_encoding(path: Path) -> str:
    """Return the encoding of a file: UTF-8, UTF-16, or Windows-1252 for a file that is neither.

    If the file cannot be read, UTF-8 is returned. A file with non-ASCII letters that are valid UTF-8 before
    the first invalid byte counts as damaged UTF-8.
    """
    is_ascii, decoder = True, codecs.getincrementaldecoder("utf-8")()
    try:
        with _open(path) as stream:
            start = stream.read(_BYTES)
            if start.startswith(UTF_16_MARKS):
                return "utf-16"
            if b"\0" in start[:2]:
                return "utf-16-be" if start.startswith(b"\0") else "utf-16-le"
            while start:
                decoder.decode(start)
                is_ascii, start = is_ascii and start.isascii(), stream.read(_BYTES)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        return "cp1252" if is_ascii and error.object[: error.start].isascii() else _UTF_8
    except (OSError, EOFError, zlib.error):
        pass  # reading the file will report the error
    return _UTF_8


def _find_marked(path: Path) -> str:
    """Return ``utf-16`` if the file begins with UTF-16's byte order mark, otherwise the name of UTF-8."""
    with suppress(OSError, EOFError, zlib.error), _open(path) as stream:
        return "utf-16" if stream.read(2) in UTF_16_MARKS else _UTF_8
    return _UTF_8


def _read_head(text: Iterator[str], as_saved: bool) -> tuple[int, str, str]:  # noqa: FBT001
    """Return the number of lines before the header line, the separator, and the header line."""
    head, skipped = next(text, ""), 0
    while as_saved and head and not head.strip("".join(_DELIMITERS) + " \r\n\ufeff"):
        head, skipped = next(text, ""), skipped + 1
    if as_saved and (found := _SEPARATOR.fullmatch(head.rstrip("\r\n"))):
        return skipped + 1, found[1], next(text, "")
    return skipped, _find_delimiter(head), head


def _lines(path: Path, encoding: str = _UTF_8) -> Iterator[str]:
    """Yield a file's lines, decoded in pieces, so that a file of any length needs little memory."""
    return chain.from_iterable(_line_portions(path)) if encoding == _UTF_8 else _each_decoded(path, encoding)


def _line_portions(path: Path) -> Iterator[Iterable[str]]:
    """Yield many lines at once; if decoding fails, yield single lines up to the bad line."""
    given, encoding = 0, _UTF_8
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
                yield line.decode(_UTF_8 if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise DataError(_ENCODING, file=path, line=number) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot be read: {error}", file=path) from None


def _each_decoded(path: Path, encoding: str) -> Iterator[str]:
    """Yield the lines of a text in an encoding other than UTF-8."""
    number = 0
    try:
        with _open(path) as stream, io.TextIOWrapper(stream, encoding, newline="\n") as text:
            for line in text:
                number += 1
                yield line
    except UnicodeError as error:
        raise DataError(f"not {encoding}: {error}; save it as UTF-8", file=path, line=number + 1) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot be read: {error}", file=path) from None


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _find_delimiter(head: str) -> str:
    """Return the most frequent separator between column names; a comma for a single column."""
    outside = "".join(head.split('"')[::2])  # separators in quotes are part of a name
    return max(_DELIMITERS, key=outside.count)


def _read_header(reader: Any, path: Path, as_saved: bool) -> list[str]:  # noqa: FBT001
    try:
        names = next(reader, None)
        return check_header(tidy_header(names) if names and as_saved else names, path)
    except csv.Error as error:
        raise _name_malformed(error, path, reader.line_num) from None


def _name_malformed(error: csv.Error, path: Path, line: int) -> DataError:
    told = str(error)
    if "new-line" in told:
        told = "lines end with only a carriage return, as on old Macs; save the file as CSV UTF-8"
    return DataError(f"malformed CSV: {told}", file=path, line=line)


def _number_lines(records: Sequence[list[str]], start: int) -> Iterator[int]:
    """Yield the line on which each record begins; values with line breaks span several lines."""
    heights = [1 + "".join(record).count("\n") for record in records]
    return accumulate(heights[:-1], initial=start) if heights else iter(())


def no_file(path: Path) -> DataError:
    """Make the error for a missing file.

    If the path is a folder, the message says so. If the path does not exist, the message names a file with a
    similar name, if there is one.
    """
    if path.is_dir():
        return DataError("is a folder; name a file in this folder", file=path)
    beside = path.parent.iterdir() if path.parent.is_dir() else iter(())
    # Compare names without their endings, because equal endings do not make names similar.
    names = [f.name for f in islice(beside, _MOST_NAMES) if did_you_mean(path.stem, [f.stem])]
    return DataError(f"there is no such file{did_you_mean(path.name, names)}", file=path)
