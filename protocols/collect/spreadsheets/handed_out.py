"""Questions, or assignments of a panel, to files; and a panel's ratings."""

from __future__ import annotations

import csv
import json
import os
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

from harness import BadInput, DataError, check_mapping, check_names, derive_seed
from harness.datasets import read_rows
from harness.types import Item, Question, Rating
from protocols.collect.spreadsheets.filled_rows import LONG
from protocols.routing import Pending, order_queue


def export_questions(
    questions: Sequence[Pending],
    items: Mapping[str, Item],
    answered: Iterable[str],
    folder: str | Path,
    form: str = "csv",
) -> list[Path]:
    """Write what is open, one file per person, in an order shuffled per person.

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
        ``"csv"``, or ``"jsonl"`` with the same fields, one object a line.

    Returns
    -------
    list of Path
        The files, one per person with something open.

    Raises
    ------
    BadInput
        If a file is there already with answers that were not imported yet.
    """
    check_mapping("items", items, "id to item")
    check_names("answered", answered)
    folder, done = Path(folder), set(answered)
    by_person: dict[str, list[Pending]] = defaultdict(list)
    for asked in questions:
        if asked.id not in done:
            by_person[asked.expert].append(asked)
    yes_no = all(isinstance(asked, Question) for asked in questions)
    start, column = ("questions-", "question_id") if yes_no else ("panel-", "assignment_id")
    paths = {name: folder / f"{start}{_file_name(name)}.{form}" for name in by_person}
    _refuse_unread(paths, column, done)
    folder.mkdir(parents=True, exist_ok=True)
    for name, given in by_person.items():
        queue = order_queue(given, derive_seed(given[0].seed, "order", name))
        rows = [_row(asked, items[asked.item_id]) for asked in queue]
        _write_rows(paths[name], list(rows[0]), rows)
    return list(paths.values())


def write_ratings(ratings: Iterable[Rating], path: str | Path) -> Path:
    """Write ratings in the long form ``item, annotator, label`` that the verbs read."""
    path = Path(path)
    _write_rows(path, LONG, [{"item": r.item, "annotator": r.annotator, "label": r.label} for r in ratings])
    return path


def _refuse_unread(paths: Mapping[str, Path], column: str, done: Container[str]) -> None:
    """Refuse to write over files (by person) whose rows were not all read back, or one file twice."""
    if len(set(paths.values())) < len(paths):
        raise BadInput("two people's names make the same file name; rename one")
    for path in paths.values():
        if path.exists() and any(str(row.fields.get(column)) not in done for row in read_rows(path)):
            raise BadInput(f"{path} is there already and may hold answers; import it or move it away first")


def _row(asked: Pending, item: Item) -> dict[str, str]:
    shown = {"text": item.text, "options": " | ".join(item.shown_options)}
    if isinstance(asked, Question):
        question = f"Is the answer: {item.options[asked.option]}?"
        named = {"question_id": asked.id, "expert": asked.expert}
        return {**named, **shown, "question": question, "answer": "", "comment": ""}
    return {"assignment_id": asked.id, "item": item.id, "annotator": asked.annotator, **shown, "label": ""}


def _write_rows(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> None:
    """Write CSV, or JSON Lines by the name's ending, whole or not at all."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8", newline="") as stream:
        if path.suffix == ".jsonl":
            stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        else:
            writer = csv.DictWriter(stream, columns)
            writer.writeheader()
            writer.writerows(rows)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)


def _file_name(expert: str) -> str:
    """What of a name a file name can hold; refused if nothing is left."""
    name = re.sub(r"[^\w.-]+", "_", expert)
    if not name.strip("._"):
        raise DataError(f"the expert's name {expert!r} makes no file name", field="name")
    return name
