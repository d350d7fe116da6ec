"""Import answers of other programs, write items files from logs, and export all answers."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from oversight.harness.analysis.inputs import read_new_items, read_stored_items, store_items
from oversight.harness.analysis.new_study import names_truth
from oversight.harness.config import RunSpec, Study
from oversight.harness.datasets import (
    TextCheck,
    format_of,
    how_log_ended,
    iterate_foreign,
    no_file,
    pause_collector,
    read_ahead,
    write_predictions,
)
from oversight.harness.errors import BadInput, DataError
from oversight.harness.llm import (
    UNKNOWN_LETTER,
    Notation,
    ReplyForm,
    Step,
    read_foreign_option,
    read_named_options,
    refuse_stranger,
)
from oversight.harness.output import shorten
from oversight.harness.platform import write_whole
from oversight.harness.store import ImportedFields, Store, refuse_mark
from oversight.harness.types import ForeignAnswer, Item, PredictionStatus, fold_text

_SHOWN = 3
"""Number of items that an error names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """Result of importing a log.

    Attributes
    ----------
    run
        Id of the run that contains the answers.
    replaces
        Id of the model's previous run, whose answers remain stored but are no longer used; empty if none
        exists.
    answers
        Number of answers in the log. An item's answers are combined into one prediction by a vote.
    items
        Number of the study's items with a prediction.
    missing
        Number of the study's items without a prediction.
    by_status
        Number of predictions of each status.
    errors, error
        Number of the log's answers that ended with an error, and the first of these errors.
    unknown_letters
        Number of the log's answers that are unreadable because they name an option by a letter or number, and
        the log does not say which option this denotes.
    ended
        Status of an inspect-ai run that did not finish: ``error``, ``cancelled`` or ``started``. Empty if the
        run finished, or if another program made the log.
    left_out
        Reason → number of the log's samples that were skipped because they are not separate answers.
    checked, unchecked
        Number of the log's texts that were compared with the items' texts, and number that could not be
        compared.
    read_by
        Step that read an answer → number of answers, see `oversight.harness.llm.reading.reply_reader.Step`.
    unread
        Columns of the table that were not read.
    """

    run: str
    replaces: str
    answers: int
    items: int
    missing: int
    by_status: Mapping[PredictionStatus, int]
    errors: int
    error: str
    unknown_letters: int
    ended: str
    left_out: Mapping[str, int]
    checked: int
    unchecked: int
    read_by: Mapping[str, int]
    unread: Sequence[str]


