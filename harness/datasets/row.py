"""One record of a file, and portions of many records.

A record has typed fields by name, and creates errors that name its file and line. A portion is a
sequence of consecutive records.
"""

from __future__ import annotations

import contextlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from oversight.harness.errors import DataError, InMemory
from oversight.harness.output import did_you_mean, make_printable, shorten

_MOST = 2**31 - 1
"""Largest integer that fits in an integer column of every database."""
MOST_SHOWN = 20
"""Number of bad rows that an error names."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record with its place; the lines of a file count from 1, as in an editor."""

    file: str
    line: int
    fields: Mapping[str, Any]

    def error(self, field: str | None, message: str) -> DataError:
        """Make an error that names this row."""
        return DataError(message, file=self.file, line=self.line, field=field)

    def name_line(self, line: int) -> str:
        """Return ``line 3``, or ``row 3`` if the source is not a file."""
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

    def parsed(self, column: str, what: str) -> Any:
        """Return the value in a column, parsed if it is a JSON text; errors say that `what` was expected.

        Raises
        ------
        DataError
            If the column does not exist, or its text is not JSON.
        """
        value = self.value(column)
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                raise self.error(column, f"must be a JSON {what}") from None
        return value

    def find_field(self, field: str) -> Any:
        """Return a column, or a nested field by its dotted name; None if it does not exist."""
        if field in self.fields:
            return self.fields[field]
        value: Any = self.fields
        for part in field.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def need(self, field: str, kind: type | tuple[type, ...]) -> Any:
        """Return a field of the given type by its dotted name.

        Raises
        ------
        DataError
            If the field does not exist or has another type.
        """
        value = self.find_field(field)
        if not isinstance(value, kind):
            names = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
            raise self.error(field, f"must be {names}, is {type(value).__name__}")
        return value

    def text(self, field: str) -> str:
        """Return a text, or a number as text; empty if the field does not exist.

        Raises
        ------
        DataError
            If the field has another type.
        """
        value = self.find_field(field)
        if value is not None and (isinstance(value, bool) or not isinstance(value, str | int | float)):
            raise self.error(field, f"must be text or a number, is {shorten(value)}")
        return "" if value is None else str(value)

    def word(self, field: str) -> str:
        """Return any value as text in lower case, without spaces around it; ``"none"`` if it is missing."""
        return str(self.find_field(field)).strip().casefold()

    def number(self, field: str) -> float | None:
        """Return a finite number; None if the field is empty or does not exist.

        Raises
        ------
        DataError
            If the field has another type or is not finite.
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
        """Return a whole number ≥ 0 that fits in every database; `otherwise` if the field has no value.

        Raises
        ------
        DataError
            If the value is not such a number.
        """
        number = self.number(field)
        if number is None:
            return otherwise
        if not number.is_integer() or not 0 <= number <= _MOST:
            raise self.error(
                field, f"must be a whole number from 0 to {_MOST:,}, is {shorten(self.find_field(field))}"
            )
        return int(number)


@dataclass(frozen=True, slots=True)
class WideCell(Row):
    """One rating from a table with one column per annotator, read as if the table had one row per rating.

    Attributes
    ----------
    column
        Column that contains the label and is named after the annotator; errors name it.
    stands_for
        Names of the two fields, annotator and label, that the column replaces.
    """

    column: str
    stands_for: tuple[str, str]

    def error(self, field: str | None, message: str) -> DataError:
        """Make an error that names this row, and the column that the field comes from."""
        return Row.error(self, self.column if field in self.stands_for else field, message)


def split_wide(row: Row, names: Iterable[str], annotator: str, label: str) -> Iterator[WideCell]:
    """Yield the ratings in a row, in which each of the columns `names` belongs to one annotator."""
    rated = [name for name in names if name in row.fields]
    kept = {name: value for name, value in row.fields.items() if name not in rated}
    for name in rated:
        fields = {**kept, annotator: name, label: row.fields[name]}
        yield WideCell(row.file, row.line, fields, name, (annotator, label))


@dataclass(slots=True)
class BadRows:
    """Collects the bad rows of a file.

    Attributes
    ----------
    number
        Number of bad rows.
    shown
        Errors of the first bad rows.
    alike
        Whether all bad rows have the same error, for example a missing column.
    """

    number: int = 0
    shown: list[DataError] = field(default_factory=list)
    alike: bool = True

    def add(self, error: DataError) -> None:
        """Count a bad row, and keep its error if it is one of the first."""
        self.number += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(error)
        first = self.shown[0]
        self.alike = self.alike and (error.field, error.reason) == (first.field, first.reason)

    def lines(self) -> list[str]:
        """Return one line per kept error, and a line with the number of other bad rows."""
        left = self.number - len(self.shown)
        return [*map(str, self.shown), *([f"and {left:,} more wrong rows"] if left else [])]

    def error(
        self, good: int, advice: str = "skip_bad = true under [items] leaves such rows out"
    ) -> DataError:
        """Combine all errors into one; `good` is the number of good rows, `advice` the end of the message."""
        first, lines = self.shown[0], self.lines()
        if self.number == 1:
            return first
        if self.alike and not good:
            told = f"{first.reason}; {self.number:,} rows have this error, and no row is valid"
            return DataError(told, file=first.file, line=first.line, field=first.field)
        end = f"{self.number:,} rows are wrong; {advice}"
        told = "\n".join([first.reason, *lines[1:], end])
        return DataError(told, file=first.file, line=first.line, field=first.field)


def parse_json(text: str | bytes, file: object, line: int | None = None) -> Any:
    """Parse JSON and check that its texts can be stored and sent.

    Raises
    ------
    DataError
        If the text is not UTF-8, not JSON, nested too deep, or contains half a surrogate pair, which is not a
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
            message = f"contains {half!r}, half of a surrogate pair, which is not a character"
            raise DataError(message, file=file, line=line, field=name and make_printable(name)) from None
        except RecursionError:
            raise DataError("malformed JSON: nested too deep", file=file, line=line, field=name) from None


