"""Read and check the files that people filled in: experts' verdicts, and annotators' labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, repeat
from pathlib import Path

from oversight.harness import DataError, check_mapping, check_names
from oversight.harness.datasets import (
    BadRows,
    CsvPortion,
    Portion,
    Row,
    RowPortion,
    read_filled_portions,
    split_wide,
)
from oversight.harness.output import did_you_mean, say, shorten, unguard_cell
from oversight.harness.store import ReplyFields, Response, mark_shown
from oversight.harness.types import Answer, Assignment, Choice, Item, Question, Verdict, find_option
from oversight.protocols.collect.spreadsheets.answer_wordings import AnswerWords, make_words
from oversight.protocols.collect.spreadsheets.cells import (
    ASSIGNMENT_PREFIX,
    QUESTION_PREFIX,
    SHOWN,
    ReadCell,
    cell_reader,
    is_same,
    mark_cells,
    read_id,
    write_cells,
    write_checks,
)

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
    """Counts comments that are left out: without an answer, or different from an earlier comment."""

    def __init__(self) -> None:
        self._first = dict[str, int]()
        self._left = self._alone = 0

    def count_alone(self, comments: Iterable[object]) -> None:
        """Count the non-empty ones among these comments, whose rows have no answer."""
        self._alone += sum(bool(str(comment or "").strip()) for comment in comments)

    def record_comments(self, ids: Iterable[str], comments: Iterable[str]) -> None:
        """Record the comments of new answers."""
        self._first.update((i, hash(comment)) for i, comment in zip(ids, comments, strict=False) if comment)

    def compare(self, name: str, comment: str, stored: str | None) -> None:
        """Count a comment as left out if it differs from the `stored` comment on the same question.

        If `stored` is None, the first comment that was read for the question `name` takes its place.
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


class AskedQuestions:
    """Looks up asked questions in memory by id, and computes their exported texts from `items`."""

    def __init__(
        self, questions: Mapping[str, Question], items: Mapping[str, Item], question_text: str | None = None
    ) -> None:
        self._questions, self._items, self._text = questions, items, question_text

    @property
    def key(self) -> int | None:
        """Key of the checksums in exported ids; None if texts are compared instead."""
        return None

    def find_experts(self, ids: Sequence[str]) -> list[str | None]:
        """Return the expert of each question; None if the question was never asked."""
        return [self._questions[i].expert if i in self._questions else None for i in ids]

    def find_marks(self, ids: Sequence[str]) -> list[int | None]:
        """Return the hash of each question's exported texts; None if the question was never asked."""
        cells = self.find_cells(ids)
        return [mark_cells(cells[i]) if cells.get(i) else None for i in ids]

    def find_cells(self, ids: Sequence[str]) -> dict[str, Mapping[str, str]]:
        """Return the exported texts of each asked question among `ids`, as question id → column → text."""
        asked = [self._questions[i] for i in ids if i in self._questions]
        return {
            q.id: write_cells(self._items[q.item_id], q.option, self._text)
            for q in asked
            if q.item_id in self._items
        }

    def find_said(self, ids: Sequence[str]) -> dict[str, Response]:  # noqa: ARG002  nothing is stored
        """Return the stored answers of these questions, by id; questions without an answer are left out."""
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
    read = VerdictFiles(paths, AskedQuestions(known, items or {}, question_text), words)
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
        asked: AskedQuestions,
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


def read_panel(
    paths: Iterable[str | Path],
    assignments: Sequence[Assignment],
    items: Mapping[str, Item],
    skipped: BadRows | None = None,
    stored: Mapping[str, str] | None = None,
    *,
    changes: bool = False,
) -> list[Choice]:
    """Read filled-in files, or files with the columns ``item, annotator, label``; skip empty labels.

    A file with the column ``item``, but without ``assignment_id``, ``annotator`` and ``label``, has one row
    per item and one column per annotator.

    If an assignment has the same label twice, it counts once. Two different labels are an error.

    Parameters
    ----------
    paths
        CSV, JSON Lines or Excel files.
    assignments
        All assignments of the panel.
    items
        Item id → item.
    skipped
        Records bad rows, which are then left out. If an assignment has two different labels, both are left
        out. If None, any bad row is an error.
    stored
        Assignment → stored label, from which labels must not differ; None skips this check.
    changes
        Whether the word `WITHDRAWN` withdraws a stored label. If the item has an option of this name, the
        word is read as the option.

    Raises
    ------
    DataError
        If an assignment does not exist, belongs to another annotator or was edited; if a label is not an
        option of the item, or a second label differs; or if a column is missing. The message names file, line
        and field of every bad row.
    """
    reader = _PanelReader(assignments, items, WrongRows(skipped), stored or {}, changes)
    try:
        for path in paths:
            read = cell_reader(path)
            for portion in read_filled_portions(path, LONG):
                long = reader.split_wide(portion)
                needed = f"the file needs the columns {', '.join(LONG)}"
                for filled in fill(long, LONG, needed, reader.wrong.add):
                    reader.add(filled, read)
    except DataError as error:
        reader.wrong.raise_with(error, len(reader.choices))
    reader.wrong.close(len(reader.choices))
    return [choice for name, choice in reader.choices.items() if name not in reader.contradicted]