def import_predictions(study: Study, file: str, model: str, kind: str | None = None) -> ImportedRun:
    """Store all answers of a log as a model's answers, or none if one is invalid.

    Importing the same log again has no effect. If the log has the metadata column that ``[estimate] strata``
    names, its values are stored for the items that lack this column.

    Raises
    ------
    DataError
        If a field cannot be read, an answer is about no item of the study, the text of an item differs
        between log and study, or an item has two strata in the log. Also if no answer is readable, because
        letters are unknown or no ``prediction`` of a table names an option. The message names file, line and
        field.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> imported = import_predictions(read_study("study.toml"), "quick.csv", "again")
    >>> imported.answers, imported.missing
    (54, 0)
    """
    refuse_mark(study.store_url)
    kind = kind or format_of(file)
    spec = _describe_log(file, model, kind)
    run, items = spec.id, read_new_items(study)
    with (
        pause_collector(),
        Store(study.store_url) as store,
        # Take over a lock of another machine, because it does no harm to import a log twice at the same time.
        store.locks.hold({run: model}, take_over=True),
    ):
        asked = ReplyForm(pattern=study.prompt.pattern)
        left_out, runs, content = Counter[str](), store.runs, store.content
        texts = TextCheck(lambda: {item.id: item.text for item in content.read_items()})
        read = iterate_foreign(file, kind, model, left_out)
        strata = _LogStrata(study.estimate.strata, file)
        named_by: Notation | None = "option" if kind == "table" else None
        found = partial(_match, store, read, file, texts, asked, named_by, strata)
        # New items are stored before answers are matched to them; on failure, the transaction removes them.
        known = None if items else read_stored_items(study, store)
        ahead = None if known is None else read_ahead(found(set(known)))
        counts, most = Counter[str](), 0
        with store.together(exclusive=True):
            ids = known if known is not None else store_items(study, store, items)
            replaced = runs.add_run(spec)
            for predictions in found(set(ids)) if ahead is None else ahead:
                runs.store_imported(run, predictions)
                counts.update([status for _, _, status, *_ in predictions])
                most = max(most, *[sample for _, _, _, _, sample, *_ in predictions])
            strata.add_to(store)
        answers, failed = counts.total(), PredictionStatus.FAILED
        if twice := answers - runs.count_predictions(run):
            left_out["earlier answer to an item with the same text"] = twice
        if most or twice:  # several answers to one item
            by_status = runs.count_statuses(run)
        else:
            by_status = {status: counts[status] for status in PredictionStatus}
        told = runs.count_reasons(run) if counts[failed] or counts[PredictionStatus.UNREADABLE] else []
        read_by = runs.count_steps(run)
        reasons = [(reason, n) for status, reason, n in told if status == failed]
    n = sum(by_status.values())
    return ImportedRun(
        run=run,
        replaces=replaced,
        answers=answers,
        items=n,
        missing=len(ids) - n,
        by_status=by_status,
        errors=sum(n for _, n in reasons),
        error=next((reason.removeprefix("import: ") for reason, _ in reasons), ""),
        unknown_letters=sum(n for _, reason, n in told if reason == UNKNOWN_LETTER),
        ended=how_log_ended(file) if kind == "inspect" else "",
        left_out=left_out,
        checked=texts.checked,
        # Another tool's log should contain the items' texts. If it does not, all its answers are unchecked.
        unchecked=answers if kind != "table" and not texts.checked else texts.unchecked,
        read_by=read_by,
        unread=sorted(strata.others) if kind == "table" else (),
    )


class _LogStrata:
    """Collects each item's value in the metadata column `column` of a log, and the names of other columns."""

    def __init__(self, column: str | None, file: str) -> None:
        self._column, self._file = column or "", file
        self._found: dict[str, str] = {}
        self.others: set[str] = set()

    def note(self, answers: Sequence[ForeignAnswer], predictions: Sequence[ImportedFields]) -> None:
        """Record the strata column's value for the item of each answer.

        Raises `DataError` if an item has two different values.
        """
        column = self._column
        for answer in answers[:1]:
            self.others |= answer.meta.keys() - {column}
        for answer, (item, *_) in zip(answers, predictions, strict=True) if column else ():
            if column in answer.meta:
                value = str(answer.meta[column])
                if (first := self._found.setdefault(item, value)) != value:
                    told = f"the item {item!r} has {shorten(value)} here, and {shorten(first)} before"
                    raise DataError(told, file=self._file, line=answer.line, field=column)

    def add_to(self, store: Store) -> None:
        """Add the strata column to those stored items that do not have it."""
        items = store.content.find_items(self._found)
        store.content.add_items(replace(i, meta={self._column: self._found[i.id]}) for i in items.values())


def _describe_log(file: str, model: str, kind: str) -> RunSpec:
    """Return the spec of a run whose answers come from a log."""
    path = Path(file)
    if not path.is_file():
        raise no_file(path)
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return RunSpec(
        name=model,
        model=model,
        endpoint=f"import {kind}",
        temperature=None,
        max_tokens=None,
        stop=(),
        template=f"{path.name} {digest[:12]}",
        max_words=None,
    )