PORTION = 2_000
"""Number of records that are read and checked together."""

Columns = Mapping[str, Sequence[str]]
T = TypeVar("T")


class Portion(ABC):
    """At most `PORTION` consecutive records of a file.

    Iterating yields their rows, and raises `DataError` at the first malformed record.
    """

    __slots__ = ()

    def __iter__(self) -> Iterator[Row]:
        return map(_row_or_raise, self.attempts())

    @abstractmethod
    def attempts(self) -> Iterator[Row | DataError]:
        """Yield the row of every record, or the error of a malformed one."""


@dataclass(frozen=True, slots=True)
class CsvPortion(Portion):
    """Records of a CSV file."""

    file: str
    lines: Sequence[int]
    header: Sequence[str]
    records: Sequence[list[str]]

    def attempts(self) -> Iterator[Row | DataError]:
        """Yield each record as a row, or as an error if its number of values differs from the header's."""
        header = self.header
        for line, record in zip(self.lines, self.records, strict=True):
            if len(record) == len(header):
                yield Row(self.file, line, dict(zip(header, record, strict=True)))
            else:
                message = f"{len(record)} values, but the header has {len(header)} columns"
                yield DataError(message, file=self.file, line=line)

    def columns(self) -> Columns | None:
        """Return every column's values as texts; None if a record has too few or too many values."""
        if set(map(len, self.records)) != {len(self.header)}:
            return None
        return dict(zip(self.header, zip(*self.records, strict=True), strict=True))


@dataclass(frozen=True, slots=True)
class JsonPortion(Portion):
    """Lines of a JSON Lines file."""

    file: str
    lines: Sequence[int]
    texts: Sequence[str]

    def attempts(self) -> Iterator[Row | DataError]:
        """Yield the row of every line, or the error of a malformed line."""
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
class RowPortion(Portion):
    """Rows of a source other than a text file; they are checked one by one."""

    rows: Sequence[Row]

    def attempts(self) -> Iterator[Row | DataError]:
        """Yield the rows; no record is malformed."""
        return iter(self.rows)


def _row_or_raise(found: Row | DataError) -> Row:
    if isinstance(found, DataError):
        raise found
    return found


def split_records(records: Iterable[T]) -> Iterator[list[T]]:
    """Yield portions of records; if a record cannot be read, the records before it are yielded first."""
    source, number = iter(records), PORTION
    while number == PORTION:
        portion, bad = list[T](), None
        try:
            portion.extend(islice(source, PORTION))  # raises an error at an unreadable record
        except DataError as error:
            bad = error
        if portion:
            yield portion
        if bad is not None:
            raise bad
        number = len(portion)
