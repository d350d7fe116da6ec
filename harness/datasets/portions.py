"""Portions of a file: quick to look at by columns, and row by row wherever something may be wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeVar

import orjson

from oversight.harness.datasets.row import Row, parse_json
from oversight.harness.errors import DataError

PORTION = 2_000
"""Records that are read and looked at together."""

Columns = Mapping[str, Sequence[Any]]
T = TypeVar("T")


class Portion(Protocol):
    """Some thousand records that follow each other in a file.

    Iterating gives their rows, and raises `DataError` at the first that is none.
    """

    @property
    def lines(self) -> Sequence[int]:
        """Where each record begins."""
        ...

    def __iter__(self) -> Iterator[Row]: ...

    def attempts(self) -> Iterator[Row | DataError]:
        """The row of every record, or the error that names one that is none."""
        ...

    def columns(self) -> Columns | None:
        """Every column's values, one a record; None where a record is none or has other fields."""
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
        """As of `Portion`."""
        header = self.header
        for line, record in zip(self.lines, self.records, strict=True):
            if len(record) == len(header):
                yield Row(self.file, line, dict(zip(header, record, strict=True)))
            else:
                message = f"{len(record)} values where the header has {len(header)} columns"
                yield DataError(message, file=self.file, line=line)

    def columns(self) -> Columns | None:
        """As of `Portion`; all values are texts."""
        if set(map(len, self.records)) != {len(self.header)}:
            return None
        return dict(zip(self.header, zip(*self.records, strict=True), strict=True))


@dataclass(frozen=True, slots=True)
class JsonPortion:
    """Lines of a file of JSON Lines."""

    file: str
    lines: Sequence[int]
    texts: Sequence[str]

    def __iter__(self) -> Iterator[Row]:
        return map(_row_or_raise, self.attempts())

    def attempts(self) -> Iterator[Row | DataError]:
        """As of `Portion`."""
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

    def columns(self) -> Columns | None:
        """As of `Portion`; an integer of more than 64 bits may be a floating-point number here."""
        try:
            records = list(map(orjson.loads, self.texts))
        except orjson.JSONDecodeError:
            return None
        if set(map(type, records)) != {dict} or len(set(map(tuple, records))) != 1:
            return None
        return dict(zip(records[0], zip(*map(dict.values, records), strict=True), strict=True))


@dataclass(frozen=True, slots=True)
class RowPortion:
    """Rows of a file that is no text; they are looked at one by one."""

    rows: Sequence[Row]

    @property
    def lines(self) -> Sequence[int]:
        """Number of each record."""
        return [row.line for row in self.rows]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def attempts(self) -> Iterator[Row | DataError]:
        """As of `Portion`; every record is a row."""
        return iter(self.rows)

    def columns(self) -> Columns | None:
        """None: values have types of their own."""
        return None


def _row_or_raise(found: Row | DataError) -> Row:
    if isinstance(found, DataError):
        raise found
    return found


def split_records(records: Iterable[T]) -> Iterator[list[T]]:
    """Portions of records; where one cannot be read, those before it come first."""
    source, number = iter(records), PORTION
    while number == PORTION:
        portion, bad = list[T](), None
        try:
            portion.extend(islice(source, PORTION))  # up to one that cannot be read
        except DataError as error:
            bad = error
        if portion:
            yield portion
        if bad is not None:
            raise bad
        number = len(portion)


def are_texts(*columns: Iterable[Any]) -> bool:
    """Whether all values of some columns are texts."""
    return all(set(map(type, column)) == {str} for column in columns)