class _PanelReader:
    def __init__(
        self,
        assignments: Sequence[Assignment],
        items: Mapping[str, Item],
        wrong: WrongRows,
        stored: Mapping[str, str],
        changes: bool,  # noqa: FBT001  private
    ) -> None:
        self._stored, self._changes = stored, changes
        self._known = {a.id: a for a in assignments}
        self._by_pair = {(a.item_id, a.annotator): a for a in assignments}
        self._items, self.wrong = items, wrong
        self.choices, self.contradicted = dict[str, Choice](), set[str]()

    def split_wide(self, portion: Portion) -> Portion:
        """Convert a portion with one row per item to one row per rating; return other portions unchanged.

        Raises
        ------
        DataError
            If a column is not named after an annotator.
        """
        first = next((row for row in portion.attempts() if isinstance(row, Row)), None)
        long = {"assignment_id", "annotator", "label"}
        if first is None or "item" not in first.fields or long & first.fields.keys():
            return portion
        people = dict.fromkeys(a.annotator for a in self._known.values())
        split = list[Row]()
        for row in portion.attempts():
            if isinstance(row, DataError):
                self.wrong.add(row)
                continue
            other = next((name for name in row.fields if name not in {*people, "item", *SHOWN}), None)
            if other is not None:
                told = f"is not named after an annotator{did_you_mean(other, people)}; the columns must be"
                wide = f"item and one column per annotator ({', '.join(people)})"
                raise row.error(other, f"{told} {', '.join(LONG)}, or {wide}")
            split += split_wide(row, people, "annotator", "label")
        return RowPortion(split)

    def add(self, filled: FilledRow, read: ReadCell) -> None:
        """Add the label of a row, or record the row's error."""
        row, said = filled
        try:
            assignment = self._find_assignment(row, read)
            label = self._find_label(row, said, assignment, read)
            if assignment.id in self._stored:
                check_stored(row, "label", self._stored[assignment.id], label)
            first = self.choices.setdefault(assignment.id, Choice(assignment, label, SOURCE))
            if first.label != label:
                self.contradicted.add(assignment.id)
            check_same(row, "label", first.label, label)
        except DataError as error:
            self.wrong.add(error)

    def _find_label(self, row: Row, said: str, assignment: Assignment, read: ReadCell) -> str:
        item = self._items[assignment.item_id]
        check_shown(row, write_cells(item))
        places = (find_option(item.options, text) for text in dict.fromkeys((said, read(said))))
        place = next((place for place in places if place is not None), None)
        if place is None and self._changes and read(said).strip().casefold() == WITHDRAWN:
            return WITHDRAWN
        if place is None:
            shown = " | ".join(item.shown_options)
            raise row.error("label", f"{said!r} is not an option; options are {shown}")
        return item.options[place]

    def _find_assignment(self, row: Row, read: ReadCell) -> Assignment:
        item, annotator = str(row.fields["item"]), str(row.fields["annotator"])
        if "assignment_id" not in row.fields:
            pairs = ((item, annotator), (read(item.strip()), read(annotator.strip())))
            found = next((self._by_pair[pair] for pair in pairs if pair in self._by_pair), None)
            if found is None:
                raise row.error("annotator", f"the item {item!r} was never given to {annotator!r}")
            return found
        text = str(row.fields["assignment_id"])
        found = self._known.get(read_id(text, ASSIGNMENT_PREFIX))
        if found is None:
            raise unknown_id(row, "assignment_id", f"{text!r} was never assigned")
        check_person(row, "annotator", read, found.annotator, "the item was given")
        return found
