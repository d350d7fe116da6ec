"""Experts' verdicts from the files that they filled in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, repeat
from pathlib import Path

from harness import DataError, check_names
from harness.datasets import Portion, are_texts, read_portions
from harness.store import ReplyFields, Response
from harness.types import Answer, Question, Verdict
from protocols.collect.spreadsheets.filled_rows import SOURCE, FilledRow, check_same, fill

_YES_NO = ("question_id", "expert", "answer")
_VERDICTS = {verdict.value: verdict.value for verdict in Verdict}
_SAID = {**_VERDICTS, "": ""}

_FindExperts = Callable[[Sequence[str]], Sequence[str | None]]


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
    filled, bad, found = list[FilledRow](), None, list[ReplyFields]()
    try:
        filled.extend(fill(portion, _YES_NO, "import the files that `label export` wrote"))
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
            check_same(row, "answer", given[name], verdict)
            continue
        given[name] = verdict
        found.append((name, expert, verdict, SOURCE, str(row.fields.get("comment") or "")))
    if bad is not None:
        raise bad
    return found
