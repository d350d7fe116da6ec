"""Questions to spreadsheets, one file per person, and answers back: no server needed.

For yes/no questions the columns are ``question_id, expert, text, options, question, answer, comment``. The
expert fills in `answer` with yes, no or unsure (or leaves it empty: not answered yet) and may write a
`comment`. For a panel they are ``assignment_id, item, annotator, text, options, label``; the annotator
writes one of the options, in the item's shuffled order, into `label`. Nothing in a file tells the truth, a
prediction, or what another person said.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress, repeat
from pathlib import Path

from harness import BadInput, DataError, check_mapping, check_names, derive_seed
from harness.datasets import Portion, Row, are_texts, read_portions, read_rows
from harness.store import ReplyFields, Response
from harness.types import Answer, Assignment, Choice, Item, Question, Rating, Verdict, find_option
from protocols.routing import Pending, order_queue

LONG = ("item", "annotator", "label")
SOURCE = "offline"
_YES_NO = ("question_id", "expert", "answer")
_VERDICTS = {verdict.value: verdict.value for verdict in Verdict}
_SAID = {**_VERDICTS, "": ""}

_FilledRow = tuple[Row, str]
"""A row and what its last needed column holds."""
_FindExperts = Callable[[Sequence[str]], Sequence[str | None]]


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


def read_answers(paths: Iterable[str | Path], questions: Sequence[Question]) -> list[Answer]:
    """Read filled-in files; rows without an answer are passed over.

    Raises
    ------
    DataError
        Naming file, line and field: a missing column, an answer that is not yes, no, unsure or
        skip, a question that was never asked or was put to another expert, a second answer.
    """
    check_names("paths", paths, "['questions-ana.csv']")
    known = {question.id: question for question in questions}
    read = iterate_replies(paths, lambda ids: [known[i].expert if i in known else None for i in ids])
    replies = (Response(*fields) for portion in read for fields in portion)
    return [Answer(known[r.id], r.expert, Verdict(r.value), r.source, r.comment) for r in replies]


def iterate_replies(paths: Iterable[str | Path], find_experts: _FindExperts) -> Iterator[list[ReplyFields]]:
    """Read the same as the fields of replies, one a question, in portions; errors as of `read_answers`.

    `find_experts` tells whom some questions were put to, None of one that was never asked.
    """
    given: dict[str, str] = {}
    for path in paths:
        for portion in read_portions(path):
            read = _read_columns(portion, given, find_experts)
            yield _read_filled(portion, given, find_experts) if read is None else read


def _read_columns(
    portion: Portion, given: dict[str, str], find_experts: _FindExperts
) -> list[ReplyFields] | None:
    """The replies of a portion that is plainly good; None where a row is to be looked at."""
    columns = portion.columns()
    if columns is None or not columns.keys() >= set(_YES_NO):
        return None
    names, experts, said = (columns[name] for name in _YES_NO)
    comments = columns.get("comment", [""] * len(names))
    if not are_texts(names, experts, said, comments):
        return None
    verdicts = [_SAID.get(text, "?") for text in said]
    if "?" in verdicts:
        verdicts = [_SAID.get(text.strip().lower(), "?") for text in said]
    if "" in verdicts:
        filled = (list(compress(column, verdicts)) for column in (names, experts, comments, verdicts))
        names, experts, comments, verdicts = filled
    values = dict(zip(names, verdicts, strict=True))
    is_good = "?" not in verdicts and find_experts(names) == list(experts)
    if not is_good or len(values) < len(names) or not given.keys().isdisjoint(values):
        return None
    given.update(values)
    return list(zip(names, experts, verdicts, repeat(SOURCE), comments, strict=False))


def _read_filled(portion: Portion, given: dict[str, str], find_experts: _FindExperts) -> list[ReplyFields]:
    """The replies of a portion, row by row; where one cannot be read, those before it come first."""
    filled, bad, found = list[_FilledRow](), None, list[ReplyFields]()
    try:
        filled.extend(_fill(portion, _YES_NO, "import the files that `label export` wrote"))
    except DataError as error:
        bad = error
    asked = find_experts([str(row.fields["question_id"]) for row, _ in filled])
    for (row, said), put_to in zip(filled, asked, strict=True):
        name, expert = str(row.fields["question_id"]), str(row.fields["expert"])
        verdict = _VERDICTS.get(said.lower())
        if verdict is None:
            raise row.error("answer", f"must be yes, no, unsure or skip, is {row.fields['answer']!r}")
        if put_to is None:
            raise row.error("question_id", f"the question {row.fields['question_id']!r} was never asked")
        if expert != put_to:
            raise row.error("expert", f"the question was put to {put_to!r}, not to {expert!r}")
        if name in given:
            _check_same(row, "answer", given[name], verdict)
            continue
        given[name] = verdict
        found.append((name, expert, verdict, SOURCE, str(row.fields.get("comment") or "")))
    if bad is not None:
        raise bad
    return found


def read_panel(
    paths: Iterable[str | Path], assignments: Sequence[Assignment], items: Mapping[str, Item]
) -> list[Choice]:
    """Read filled-in files, or any with the columns ``item, annotator, label``; empty labels are passed over.

    The same file read twice is one rating; two different labels are an error.

    Raises
    ------
    DataError
        Naming file, line and field: a missing column, an assignment that was never made or is
        another annotator's, a label that is no option of the item, a second label.
    """
    known = {a.id: a for a in assignments}
    by_pair = {(a.item_id, a.annotator): a for a in assignments}
    choices: dict[str, Choice] = {}
    rows = chain.from_iterable(map(read_rows, paths))
    for row, said in _fill(rows, LONG, f"needed are {', '.join(LONG)}"):
        assignment = _find_assignment(row, known, by_pair)
        item = items[assignment.item_id]
        place = find_option(item.options, said)
        if place is None:
            shown = " | ".join(item.shown_options)
            raise row.error("label", f"{said!r} is no option; options are {shown}")
        label = item.options[place]
        first = choices.setdefault(assignment.id, Choice(assignment, label, SOURCE))
        _check_same(row, "label", first.label, label)
    return list(choices.values())


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


def _fill(rows: Iterable[Row], columns: Sequence[str], needed: str) -> Iterator[_FilledRow]:
    """Give the rows that have all the columns and something in the last one, and that."""
    for row in rows:
        for column in columns:
            if column not in row.fields:
                raise row.error(column, f"there is no such column; {needed}")
        if said := str(row.fields[columns[-1]] or "").strip():
            yield row, said


def _check_same(row: Row, column: str, first: str, again: str) -> None:
    if first != again:
        raise row.error(column, f"second {column} {again!r}; the first was {first!r}")


def _find_assignment(
    row: Row, known: Mapping[str, Assignment], by_pair: Mapping[tuple[str, str], Assignment]
) -> Assignment:
    item, annotator = str(row.fields["item"]), str(row.fields["annotator"])
    if "assignment_id" not in row.fields:
        found = by_pair.get((item, annotator))
        if found is None:
            raise row.error("annotator", f"the item {item!r} was never given to {annotator!r}")
        return found
    found = known.get(str(row.fields["assignment_id"]))
    if found is None:
        raise row.error("assignment_id", f"{row.fields['assignment_id']!r} was never assigned")
    if annotator != found.annotator:
        raise row.error("annotator", f"the item was given to {found.annotator!r}, not to {annotator!r}")
    return found


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