def _match(
    store: Store,
    answers: Iterable[list[ForeignAnswer]],
    file: str,
    texts: TextCheck,
    asked: ReplyForm,
    named_by: Notation | None,
    strata: _LogStrata,
    ids: Set[str],
) -> Iterator[list[ImportedFields]]:
    """Yield predictions for the study's items in batches, and compare the log's texts with the items."""
    by_text = _ItemsByText(store, ids, file)
    classes = store.columns.read_classes()
    is_any_read, misfits = False, list[DataError]()  # why answers are unreadable if the model is not to blame

    def match(answer: ForeignAnswer, offered: tuple[str, ...] | None) -> ImportedFields:
        name = answer.id
        if offered is None:
            item = by_text.find(answer)
            name, offered = item.id, item.options
            texts.checked += 1
        option, status, reason, step = read_foreign_option(answer, name, offered, file, asked, named_by)
        if status is PredictionStatus.UNREADABLE and not misfits:
            misfits.extend(_explain_misfit(answer, offered, reason, file, named_by))
        used = (answer.input_tokens, answer.output_tokens, answer.seconds)
        sure = None if option is None else answer.confidence
        return name, option, status.value, reason, answer.sample, answer.raw, *used, sure, step

    for portion in answers:
        _compare_texts(store, portion, ids, texts)
        rows = _match_named(portion, classes, ids, named_by)
        left = [answer for answer, row in zip(portion, rows, strict=True) if row is None]
        known = [answer.id for answer in left if answer.id in ids]
        options = dict.fromkeys(known, classes) if classes else store.content.find_options(known)
        try:
            matched = iter([match(answer, options.get(answer.id)) for answer in left])
        except DataError:
            # The log may be about other questions, which `refuse` reports; if not, raise the original error.
            texts.refuse(file)
            raise
        found_rows = [row or next(matched) for row in rows]
        strata.note(portion, found_rows)
        is_any_read = is_any_read or any(option is not None for _, option, *_ in found_rows)
        yield found_rows
    texts.refuse(file)
    if misfits and not is_any_read:
        raise misfits[0]


def _explain_misfit(
    answer: ForeignAnswer, options: Sequence[str], reason: str, file: str, named_by: Notation | None
) -> Iterator[DataError]:
    """Yield an error if an answer is unreadable although the model may have named an option."""
    said = shorten(answer.answer or answer.raw)
    if reason == UNKNOWN_LETTER:
        told = f"{said} names an option by its label, but the log does not say which option the label denotes"
        told += "; no other answer is readable, so nothing was imported. Import a table with the columns id "
        told += "and prediction, which contains the options' texts"
        yield DataError(told, file=file, line=answer.line)
    elif named_by == "option" and answer.answer == answer.raw and answer.raw and not answer.status:
        told = f"{said} is not one of the item's options, {', '.join(map(repr, options))}; the table's other "
        told += "predictions name no option either, so nothing was imported. If the column contains replies, "
        told += "rename it to raw; if no reply was readable, leave it empty"
        yield DataError(told, file=file, line=answer.line, field="prediction")


class _ItemsByText:
    """Index from text to a study's items; it is built when the first text is looked up."""

    def __init__(self, store: Store, ids: Set[str], file: str) -> None:
        self._store, self._ids, self._file = store, ids, file

    @cached_property
    def _items(self) -> dict[str, list[Item]]:
        found = defaultdict[str, list[Item]](list)
        for item in self._store.content.read_items():
            if item.id in self._ids:
                found[fold_text(item.text)].append(item)
        return found

    def find(self, answer: ForeignAnswer) -> Item:
        """Return the item that an answer is about: the one with the answer's text, ignoring case and spaces.

        If several items have this text, those with the answer's options are preferred, then those with
        exactly the same text. Raises `DataError` if no item or several items are left.
        """
        items = self._items.get(fold_text(answer.text), [])
        if answer.options and len(items) > 1:
            options = sorted(map(fold_text, answer.options))
            items = [i for i in items if sorted(map(fold_text, i.options)) == options] or items
        items = [i for i in items if i.text.strip() == answer.text.strip()] or items
        if not items:
            raise refuse_stranger(answer, self._file)
        if len(items) > 1:
            ids = ", ".join(repr(item.id) for item in items[:_SHOWN]) + (", …" if len(items) > _SHOWN else "")
            told = f"{len(items)} items have this text ({ids}); name the item by its id in the column id"
            raise DataError(told, file=self._file, line=answer.line, field="text")
        return items[0]


def _compare_texts(store: Store, portion: Sequence[ForeignAnswer], ids: Set[str], texts: TextCheck) -> None:
    """Compare each text in the log, if it has texts, with the text of the item with the same id."""
    has_texts = any(answer.text for answer in portion)
    told = [answer for answer in portion if answer.id in ids] if has_texts else []
    items = store.content.find_items({answer.id for answer in told}) if told else {}
    for answer in told:
        texts.compare(answer.line, answer.id, items[answer.id].text, answer.text, answer.shown)


