"""One record of a file, and portions of many records.

A record holds typed fields by name and makes errors that name its place. A portion is some thousand
consecutive records of a file.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol, TypeVar

from oversight.harness.errors import DataError, InMemory
from oversight.harness.output import did_you_mean, make_printable, shorten

_MOST = 2**31 - 1
"""Range of an integer column in every database."""
MOST_SHOWN = 20
"""So many wrong rows are named; a file of which every row is wrong has to be looked at anyway."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record and its place; `line` counts from 1 as an editor does."""

    file: str
    line: int
    fields: Mapping[str, Any]

    def error(self, field: str | None, message: str) -> DataError:
        """Make an error that names this row."""
        return DataError(message, file=self.file, line=self.line, field=field)

    def name_line(self, line: int) -> str:
        """``line 3``, or ``row 3`` if the source is not a file."""
        return f"{'row' if isinstance(self.file, InMemory) else 'line'} {line}"

    def value(self, column: str) -> Any:
        """Return the value in a column.

        Raises
        ------
        DataError
            If the column does not exist.
        """
        if column not in self.fields:
            known = ", ".join(list(self.fields)[:12])
            raise self.error(
                column, f"there is no such column; there are: {known}{did_you_mean(column, self.fields)}"
            )
        return self.fields[column]

    def find_field(self, field: str) -> Any:
        """Return a field by its dotted name; None if it does not exist."""
        value: Any = self.fields
        for part in field.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def need(self, field: str, kind: type | tuple[type, ...]) -> Any:
        """Return a field by its dotted name.

        Raises
        ------
        DataError
            If it does not exist or has another type.
        """
        value = self.find_field(field)
        if not isinstance(value, kind):
            names = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
            raise self.error(field, f"must be {names}, is {type(value).__name__}")
        return value

    def text(self, field: str) -> str:
        """Return a text, or a number as text; empty if it does not exist.

        Raises
        ------
        DataError
            If it has another type.
        """
        value = self.find_field(field)
        if value is not None and (isinstance(value, bool) or not isinstance(value, str | int | float)):
            raise self.error(field, f"must be text or a number, is {shorten(value)}")
        return "" if value is None else str(value)

    def number(self, field: str) -> float | None:
        """Return a finite number; None if it is empty or does not exist.

        Raises
        ------
        DataError
            If it has another type or is not finite.
        """
        value = self.find_field(field)
        if value is None or value == "":
            return None
        number = math.nan
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            with contextlib.suppress(ValueError, OverflowError):
                number = float(value)
        if not math.isfinite(number):
            raise self.error(field, f"must be a number, is {shorten(value)}")
        return number

    def count(self, field: str, otherwise: int = 0) -> int:
        """Return a whole number ≥ 0 that every database can store; `otherwise` if it is empty or missing.

        Raises
        ------
        DataError
            If it is not such a number.
        """
        number = self.number(field)
        if number is None:
            return otherwise
        if not number.is_integer() or not 0 <= number <= _MOST:
            raise self.error(
                field, f"must be a whole number from 0 to {_MOST:,}, is {shorten(self.find_field(field))}"
            )
        return int(number)


@dataclass(slots=True)
class BadRows:
    """Collects the bad rows of a file.

    Attributes
    ----------
    number
        How many rows are bad.
    shown
        The first of them.
    alike
        Whether one fault applies to all rows, for example a missing column.
    """

    number: int = 0
    shown: list[DataError] = field(default_factory=list)
    alike: bool = True

    def add(self, error: DataError) -> None:
        """Count a bad row, and keep it if it is one of the first."""
        self.number += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(error)
        first = self.shown[0]
        self.alike = self.alike and (error.field, error.reason) == (first.field, first.reason)

    def lines(self) -> list[str]:
        """Return one line per kept row, and the number of others."""
        left = self.number - len(self.shown)
        return [*map(str, self.shown), *([f"and {left:,} more wrong rows"] if left else [])]

    def error(self, good: int, mend: str = "skip_bad = true under [items] leaves such rows out") -> DataError:
        """Combine all errors in one that names the place of the first; `good` is the number of good rows."""
        first, lines = self.shown[0], self.lines()
        if self.number == 1:
            return first
        if self.alike and not good:
            told = f"{first.reason}; the same is wrong in {self.number:,} rows, and none is good"
            return DataError(told, file=first.file, line=first.line, field=first.field)
        end = f"{self.number:,} rows are wrong; {mend}"
        told = "\n".join([first.reason, *lines[1:], end])
        return DataError(told, file=first.file, line=first.line, field=first.field)


