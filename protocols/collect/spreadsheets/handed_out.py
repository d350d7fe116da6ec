"""Questions, or assignments of a panel, to files; and a panel's ratings."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO

from oversight.harness import BadInput, DataError, check_mapping, check_names
from oversight.harness.datasets import read_filled_portions
from oversight.harness.types import Item, Question, Rating
from oversight.protocols.collect.spreadsheets.answer_words import OPEN_REPLIES
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
from oversight.protocols.collect.spreadsheets.filled_rows import LONG
from oversight.protocols.routing import Pending, order_queue

_QUESTION, _ASSIGNMENT = ("question_id", QUESTION_PREFIX), ("assignment_id", ASSIGNMENT_PREFIX)


def export_questions(
    questions: Sequence[Pending],
    items: Mapping[str, Item],
    answered: Iterable[str],
    folder: str | Path,
    form: str = "csv",
    key: int | None = None,
) -> list[Path]:
    """Write what is open, one file per person, in the order in which each is asked.

    Parameters
    ----------
    questions
        All questions of the study, or all assignments of its panel.
    items
        Item id → item.
    answered
        Ids of questions or assignments that came back already; they are left out.
    folder
        Where the files go; it is made if need be.
    form
        ``"csv"``; ``"xlsx"`` with a drop-down list for answers, and other cells protected; or ``"jsonl"``
        with the same fields, one object a line.
    key
        Of yes/no questions in CSV: binds the check that each id then has to what is shown of the question,
        so that rows of very many need not be compared with it; None writes no checks.

    Returns
    -------
    list of Path
        The files, one per person with something open.

    Raises
    ------
    BadInput
        If a file is there already with answers that were not imported yet.
    DataError
        If the ``xlsx`` extra is missing, or a text is longer than a cell of a workbook can hold.
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
        raise BadInput(f"{folder}: no folder for the files can be made there: {error.strerror}") from None
    if form == "xlsx":  # before the first file is written
        for asked in questions:
            refuse_long_text(escape(items[asked.item_id].text))
    for name, given in by_person.items():
        queue = order_queue(given)
        rows = [_row(asked, items[asked.item_id], form) for asked in queue]
        if yes_no and key is not None and form == "csv":
            _add_checks(rows, key)
        if form == "xlsx":
            choices = [_list_choices(asked, items[asked.item_id]) for asked in queue]
            _write_whole(paths[name], partial(write_workbook, rows=rows, choices=choices))
        else:
            _write_rows(paths[name], list(rows[0]), rows)
    return list(paths.values())


def write_ratings(ratings: Iterable[Rating], path: str | Path) -> Path:
    """Write ratings in the long form ``item, annotator, label`` that the verbs read."""
    path = Path(path)
    write = str if path.suffix == ".jsonl" else guard
    rows = [(write(r.item), write(r.annotator), write(r.label)) for r in ratings]
    _write_rows(path, LONG, [dict(zip(LONG, row, strict=True)) for row in rows])
    return path


def _refuse_unread(paths: Mapping[str, Path], named: tuple[str, str], done: Container[str]) -> None:
    """Refuse to write over files (by person) whose rows were not all read back, or one file twice."""
    by_path = dict[Path, str]()
    for name, path in paths.items():
        first = by_path.setdefault(path, name)
        if first != name:
            raise BadInput(f"{first!r} and {name!r} make the same file name, {path.name}; rename one")
    column, prefix = named
    for path in filter(Path.exists, paths.values()):
        rows = chain.from_iterable(read_filled_portions(path, [column]))
        if any(read_id(str(row.fields.get(column)), prefix) not in done for row in rows):
            raise BadInput(f"{path} is there already and may hold answers; import it or move it away first")


def _row(asked: Pending, item: Item, form: str) -> dict[str, str]:
    """What a file says of one question; in a spreadsheet, ids are texts and texts no formulas."""
    if isinstance(asked, Question):
        (column, prefix), said = _QUESTION, {"answer": "", "comment": ""}
        named, shown = {"expert": asked.expert}, write_cells(item, asked.option)
    else:
        (column, prefix), said = _ASSIGNMENT, {"label": ""}
        named, shown = {"item": item.id, "annotator": asked.annotator}, write_cells(item)
    if form == "jsonl":
        return {column: asked.id, **named, **shown, **said}
    write = guard if form == "csv" else escape
    return {column: prefix + asked.id, **{name: write(text) for name, text in (named | shown | said).items()}}


def _list_choices(asked: Pending, item: Item) -> tuple[str, ...]:
    """What may be picked as the answer; empty for yes, no and unsure."""
    if item.is_statement:
        return OPEN_REPLIES
    return () if isinstance(asked, Question) else item.shown_options


def _add_checks(rows: Sequence[dict[str, str]], key: int) -> None:
    """Put behind the ids what tells whether a row still shows what it showed."""
    checks = write_checks([[row[column] for row in rows] for column in SHOWN], key)
    for place, row in enumerate(rows):
        row["question_id"] += f"-{checks[8 * place : 8 * place + 8]}"


def _write_rows(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> None:
    """Write CSV, or JSON Lines by the name's ending, whole or not at all."""
    text = io.StringIO(newline="")
    if path.suffix == ".jsonl":
        text.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    else:
        writer = csv.DictWriter(text, columns)
        writer.writeheader()
        writer.writerows(rows)
    # by a byte order mark Excel knows UTF-8 from the code page of its machine
    marked = path.suffix != ".jsonl" and not text.getvalue().isascii()
    written = text.getvalue().encode("utf-8-sig" if marked else "utf-8")
    _write_whole(path, lambda stream: stream.write(written))


def _write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _file_name(expert: str) -> str:
    """What of a name a file name can hold; refused if nothing is left."""
    name = re.sub(r"[^\w.-]+", "_", expert)
    if not name.strip("._"):
        raise DataError(f"the expert's name {expert!r} makes no file name", field="name")
    return name
