"""Rows that people filled in, whichever they were asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.datasets import Row

LONG = ("item", "annotator", "label")
SOURCE = "offline"

FilledRow = tuple[Row, str]
"""A row and what its last needed column holds."""


def fill(rows: Iterable[Row], columns: Sequence[str], needed: str) -> Iterator[FilledRow]:
    """Give the rows that have all the columns and something in the last one, and that."""
    for row in rows:
        for column in columns:
            if column not in row.fields:
                raise row.error(column, f"there is no such column; {needed}")
        if said := str(row.fields[columns[-1]] or "").strip():
            yield row, said


def check_same(row: Row, column: str, first: str, again: str) -> None:
    """Refuse a second answer to the same that differs from the first."""
    if first != again:
        raise row.error(column, f"second {column} {again!r}; the first was {first!r}")