def _match_named(
    portion: Sequence[ForeignAnswer],
    classes: tuple[str, ...] | None,
    ids: Set[str],
    named_by: Notation | None,
) -> list[ImportedFields | None]:
    """Return a prediction for each answer that is exactly the name of a class; None for the other answers."""
    _, names, asked, offered, said, raw, errors, _, samples, *used, _, statuses, _, _, _, _, prompts, _, _ = (
        zip(*portion, strict=True)
    )
    is_plain = classes and ids >= set(names) and not (any(offered) or any(errors) or any(statuses))
    # a prompt can list the options in another order than the study
    by_letter = named_by == "option" and not (any(asked) or any(prompts))
    named = read_named_options(said, classes, named_by, by_letter=by_letter) if classes and is_plain else {}
    ok, step = PredictionStatus.OK.value, Step.LOG.value
    known = (names, map(named.get, said), repeat(ok), repeat(""), samples, raw, *used, repeat(step))
    rows = zip(*known, strict=False)
    return [None if row[1] is None else row for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogItems:
    """Number of items written, number of the log's answers, and number of left-out samples by reason."""

    items: int
    answers: int
    left_out: Mapping[str, int]


def write_log_items(file: str, out: str | Path, kind: str | None = None) -> LogItems:
    """Write an items file from a log of model answers.

    Metadata fields become columns, except fields such as ``gold``, whose name suggests the true option.

    Raises
    ------
    BadInput
        If the output file exists.
    DataError
        If a sample lacks text or options, or an id has two texts; the message names file, line and field.
    """
    left_out = Counter[str]()
    answers = list(chain.from_iterable(iterate_foreign(file, kind or format_of(file), None, left_out)))
    if Path(out).exists():
        raise BadInput(f"{out} exists already; give another name")
    records: dict[str, dict[str, Any]] = {}
    has_options = any(answer.options for answer in answers)
    for answer in answers:
        record = _make_record(answer, file, has_options=has_options)
        known = records.setdefault(answer.id, record)
        if known["text"] != record["text"]:
            told = f"the id {answer.id!r} occurred before with another text: {shorten(known['text'])}"
            raise DataError(told, file=file, line=answer.line, field="text")
    columns = dict.fromkeys(name for record in records.values() for name in record)
    lines = (
        json.dumps({name: record.get(name, "") for name in columns}, ensure_ascii=False)
        for record in records.values()
    )
    write_whole("\n".join(lines) + "\n", out, mode=0o666)
    return LogItems(items=len(records), answers=len(answers), left_out=left_out)


def _make_record(answer: ForeignAnswer, file: str, *, has_options: bool) -> dict[str, Any]:
    """Convert a sample to an item; raises `DataError` if text or options are missing in the log."""
    if answer.gap:
        raise DataError(answer.gap, file=file, line=answer.line, field="text")
    record: dict[str, Any] = {"id": answer.id, "text": answer.text}
    record |= {"options": list(answer.options)} if has_options else {}
    for field, value in record.items():
        if not value:
            told = f"this sample has no {field}, which every item needs; write the items file yourself"
            raise DataError(told, file=file, line=answer.line, field=field)
    more = {name: value for name, value in answer.meta.items() if not names_truth(name, own=has_options)}
    return record | more | record


def export_predictions(study: Study, file: str) -> int:
    """Write all answers of all runs; the file's ending selects the format. Returns the number of answers.

    Raises
    ------
    BadInput
        If no model was run yet, or the file's ending is unknown.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> export_predictions(read_study("study.toml"), "exported.csv")
    108
    """
    with Store(study.store_url) as store:
        runs = store.runs.read_runs()
        if not runs:
            raise BadInput("no model was run yet; see: oversight run --help")
        return write_predictions(file, _rows(store, runs, store.content.read_items()))


def _rows(store: Store, runs: Sequence[dict[str, Any]], items: Sequence[Item]) -> Iterator[dict[str, Any]]:
    options = {item.id: item.options for item in items}
    for run in runs:
        for p in store.runs.read_samples(run["id"]):
            yield {
                "model": run["name"],
                "run": run["id"],
                "option_text": None if p.option is None else options[p.item_id][p.option],
                **asdict(p),
            }