def parse_json(text: str | bytes, file: object, line: int | None = None) -> Any:
    """Parse JSON and check that its texts can be stored and sent.

    Raises
    ------
    DataError
        If it is not UTF-8, not JSON, nested too deep, or contains half a surrogate pair, which is not a
        character.
    """
    try:
        found = json.loads(text)
    except UnicodeDecodeError:
        raise DataError("not UTF-8", file=file, line=line) from None
    except ValueError as error:
        raise DataError(f"malformed JSON: {error}", file=file, line=line) from None
    except RecursionError:
        raise DataError("malformed JSON: nested too deep", file=file, line=line) from None
    if ("\\u" in text) if isinstance(text, str) else (b"\\u" in text):
        _refuse_half_pairs(found, file, line)
    return found


def _refuse_half_pairs(found: Any, file: object, line: int | None) -> None:
    for name, value in found.items() if isinstance(found, dict) else [(None, found)]:
        try:
            json.dumps((name, value), ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            message = f"holds {half!r}, half a surrogate pair, which is no character"
            raise DataError(message, file=file, line=line, field=name and make_printable(name)) from None
        except RecursionError:
            raise DataError("malformed JSON: nested too deep", file=file, line=line, field=name) from None


PORTION = 2_000
"""Records that are read and looked at together."""

Columns = Mapping[str, Sequence[str]]
T = TypeVar("T")


class Portion(Protocol):
    """Some thousand consecutive records of a file.

    Iterating yields their rows, and raises `DataError` at the first malformed record.
    """

    def __iter__(self) -> Iterator[Row]: ...

    def attempts(self) -> Iterator[Row | DataError]:
        """Yield the row of every record, or the error of a malformed one."""
        ...


@dataclass(frozen=True, slots=True)
class CsvPortion:
    """Records of a CSV file."""

    file: str
    lines: Sequence[int]
    header: Sequence[str]
    records: Sequence[list[str]]

    def __iter__(self) -> Iterator[Row]:
        return map(_row_or_raise, self.attempts())

    def attempts(self) -> Iterator[Row | DataError]:
        """See `Portion`."""
        header = self.header
        for line, record in zip(self.lines, self.records, strict=True):
            if len(record) == len(header):
                yield Row(self.file, line, dict(zip(header, record, strict=True)))
            else:
                message = f"{len(record)} values where the header has {len(header)} columns"
                yield DataError(message, file=self.file, line=line)

    def columns(self) -> Columns | None:
        """Return every column's values as texts, one per record; None if a record has too few or too many."""
        if set(map(len, self.records)) != {len(self.header)}:
            return None
        return dict(zip(self.header, zip(*self.records, strict=True), strict=True))


@dataclass(frozen=True, slots=True)
class JsonPortion:
    """Lines of a JSON Lines file."""

    file: str
    lines: Sequence[int]
    texts: Sequence[str]

    def __iter__(self) -> Iterator[Row]:
        return map(_row_or_raise, self.attempts())

    def attempts(self) -> Iterator[Row | DataError]:
        """See `Portion`."""
        for line, text in zip(self.lines, self.texts, strict=True):
            try:
                fields = parse_json(text, self.file, line)
            except DataError as error:
                yield error
                continue
            if isinstance(fields, dict):
                yield Row(self.file, line, fields)
            else:
                yield DataError("every line must be a JSON object", file=self.file, line=line)


@dataclass(frozen=True, slots=True)
class RowPortion:
    """Rows of a file that is not a text file; they are checked one by one."""

    rows: Sequence[Row]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def attempts(self) -> Iterator[Row | DataError]:
        """See `Portion`; every record is a row."""
        return iter(self.rows)


def _row_or_raise(found: Row | DataError) -> Row:
    if isinstance(found, DataError):
        raise found
    return found


def split_records(records: Iterable[T]) -> Iterator[list[T]]:
    """Yield portions of records; if one cannot be read, those before it come first."""
    source, number = iter(records), PORTION
    while number == PORTION:
        portion, bad = list[T](), None
        try:
            portion.extend(islice(source, PORTION))  # up to an unreadable record
        except DataError as error:
            bad = error
        if portion:
            yield portion
        if bad is not None:
            raise bad
        number = len(portion)
