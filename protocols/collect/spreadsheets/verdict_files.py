"""Read experts' verdicts from filled-in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, repeat
from pathlib import Path
from typing import Protocol

from oversight.harness import DataError, check_mapping, check_names
from oversight.harness.datasets import BadRows, CsvPortion, Portion, Row, read_filled_portions
from oversight.harness.store import ReplyFields, Response, mark_shown
from oversight.harness.types import Answer, Item, Question, Verdict
from oversight.protocols.collect.spreadsheets.answer_wordings import AnswerWords, make_words
from oversight.protocols.collect.spreadsheets.cells import (
    QUESTION_PREFIX,
    SHOWN,
    ReadCell,
    cell_reader,
    mark_cells,
    read_id,
    write_cells,
    write_checks,
)
from oversight.protocols.collect.spreadsheets.filled_rows import (
    SOURCE,
    Comments,
    WrongRows,
    check_person,
    check_same,
    check_shown,
    check_stored,
    fill,
    unknown_id,
)


class Asked(Protocol):
    """Interface to look up asked questions by id."""

    @property
    def key(self) -> int | None:
        """Key of the checksums in exported ids; None if texts are compared instead."""
        ...

    def find_experts(self, ids: Sequence[str]) -> Sequence[str | None]:
        """Return the expert of each question; None if the question was never asked."""
        ...

    def find_marks(self, ids: Sequence[str]) -> Sequence[int | None]:
        """Return the hash of each question's exported texts; None if the question was never asked."""
        ...

    def find_cells(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """Return the exported texts of each asked question among `ids`, as question id → column → text."""
        ...

    def find_said(self, ids: Sequence[str]) -> Mapping[str, Response]:
        """Return the stored answers of these questions, by id; questions without an answer are left out."""
        ...


@dataclass(frozen=True, slots=True)
class ListedQuestions:
    """Looks up asked questions in memory; computes their exported texts from `items` and `question_text`."""

    questions: Mapping[str, Question]
    items: Mapping[str, Item]
    question_text: str | None = None

    @property
    def key(self) -> None:
        """See `Asked`."""
        return

    def find_experts(self, ids: Sequence[str]) -> list[str | None]:
        """See `Asked`."""
        return [self.questions[i].expert if i in self.questions else None for i in ids]

    def find_marks(self, ids: Sequence[str]) -> list[int | None]:
        """See `Asked`."""
        cells = self.find_cells(ids)
        return [mark_cells(cells[i]) if cells.get(i) else None for i in ids]

    def find_cells(self, ids: Sequence[str]) -> dict[str, Mapping[str, str]]:
        """See `Asked`."""
        asked = [self.questions[i] for i in ids if i in self.questions]
        return {
            q.id: write_cells(self.items[q.item_id], q.option, self.question_text)
            for q in asked
            if q.item_id in self.items
        }

    def find_said(self, ids: Sequence[str]) -> dict[str, Response]:  # noqa: ARG002  nothing is stored
        """See `Asked`."""
        return {}


_YES_NO = ("question_id", "expert", "answer")
WITHDRAWN = "withdraw"
"""Answer with which a later file withdraws an earlier answer."""
_CHECKED = len(QUESTION_PREFIX) + 16 + len("-") + 8
"""Length of an id with a checksum."""
_BARE = slice(len(QUESTION_PREFIX), len(QUESTION_PREFIX) + 16)
_NEEDED = "import the files that `label export` wrote"


def read_answers(
    paths: Iterable[str | Path],
    questions: Sequence[Question],
    items: Mapping[str, Item] | None = None,
    words: AnswerWords | None = None,
    question_text: str | None = None,
) -> list[Answer]:
    """Read filled-in files; skip rows without an answer.

    Parameters
    ----------
    paths
        CSV, JSON Lines or Excel files.
    questions
        All questions of the study.
    items
        Item id → item, to reject rows with another text; None skips this check.
    words
        Meanings of the words in answers; None for the words of `make_words`.
    question_text
        The question text with which the files were exported; None for the English default.

    Raises
    ------
    DataError
        If an answer is not a known word or is repeated with another value; if a question was never asked,
        belongs to another expert or was edited; or if a column is missing. The message names file, line and
        field of every bad row.
    """
    check_names("paths", paths, "['questions-ana.csv']")
    check_mapping("items", items or {}, "id to item")
    known = {question.id: question for question in questions}
    read = VerdictFiles(paths, ListedQuestions(known, items or {}, question_text), words)
    replies = (Response(*fields) for portion in read for fields in portion)
    return [Answer(known[r.id], r.expert, Verdict(r.value), r.source, r.comment) for r in replies]


class VerdictFiles:
    """Reads filled-in files once, and yields the fields of replies in portions, one reply per question.

    The errors are the same as in `read_answers`; they are raised after the last file.

    Parameters
    ----------
    paths
        The files.
    asked
        The asked questions.
    words
        Meanings of the words in answers; None for the words of `make_words`.
    skipped
        Records bad rows, which are then left out. If None, any bad row is an error.
    changes
        Whether to accept answers that differ from the stored answers, and the word `WITHDRAWN`.

    Attributes
    ----------
    good
        Number of replies so far, without those that `leave_contradicted` leaves out.
    """

    def __init__(
        self,
        paths: Iterable[str | Path],
        asked: Asked,
        words: AnswerWords | None = None,
        skipped: BadRows | None = None,
        *,
        changes: bool = False,
    ) -> None:
        self._paths, self._asked = paths, asked
        self._words, self._changes = words or make_words(), changes
        if changes:
            self._words = AnswerWords({**self._words.meanings, WITHDRAWN: WITHDRAWN})
        self._wrong = WrongRows(skipped)
        self._given = dict[str, str]()
        self._contradicted = set[str]()
        self._told, self._comments = False, Comments()

    @property
    def good(self) -> int:
        """Number of replies so far."""
        return len(self._given) - len(self._contradicted)

    def __iter__(self) -> Iterator[list[ReplyFields]]:
        try:
            for path in self._paths:
                for portion in read_filled_portions(path, _YES_NO):
                    read = self._read_columns(portion)
                    yield self._read_filled(portion, path) if read is None else read
        except DataError as error:
            self._wrong.raise_with(error, self.good)
        self._wrong.close(self.good)
        self._comments.report_left_out()

    def leave_contradicted(self, portions: Iterable[list[ReplyFields]]) -> Iterator[list[ReplyFields]]:
        """Yield all replies except those to questions with two different answers."""
        for portion in portions:
            yield [r for r in portion if r[0] not in self._contradicted] if self._contradicted else portion

    def _read_columns(self, portion: Portion) -> list[ReplyFields] | None:
        """Return a portion's replies if all rows are valid; None if a row needs a closer check."""
        columns = portion.columns() if isinstance(portion, CsvPortion) else None
        if columns is None or not columns.keys() >= set(_YES_NO):
            return None
        shown: list[Sequence[str]] = [columns[name] for name in SHOWN if name in columns]
        names, experts, said = (columns[name] for name in _YES_NO)
        comments = columns.get("comment", [""] * len(names))
        if len(shown) not in (0, len(SHOWN)):
            return None
        if any("\r" in text or "_x" in text or text[:1] == "'" for text in set(comments)):
            return None
        meanings = self._words.meanings
        verdicts = [meanings.get(text, "?") for text in said]
        if "?" in verdicts:
            verdicts = [meanings.get(text.strip().lower(), "?") for text in said]
        alone = list[str]()
        if "" in verdicts:
            alone = [comment for comment, verdict in zip(comments, verdicts, strict=False) if not verdict]
            names, experts, comments = (list(compress(c, verdicts)) for c in (names, experts, comments))
            shown = [list(compress(column, verdicts)) for column in shown]
            verdicts = list(filter(None, verdicts))
        is_checked = bool(shown) and self._is_checked(names, shown)
        names = (
            [name[_BARE] for name in names] if is_checked else [read_id(i, QUESTION_PREFIX) for i in names]
        )
        values = dict(zip(names, verdicts, strict=True))
        is_good = "?" not in verdicts and self._asked.find_experts(names) == list(experts)
        if not is_good or len(values) < len(names) or not self._given.keys().isdisjoint(values):
            return None
        stored = self._asked.find_said(names)
        is_new = self._changes or all(values[name] == reply.value for name, reply in stored.items())
        if not is_new or (shown and not is_checked and self._asked.find_marks(names) != mark_shown(*shown)):
            return None
        self._note_comments(names, comments, stored)
        self._comments.count_alone(alone)
        self._given.update(values)
        return list(zip(names, experts, verdicts, repeat(SOURCE), comments, strict=False))

    def _note_comments(
        self, names: Sequence[str], comments: Sequence[str], stored: Mapping[str, Response]
    ) -> None:
        self._comments.record_comments(names, comments)
        if stored:
            for name, comment in zip(names, comments, strict=False):
                if name in stored:
                    self._comments.compare(name, comment, stored[name].comment)

    def _is_checked(self, names: Sequence[str], shown: Sequence[Sequence[str]]) -> bool:
        """Whether the checksums in the ids show that no row was changed."""
        if set(map(len, names)) != {_CHECKED} or self._asked.key is None:
            return False
        return "".join([name[-8:] for name in names]) == write_checks(shown, self._asked.key)

    def _read_filled(self, portion: Portion, path: str | Path) -> list[ReplyFields]:
        """Return the replies of a portion, checking it row by row."""
        wrong = list[DataError]()
        alone = list[Row]()
        filled = list(fill(portion, _YES_NO, _NEEDED, wrong.append, alone.append))
        self._comments.count_alone(row.fields.get("comment") for row in alone)
        ids = [read_id(str(row.fields["question_id"]), QUESTION_PREFIX) for row, _ in filled]
        experts = dict(zip(ids, self._asked.find_experts(ids), strict=True))
        cells, read, stored = self._asked.find_cells(ids), cell_reader(path), self._asked.find_said(ids)
        found = list[ReplyFields]()
        for name, (row, said) in zip(ids, filled, strict=True):
            try:
                verdict = self._read_verdict(row, said)
                expert = self._check_asked(row, experts[name], read)
                check_shown(row, cells.get(name, {}))
                comment = read(str(row.fields.get("comment") or ""))
                if name in self._given:
                    self._check_again(row, name, verdict)
                    self._comments.compare(name, comment, None)
                    continue
                if name in stored and not self._changes:
                    check_stored(row, "answer", stored[name].value, verdict)
            except DataError as error:
                wrong.append(error)
                continue
            self._given[name] = verdict
            self._note_comments([name], [comment], stored)
            found.append((name, expert, verdict, SOURCE, comment))
        for each in sorted(wrong, key=lambda error: error.line or 0):
            self._wrong.add(each)
        return found

    @staticmethod
    def _check_asked(row: Row, expert: str | None, read: ReadCell) -> str:
        """Check that the row names the expert who was asked the question. Returns this expert."""
        if expert is None:
            raise unknown_id(
                row, "question_id", f"the question {row.fields['question_id']!r} was never asked"
            )
        check_person(row, "expert", read, expert, "the question was put")
        return expert

    def _read_verdict(self, row: Row, said: str) -> str:
        verdict = self._words.read_verdict(said)
        if verdict:
            return verdict
        known = "" if self._told else f"; known words: {self._words.list_words()}"
        self._told = True
        raise row.error("answer", f"must be yes, no, unsure or skip, is {row.fields['answer']!r}{known}")

    def _check_again(self, row: Row, name: str, verdict: str) -> None:
        """Raise an error for a second, different answer, because it is unknown which one is right."""
        if self._given[name] != verdict:
            self._contradicted.add(name)
        check_same(row, "answer", self._given[name], verdict)
