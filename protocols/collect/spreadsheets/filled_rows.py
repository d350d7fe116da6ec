"""Read and check rows that people filled in, for questions and for panels."""

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
"""A row, and the text in its last required column."""


class WrongRows:
    """Collects the bad rows of an import, so that they are reported together.

    Parameters
    ----------
    skipped
        Records bad rows, which are then left out. If None, any bad row makes the import fail.
    """

    def __init__(self, skipped: BadRows | None = None) -> None:
        self._found = BadRows() if skipped is None else skipped
        self._refuses = skipped is None

    def add(self, error: DataError) -> None:
        """Record the error of a bad row."""
        self._found.add(error)

    def close(self, good: int) -> None:
        """Raise an error if there are bad rows that must not be left out.

        Raises
        ------
        DataError
            If there are such rows; the message names all bad rows, and the number of `good` rows.
        """
        if self._refuses and self._found.number:
            raise self._found.error(good, _MEND)

    def raise_with(self, fatal: DataError, good: int) -> None:
        """Raise `fatal`, the error of an unreadable file. Its message also names earlier bad rows."""
        if not self._refuses or not self._found.number:
            raise fatal
        self._found.add(fatal)
        raise self._found.error(good, _MEND) from fatal


def fill(
    portion: Portion,
    columns: Sequence[str],
    needed: str,
    note: Note,
    skip: Callable[[Row], object] | None = None,
) -> Iterator[FilledRow]:
    """Yield each row in which the last of `columns` is filled in, with the text of that cell.

    Malformed rows are passed to `note`, and rows in which the cell is empty to `skip`.

    Raises
    ------
    DataError
        If a column does not exist.
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
        elif skip is not None:
            skip(row)


def _check_columns(row: Row, columns: Sequence[str], needed: str) -> None:
    for column in columns:
        if column not in row.fields:
            raise row.error(column, f"there is no such column; {needed}{_tell_header(row, column)}")


def _tell_header(row: Row, column: str) -> str:
    """Return a hint about what may be wrong with the column names."""
    names = list(row.fields)
    if len(names) == 1 and re.search("[,;\t|]", names[0]):
        return "; all columns are in one cell: save each as a separate column, or export with --format xlsx"
    if any(name.startswith("(column ") for name in names):
        return f"; the first row must name the columns, and names {', '.join(map(repr, names[:12]))}"
    return did_you_mean(column, names)


def check_same(row: Row, column: str, first: str, again: str) -> None:
    """Raise an error if the second answer to a question, `again`, differs from the `first`."""
    if first != again:
        raise row.error(column, f"second {column} {again!r}; the first was {first!r}")


def check_stored(row: Row, column: str, stored: str, again: str) -> None:
    """Raise an error if the answer in a row, `again`, differs from the `stored` answer."""
    if stored != again:
        raise row.error(
            column, f"is {again!r}, but {stored!r} is already stored; a question has one {column}"
        )


class Comments:
    """Counts comments that are left out: without an answer, or after another one on the same question."""

    def __init__(self) -> None:
        self._first = dict[str, int]()
        self._left = self._alone = 0

    def count_alone(self, comments: Iterable[object]) -> None:
        """Count the comments among the cells of rows without an answer."""
        self._alone += sum(bool(str(comment or "").strip()) for comment in comments)

    def record_comments(self, ids: Iterable[str], comments: Iterable[str]) -> None:
        """Record the comments of new answers."""
        self._first.update((i, hash(comment)) for i, comment in zip(ids, comments, strict=False) if comment)

    def compare(self, name: str, comment: str, stored: str | None) -> None:
        """Count a comment as left out if it differs from the `stored` comment on the same question.

        If `stored` is None, compare with the first comment that was read for the question `name`.
        """
        first = self._first.get(name) if stored is None else hash(stored)
        self._left += bool(comment) and hash(comment) != first

    def report_left_out(self) -> None:
        """Print the number of comments that were left out."""
        if self._left:
            told = "comment differs" if self._left == 1 else "comments differ"
            say(f"{self._left:,} {told} from earlier comments; only the earlier comments are kept")
        if self._alone:
            told = "comment has" if self._alone == 1 else "comments have"
            say(f"{self._alone:,} {told} no answer in the same row, and cannot be kept")


def check_shown(row: Row, cells: Mapping[str, str]) -> None:
    """Raise an error for a row with a changed question, because its answer may belong to another question.

    Raises
    ------
    DataError
        If a column differs from the export by more than white space; the message names the first such column.
    """
    for column, shown in cells.items():
        said = row.fields.get(column, shown)
        if not is_same("" if said is None else str(said), shown):
            told = f"differs from the question: {shorten(str(said))}, but the question had {shorten(shown)}"
            raise row.error(column, f"{told}; the answer may belong to another question")


def check_person(row: Row, column: str, read: ReadCell, asked: str, told: str) -> None:
    """Raise an error if a row names another person than `asked`; the message begins with `told`."""
    said = str(row.fields[column])
    if asked not in (said, said.strip(), read(said.strip()), unguard_cell(said.strip())):
        raise row.error(column, f"{told} to {asked!r}, not to {said!r}")


def unknown_id(row: Row, column: str, what: str) -> DataError:
    """Return the error for an unknown id."""
    text = str(row.fields[column]).strip()
    number = (
        ""
        if not re.search("[.,eE]", text) or not _NUMBER.fullmatch(text)
        else ("; a spreadsheet program changed it to a number: export the questions again")
    )
    return row.error(column, f"{what}{number}")
