"""Questions to spreadsheets, one file per expert, and answers back: no server needed.

The file has the columns ``question_id, expert, text, options, question, answer, comment``. The
expert fills in `answer` with yes, no or unsure (or leaves it empty: not answered yet) and may
write a `comment`. Nothing in it tells the truth, a prediction, or what another expert said.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from harness import BadInput, DataError, derive_seed
from harness.datasets import Row, read_rows
from harness.types import Answer, Item, Question, Verdict

COLUMNS = ("question_id", "expert", "text", "options", "question", "answer", "comment")
SOURCE = "offline"


def export_questions(
    questions: Sequence[Question],
    items: Mapping[str, Item],
    answered: Iterable[str],
    folder: str | Path,
    form: str = "csv",
) -> list[Path]:
    """Write the open questions, one file per expert, in an order shuffled per expert.

    Parameters
    ----------
    questions
        All questions of the study.
    items
        Item id → item.
    answered
        Ids of questions that have an answer already; they are left out.
    folder
        Where the files go; it is made if need be.
    form
        ``"csv"``, or ``"jsonl"`` with the same fields, one object a line.

    Returns
    -------
    list of Path
        The files, one per expert with open questions.

    Raises
    ------
    BadInput
        If a file is there already with questions whose answers were not imported yet.
    """
    folder = Path(folder)
    done = set(answered)
    by_expert: dict[str, list[Question]] = {}
    for question in questions:
        if question.id not in done:
            by_expert.setdefault(question.expert, []).append(question)
    paths = {expert: folder / f"questions-{file_name(expert)}.{form}" for expert in by_expert}
    refuse_unread(paths, "question_id", done)
    folder.mkdir(parents=True, exist_ok=True)
    for expert, asked in by_expert.items():
        rng = np.random.default_rng(derive_seed(asked[0].seed, "order", expert))
        shuffled = [asked[int(j)] for j in rng.permutation(len(asked))]
        write_rows(paths[expert], COLUMNS, [_row(q, items[q.item_id]) for q in shuffled])
    return list(paths.values())


def refuse_unread(paths: Mapping[str, Path], column: str, done: Container[str]) -> None:
    """Refuse to write over files (by person) whose rows were not all read back.

    Raises
    ------
    BadInput
        Naming the file; or two people whose names make the same one.
    """
    if len(set(paths.values())) < len(paths):
        raise BadInput("two people's names make the same file name; rename one")
    for path in paths.values():
        if path.exists() and any(str(row.fields.get(column)) not in done for row in read_rows(path)):
            raise BadInput(f"{path} is there already and may hold answers; import it or move it away first")


def read_answers(paths: Iterable[str | Path], questions: Sequence[Question]) -> list[Answer]:
    """Read filled-in files; rows without an answer are passed over.

    Raises
    ------
    DataError
        Naming file, line and field: a missing column, an answer that is not yes, no, unsure or
        skip, a question that was never asked or was put to another expert, a second answer.
    """
    asked = {question.id: question for question in questions}
    answers: dict[str, Answer] = {}
    for path in paths:
        for row in read_rows(path):
            answer = _answer(row, asked)
            if answer is None:
                continue
            first = answers.setdefault(answer.question.id, answer)
            if first.verdict != answer.verdict:
                raise row.error(
                    "answer", f"second answer {answer.verdict.value!r}; the first was {first.verdict.value!r}"
                )
    return list(answers.values())


def _answer(row: Row, asked: Mapping[str, Question]) -> Answer | None:
    for column in ("question_id", "expert", "answer"):
        if column not in row.fields:
            raise row.error(column, "there is no such column; import the files that `label export` wrote")
    said = str(row.fields["answer"] or "").strip().lower()
    if not said:
        return None
    if said not in set(Verdict):
        raise row.error("answer", f"must be yes, no, unsure or skip, is {row.fields['answer']!r}")
    question = asked.get(str(row.fields["question_id"]))
    if question is None:
        raise row.error("question_id", f"the question {row.fields['question_id']!r} was never asked")
    expert = str(row.fields["expert"])
    if expert != question.expert:
        raise row.error("expert", f"the question was put to {question.expert!r}, not to {expert!r}")
    return Answer(question, expert, Verdict(said), SOURCE, str(row.fields.get("comment") or ""))


def _row(question: Question, item: Item) -> dict[str, str]:
    return {
        "question_id": question.id,
        "expert": question.expert,
        "text": item.text,
        "options": " | ".join(item.shown_options),
        "question": f"Is the answer: {item.options[question.option]}?",
        "answer": "",
        "comment": "",
    }


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[dict[str, str]]) -> None:
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


def file_name(expert: str) -> str:
    """What of a name a file name can hold; refused if nothing is left."""
    name = re.sub(r"[^\w.-]+", "_", expert)
    if not name.strip("._"):
        raise DataError(f"the expert's name {expert!r} makes no file name", field="name")
    return name
