"""Write questions, or a panel's assignments, to files; write a panel's ratings."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from oversight.harness import BadInput, DataError, check_mapping, check_names
from oversight.harness.datasets import read_filled_portions
from oversight.harness.platform import write_whole
from oversight.harness.types import Item, Question, Rating
from oversight.protocols.collect.spreadsheets.answer_wordings import OPEN_REPLIES
from oversight.protocols.collect.spreadsheets.answer_workbook import refuse_long_text, write_workbook
from oversight.protocols.collect.spreadsheets.cells import (
    ASSIGNMENT_PREFIX,
    QUESTION_PREFIX,
    SHOWN,
    escape,
    guard,
    read_id,
    write_cells,
    write_checks,
)
from oversight.protocols.collect.spreadsheets.filled_files import LONG
from oversight.protocols.routing import Pending, order_queue

_RIGHTS = 0o666  # before the umask; not private, because these files are sent to experts
_QUESTION, _ASSIGNMENT = ("question_id", QUESTION_PREFIX), ("assignment_id", ASSIGNMENT_PREFIX)


def export_questions(
    questions: Sequence[Pending],
    items: Mapping[str, Item],
    answered: Iterable[str],
    folder: str | Path,
    form: str = "csv",
    key: int | None = None,
    question_text: str | None = None,
    instructions: str = "",
) -> list[Path]:
    """Write open questions, one file per person, in order of asking.

    Parameters
    ----------
    questions
        All questions of the study, or all assignments of its panel.
    items
        Item id → item.
    answered
        Ids of answered questions or assignments, which are left out.
    folder
        Folder of the files; created if needed.
    form
        ``"csv"``; ``"xlsx"`` with a drop-down list for answers and with all other cells protected; or
        ``"jsonl"`` with the same fields, one object per line.
    key
        For yes/no questions in CSV: key of the checksum that each id contains. The import uses the checksum
        to find changed texts, so it need not compare large files with the study. If None, no checksums are
        written.
    question_text
        Text of the question, with ``$option`` in the place of the option; None for the English default.
    instructions
        Text of the study at the top of a workbook's sheet of instructions.

    Returns
    -------
    list of Path
        The files, one per person with open questions.

    Raises
    ------
    BadInput
        If a file exists and contains answers that were not imported yet.
    DataError
        If the ``xlsx`` extra is missing, or a text is too long for a cell of a workbook.
    """
    check_mapping("items", items, "id to item")
    check_names("answered", answered)
    folder, done = Path(folder), set(answered)
    by_person: dict[str, list[Pending]] = defaultdict(list)
    for asked in questions:
        if asked.id not in done:
            by_person[asked.expert].append(asked)
    yes_no = all(isinstance(asked, Question) for asked in questions)
    start = "questions-" if yes_no else "panel-"
    paths = {name: folder / f"{start}{_file_name(name)}.{form}" for name in by_person}
    _refuse_unread(paths, _QUESTION if yes_no else _ASSIGNMENT, done)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder}: this folder cannot be made: {error.strerror}") from None
    # Check all texts before the first file is written, because one text that is too long prevents the export.
    if form == "xlsx":
        for asked in questions:
            refuse_long_text(escape(items[asked.item_id].text))
    for name, given in by_person.items():
        queue = order_queue(given)
        rows = [_row(asked, items[asked.item_id], form, question_text) for asked in queue]
        if yes_no and key is not None and form == "csv":
            _add_checks(rows, key)
        if form == "xlsx":
            choices = [_list_choices(asked, items[asked.item_id]) for asked in queue]
            book = io.BytesIO()
            write_workbook(book, rows, choices, instructions)
            write_whole([book.getvalue()], paths[name], _RIGHTS)
        else:
            _write_rows(paths[name], list(rows[0]), rows)
    return list(paths.values())


def write_ratings(ratings: Iterable[Rating], path: str | Path) -> Path:
    """Write ratings in long form, ``item, annotator, label``."""
    path = Path(path)
    write = str if path.suffix == ".jsonl" else guard
    rows = [(write(r.item), write(r.annotator), write(r.label)) for r in ratings]
    _write_rows(path, LONG, [dict(zip(LONG, row, strict=True)) for row in rows])
    return path


def _refuse_unread(paths: Mapping[str, Path], named: tuple[str, str], done: Container[str]) -> None:
    """Raise an error if two people would share a file, or an existing file has answers not imported yet."""
    by_path = dict[Path, str]()
    for name, path in paths.items():
        first = by_path.setdefault(path, name)
        if first != name:
            raise BadInput(f"{first!r} and {name!r} have the same file name, {path.name}; rename one")
    column, prefix = named
    for path in filter(Path.exists, paths.values()):
        rows = chain.from_iterable(read_filled_portions(path, [column]))
        if any(read_id(str(row.fields.get(column)), prefix) not in done for row in rows):
            raise BadInput(
                f"{path} already exists and may contain answers; import it, then move it away or name "
                "another folder: oversight label export FOLDER"
            )


def _row(asked: Pending, item: Item, form: str, question_text: str | None) -> dict[str, str]:
    """Return the row of one question.

    In a CSV file or workbook, a prefix keeps ids from being read as numbers, and cells never become formulas.
    """
    if isinstance(asked, Question):
        (column, prefix), said = _QUESTION, {"answer": "", "comment": ""}
        named, shown = {"expert": asked.expert}, write_cells(item, asked.option, question_text)
    else:
        (column, prefix), said = _ASSIGNMENT, {"label": ""}
        named, shown = {"item": item.id, "annotator": asked.annotator}, write_cells(item)
    if form == "jsonl":
        return {column: asked.id, **named, **shown, **said}
    write = guard if form == "csv" else escape
    return {column: prefix + asked.id, **{name: write(text) for name, text in (named | shown | said).items()}}


def _list_choices(asked: Pending, item: Item) -> tuple[str, ...]:
    """Return the allowed answers; an empty tuple stands for yes, no and unsure."""
    if item.is_statement:
        return OPEN_REPLIES
    return () if isinstance(asked, Question) else item.shown_options


def _add_checks(rows: Sequence[dict[str, str]], key: int) -> None:
    """Append to each id a checksum that shows whether the row was changed."""
    checks = write_checks([[row[column] for row in rows] for column in SHOWN], key)
    for place, row in enumerate(rows):
        row["question_id"] += f"-{checks[8 * place : 8 * place + 8]}"


def _write_rows(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> None:
    """Write CSV or JSON Lines, depending on the file's ending, atomically."""
    text = io.StringIO(newline="")
    if path.suffix == ".jsonl":
        text.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    else:
        writer = csv.DictWriter(text, columns)
        writer.writeheader()
        writer.writerows(rows)
    # Excel recognises UTF-8 only with a byte order mark.
    marked = path.suffix != ".jsonl" and not text.getvalue().isascii()
    write_whole("\ufeff" * marked + text.getvalue(), path, _RIGHTS)


def _file_name(expert: str) -> str:
    """Convert a person's name for use in a file name; raise an error if nothing is left."""
    name = re.sub(r"[^\w.-]+", "_", expert)
    if not name.strip("._"):
        raise DataError(f"the expert's name {expert!r} cannot be used in a file name", field="name")
    return name
