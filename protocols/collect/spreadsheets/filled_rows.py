"""Rows that people filled in, whichever they were asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from oversight.harness import DataError
from oversight.harness.datasets import BadRows, CsvPortion, Portion, Row
from oversight.harness.output import did_you_mean, say, shorten, unguard_cell
from oversight.protocols.collect.spreadsheets.cells import ReadCell, is_same

LONG = ("item", "annotator", "label")
SOURCE = "offline"
_MEND = "--skip-bad leaves such rows out"
_NUMBER = re.compile(r"[\d.,]+([eE][+-]?\d+)?")

Note = Callable[[DataError], object]
FilledRow = tuple[Row, str]
"""A row and what its last needed column holds."""


class WrongRows:
    """The wrong rows of an import, which are all named at once.

    Parameters
    ----------
    skipped
        Notes them where they are left out; None where any refuses the import.
    """

    def __init__(self, skipped: BadRows | None = None) -> None:
        self._found = BadRows() if skipped is None else skipped
        self._refuses = skipped is None

    def add(self, error: DataError) -> None:
        """Note a wrong row."""
        self._found.add(error)

    def close(self, good: int) -> None:
        """Refuse the import if it has wrong rows that are not to be left out.

        Raises
        ------
        DataError
            Naming all of them, beside how many `good` ones there are.
        """
        if self._refuses and self._found.number:
            raise self._found.error(good, _MEND)

    def raise_with(self, fatal: DataError, good: int) -> None:
        """Refuse the import as of an error that no row can be left out for, after the rows before it."""
        if not self._refuses or not self._found.number:
            raise fatal
        self._found.add(fatal)
        raise self._found.error(good, _MEND) from fatal


def fill(portion: Portion, columns: Sequence[str], needed: str, note: Note) -> Iterator[FilledRow]:
    """Give the rows with something in the last of some columns, and that; note records that are no rows.

    Raises
    ------
    DataError
        If a column is not there.
    """
    for row in portion.attempts():
        if isinstance(row, DataError):
            if isinstance(portion, CsvPortion):
                place = Row(portion.file, row.line or 1, dict.fromkeys(portion.header))
                _check_columns(place, columns, needed)
            note(row)
            continue
        _check_columns(row, columns, needed)
        value = row.fields[columns[-1]]
        if said := ("" if value is None else str(value)).strip():
            yield row, said


def _check_columns(row: Row, columns: Sequence[str], needed: str) -> None:
    for column in columns:
        if column not in row.fields:
            raise row.error(column, f"there is no such column; {needed}{_tell_header(row, column)}")


def _tell_header(row: Row, column: str) -> str:
    """What may be wrong with the columns' names."""
    names = list(row.fields)
    if len(names) == 1 and re.search("[,;\t|]", names[0]):
        return "; all columns are in one cell: save each in a column of its own, or export with --format xlsx"
    if any(name.startswith("(column ") for name in names):
        return f"; the first row must name the columns, and names {', '.join(map(repr, names[:12]))}"
    return did_you_mean(column, names)


def check_same(row: Row, column: str, first: str, again: str) -> None:
    """Refuse a second answer to the same that differs from the first."""
    if first != again:
        raise row.error(column, f"second {column} {again!r}; the first was {first!r}")


def check_stored(row: Row, column: str, stored: str, again: str) -> None:
    """Refuse an answer that differs from the one that is stored."""
    if stored != again:
        raise row.error(
            column, f"{again!r}, and {stored!r} is stored from before; a question has one {column}"
        )


class Comments:
    """Comments of answers that are there already: those that differ are told, as the first one stays."""

    def __init__(self) -> None:
        self._first = dict[str, int]()
        self._left = 0

    def add(self, ids: Iterable[str], comments: Iterable[str]) -> None:
        """Note the comments of answers that are new."""
        self._first.update((i, hash(comment)) for i, comment in zip(ids, comments, strict=False) if comment)

    def compare(self, name: str, comment: str, stored: str | None) -> None:
        """Count a comment that is neither the stored one nor, where none is stored, the first one read."""
        first = self._first.get(name) if stored is None else hash(stored)
        self._left += bool(comment) and hash(comment) != first

    def tell(self) -> None:
        """Say how many were left out."""
        if self._left:
            told = "comment differs" if self._left == 1 else "comments differ"
            say(f"{self._left:,} {told} from what was said before, which stays")


def check_shown(row: Row, cells: Mapping[str, str]) -> None:
    """Refuse a row that says it was asked something else: its answer may belong to another question.

    Raises
    ------
    DataError
        Naming the first column that differs by more than white space from what was exported.
    """
    for column, shown in cells.items():
        said = row.fields.get(column, shown)
        if not is_same("" if said is None else str(said), shown):
            told = f"differs from what was asked: {shorten(str(said))}, asked was {shorten(shown)}"
            raise row.error(column, f"{told}; the answer may belong to another question")


def check_person(row: Row, column: str, read: ReadCell, asked: str, told: str) -> None:
    """Refuse a row that names somebody else than who was asked; `told` begins the sentence that says so."""
    said = str(row.fields[column])
    if asked not in (said, said.strip(), read(said.strip()), unguard_cell(said.strip())):
        raise row.error(column, f"{told} to {asked!r}, not to {said!r}")


def unknown_id(row: Row, column: str, what: str) -> DataError:
    """The error of an id that nobody was given."""
    text = str(row.fields[column]).strip()
    number = (
        ""
        if not re.search("[.,eE]", text) or not _NUMBER.fullmatch(text)
        else ("; a spreadsheet program made a number of it: export the questions again")
    )
    return row.error(column, f"{what}{number}")
