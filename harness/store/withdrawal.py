"""SQL of withdrawals: removing an item, its answers, its texts, or a person.

Rows are removed or changed permanently. The audit trail stays verifiable: new events record the withdrawal,
and earlier events with erased content are redacted, see `AuditRepository.redact`.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from oversight.harness.store.audit.audit_trail import AuditRepository, append_events
from oversight.harness.store.audit.design_rows import REPLIES, BatchDigest, DesignRepository
from oversight.harness.store.calls.call_repository import book
from oversight.harness.store.database import Repository
from oversight.harness.store.engines.retrying import ATTEMPT, RetryingConnection
from oversight.harness.store.full_text.full_text_index import clear_words
from oversight.harness.store.runs import ERASED
from oversight.harness.store.serialization import describe_failure, name_today
from oversight.harness.store.tables.insertion import count_rows, execute_many
from oversight.harness.store.tables.study_tables import (
    ABSENCE,
    ASSIGNMENT,
    CALL,
    CANDIDATE_ANSWER,
    CONTROL,
    EVENT,
    HANDOVER,
    ITEM,
    ITEM_SOURCE,
    LEDGER,
    LINK,
    PREDICTION,
    QUARANTINE,
    QUESTION,
    QUEUE,
    REVISION,
    RUN,
    RUN_COLUMNS,
    SEARCH,
    TASK,
    UNIT_DRAW,
    AuditEvent,
    AuditRecord,
)
from oversight.harness.store.tables.table_maker import METADATA
from oversight.harness.types import Item, Usage

_REPLIES = tuple(REPLIES.values())
_ASKED = (QUESTION, CONTROL, ASSIGNMENT)
_OF_PEOPLE: tuple[tuple[sa.Table, str], ...] = (
    (QUESTION, "expert"),
    (CONTROL, "expert"),
    (ASSIGNMENT, "annotator"),
    *((table, "expert") for table, _, _ in _REPLIES),
    (HANDOVER, "giver"),
    (HANDOVER, "taker"),
    (TASK, "expert"),
    (REVISION, "expert"),
    (QUARANTINE, "expert"),
    (UNIT_DRAW, "expert"),
)
"""Tables and columns with a person's name; if it is erased, a pseudonym replaces it and the rows remain."""
_OF_PERSON_ALONE: tuple[tuple[sa.Table, str], ...] = (
    (ABSENCE, "expert"),
    (LINK, "expert"),
    (QUEUE, "expert"),
)
_SECRET = {"token_digest", "session_digest"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """Answers and predictions that were removed when an item was removed or corrected.

    Attributes
    ----------
    questions
        Ids of the questions and assignments about the item.
    answers
        Removed answers; each maps column name to value.
    predictions, candidate_answers
        Number of removed predictions, and of removed answers of the candidates of searches.
    """

    questions: Sequence[str]
    answers: Sequence[Mapping[str, Any]]
    predictions: int
    candidate_answers: int


class WithdrawalRepository(Repository):
    """Removes items and people; call its methods inside `Store.together(exclusive=True)`."""

    def read_removed(self) -> set[str]:
        """Return the ids of removed items."""
        query = sa.select(EVENT.c.asked_id).where(EVENT.c.kind == "item_removed")
        return {name for (name,) in self._database.read_tuples(query)}

    def remove_item(self, item_id: str) -> Withdrawn:
        """Remove an item with its questions, answers and predictions, but keep the predictions' usage."""
        with self._database.transaction(exclusive=True) as connection:
            done = self._take_back(connection, item_id)
            for table in reversed(METADATA.sorted_tables):
                if "item_id" in table.c:
                    connection.execute(sa.delete(table).where(_is_about(table, item_id)))
            place = connection.execute(sa.select(ITEM.c.position).where(ITEM.c.id == item_id)).scalar_one()
            connection.execute(sa.delete(ITEM).where(ITEM.c.id == item_id))
            # Positions must have no gaps, because they are indices of arrays.
            moved = sa.update(ITEM).where(ITEM.c.position > place)
            connection.execute(moved.values(position=ITEM.c.position - 1))
            self._forget_derived(connection)
        return done

    def correct_item(self, item: Item, *, ask_again: bool) -> Withdrawn:
        """Store an item's new text and options; with `ask_again`, also remove its answers and predictions."""
        with self._database.transaction(exclusive=True) as connection:
            asked = self._find_asked(connection, item.id)
            done = Withdrawn(questions=asked, answers=(), predictions=0, candidate_answers=0)
            if ask_again:
                done = self._take_back(connection, item.id)
                for table in reversed(METADATA.sorted_tables):
                    if "item_id" in table.c and ("run_id" in table.c or table is CANDIDATE_ANSWER):
                        connection.execute(sa.delete(table).where(table.c.item_id == item.id))
            open_now = set(asked) - self._find_answered(connection, asked)
            self._leave_queues(connection, open_now)
            values = {name: getattr(item, name) for name in ("text", "options", "permutation", "meta")}
            connection.execute(sa.update(ITEM).where(ITEM.c.id == item.id).values(values))
            self._forget_derived(connection)
        return done

    def _take_back(self, connection: sa.Connection, item_id: str) -> Withdrawn:
        asked = self._find_asked(connection, item_id)
        answers = self._delete_answers(connection, lambda t, name: self._database.among(t.c[name], asked))
        self._leave_queues(connection, asked)
        _charge_reserved(connection, item_id)
        return Withdrawn(
            questions=asked,
            answers=answers,
            predictions=_charge_predictions(connection, item_id),
            candidate_answers=count_rows(connection, CANDIDATE_ANSWER, CANDIDATE_ANSWER.c.item_id == item_id),
        )

    def _find_asked(self, connection: sa.Connection, item_id: str) -> list[str]:
        found = list[str]()
        for table in _ASKED:
            found += connection.execute(sa.select(table.c.id).where(_is_about(table, item_id))).scalars()
        return sorted(found)

    def _find_answered(self, connection: sa.Connection, asked: Collection[str]) -> set[str]:
        found = set[str]()
        for table, name, _ in _REPLIES:
            query = sa.select(table.c[name]).where(self._database.among(table.c[name], asked))
            found.update(connection.execute(query).scalars())
        return found

    def _delete_answers(
        self, connection: sa.Connection, where: Callable[[sa.Table, str], sa.ColumnElement[bool]]
    ) -> list[dict[str, Any]]:
        """Delete answers and add one audit event per answer. Returns the deleted rows."""
        gone = list[dict[str, Any]]()
        for table, name, value in _REPLIES:
            columns = (table.c[name].label("id"), table.c[value].label("value"))
            query = sa.select(*columns, table.c.expert, table.c.source, table.c.comment)
            rows = connection.execute(query.where(where(table, name)).order_by(table.c.position))
            gone += [dict(zip(row._fields, row, strict=True)) for row in rows]
            connection.execute(sa.delete(table).where(where(table, name)))
        events = [
            AuditEvent(kind="withdrawn", way=row["source"], person=row["expert"], asked_id=row["id"])
            for row in gone
        ]
        append_events(connection, events)
        return gone

    def _leave_queues(self, connection: sa.Connection, asked: Collection[str]) -> None:
        """Delete questions from the stored queues.

        The next push removes the tasks of these questions from the labelling server.
        """
        for table in (TASK, QUARANTINE):
            there = self._database.among(table.c.question_id, asked)
            connection.execute(sa.delete(table).where(there))

    def _forget_derived(self, connection: sa.Connection) -> None:
        """Remove cached data that are derived from items: full-text index, run columns, item sources."""
        clear_words(connection)
        connection.execute(sa.delete(RUN_COLUMNS))
        connection.execute(sa.delete(ITEM_SOURCE))

    def erase_revisions(self, asked: Collection[str]) -> None:
        """Erase the content of annotations about these questions."""
        there = self._database.among(REVISION.c.question_id, asked)
        self._database.write_rows(sa.update(REVISION).where(there).values(result=[]), [{}])

    def find_records(self, told: Callable[[AuditRecord], bool]) -> list[AuditRecord]:
        """Return the audit events for which the function `told` returns True."""
        return [record for record in AuditRepository(self._database).read_records() if told(record)]

    def reseal_batches(self) -> list[AuditRecord]:
        """Return new versions of the ``batch`` events whose digest no longer fits the stored answers.

        The digest no longer fits if answers were withdrawn or people were renamed. A new version has the
        digest of the event's answers that are stored now.
        """
        answers = DesignRepository(self._database)
        alone = self.find_records(lambda record: record.kind in ("answer", "withdrawn"))
        last_about = {record.asked_id: record.position for record in alone}
        batches = self.find_records(lambda record: record.kind == "batch")
        found = list[AuditRecord]()
        for table in REPLIES:
            ranges = [r for r in batches if r.detail["table"] == table]
            digests = {record.position: BatchDigest() for record in ranges}
            for answer in answers.read_answers(table) if ranges else ():
                for record in ranges:
                    is_in = record.detail["first"] <= answer.position <= record.detail["last"]
                    if is_in and last_about.get(answer.asked_id, -1) <= record.position:
                        said = [answer.asked_id], [answer.person], [answer.value]
                        digests[record.position].add(*said)
            for record in ranges:
                digest = digests[record.position]
                if digest.digest() != record.detail["digest"]:
                    told = {**record.detail, "digest": digest.digest()}
                    found.append(replace(record, value=str(digest.number), detail=told))
        return found

    def read_person(self, name: str) -> dict[str, list[dict[str, Any]]]:
        """Return the rows with a person's name, by table name, without the columns of hashed secrets."""
        found = dict[str, list[dict[str, Any]]]()
        for table, column in (*_OF_PEOPLE, *_OF_PERSON_ALONE):
            columns = [c for c in table.c if c.name not in _SECRET]
            rows = self._database.read_rows(sa.select(*columns).where(table.c[column] == name))
            found.setdefault(table.name, []).extend(dict(zip(row._fields, row, strict=True)) for row in rows)
        return found

    def forget_texts(self, name: str) -> int:
        """Erase a person's comments, annotations and reasons of absence.

        Returns the number of erased comments.
        """
        number = 0
        with self._database.transaction(exclusive=True) as connection:
            for table, _, _ in _REPLIES:
                of_person = (table.c.expert == name, table.c.comment != "")
                number += connection.execute(sa.update(table).where(*of_person).values(comment="")).rowcount
            connection.execute(sa.update(ABSENCE).where(ABSENCE.c.expert == name).values(reason=""))
            connection.execute(sa.update(REVISION).where(REVISION.c.expert == name).values(result=[]))
            connection.execute(sa.update(QUARANTINE).where(QUARANTINE.c.expert == name).values(detail=""))
        return number

    def rename_person(self, name: str, *, keep_labels: bool) -> str:
        """Replace a person's name by a pseudonym, and remove their personal codes and absence.

        Returns the pseudonym. Without `keep_labels`, the person's answers are also withdrawn, so that the
        answered questions are open again.
        """
        other = f"erased-{secrets.token_hex(4)}"
        with self._database.transaction(exclusive=True) as connection:
            if not keep_labels:
                self._delete_answers(connection, lambda t, _: t.c.expert == name)
            self._move_queue(connection, name, other)
            for table, column in _OF_PEOPLE:
                of_person = table.c[column] == name
                connection.execute(sa.update(table).where(of_person).values({column: other}))
            connection.execute(
                sa.update(REVISION).where(REVISION.c.expert == other).values(author=None, editor=None)
            )
            for table, column in _OF_PERSON_ALONE:
                connection.execute(sa.delete(table).where(table.c[column] == name))
        return other

    def _move_queue(self, connection: sa.Connection, name: str, other: str) -> None:
        row = connection.execute(sa.select(QUEUE).where(QUEUE.c.expert == name)).mappings().first()
        if row is None:
            return
        former = sa.update(QUEUE).where(QUEUE.c.expert == name)
        connection.execute(former.values(marker=f"{row['marker']}-{other}"))
        told = {**row, "expert": other, "email": "", "user_id": None, "closed": True}
        execute_many(connection, sa.insert(QUEUE), [told])

    def erase_examples(self, texts: Collection[str]) -> ErasedExamples:
        """Remove the examples that show one of these texts from the prompts of searches and workflow runs."""
        searches, runs = list[str](), list[str]()
        with self._database.transaction(exclusive=True) as connection:
            for search, spec in connection.execute(sa.select(SEARCH.c.id, SEARCH.c.spec)).all():
                if (kept := _drop_examples(spec, texts)) != spec:
                    values = {"spec": kept | {ERASED: True}}
                    connection.execute(sa.update(SEARCH).where(SEARCH.c.id == search).values(values))
                    searches.append(search)
            for run, name, spec in connection.execute(sa.select(RUN.c.id, RUN.c.name, RUN.c.spec)).all():
                workflow = _read_workflow(spec)
                if workflow and (kept := _drop_examples(workflow, texts)) != workflow:
                    template = json.dumps(kept, sort_keys=True, ensure_ascii=False)
                    values = {"spec": {**spec, "template": template, ERASED: True}}
                    connection.execute(sa.update(RUN).where(RUN.c.id == run).values(values))
                    runs.append(name)
        return ErasedExamples(searches=tuple(searches), runs=tuple(dict.fromkeys(runs)))

    def erase_calls(self, texts: Collection[str]) -> None:
        """Erase request and reply of each call whose request contains one of these texts; keep the usage."""
        with self._database.transaction(exclusive=True) as connection:
            holds = self._holds(CALL.c.request, self._find_forms(connection, texts))
            erased = {"request": "", "reply": "", "error": "erased"}
            connection.execute(sa.update(CALL).where(holds).values(erased))

    def find_remains(self, texts: Collection[str]) -> dict[str, int]:
        """Return the number of rows that contain the start of one of these texts, by ``table.column``.

        Columns without such rows are omitted.
        """
        with self._database.transaction() as connection:
            forms = self._find_forms(connection, texts)
            found = {
                f"{table.name}.{column.name}": count_rows(connection, table, self._holds(column, forms))
                for table in METADATA.sorted_tables
                for column in table.c
                if not isinstance(column.type, _NO_TEXT)
            }
        return {name: number for name, number in found.items() if number}

    def _holds(self, column: sa.ColumnElement[Any], forms: Iterable[str]) -> sa.ColumnElement[bool]:
        position = sa.func.instr if self._database.is_file else sa.func.strpos
        return sa.or_(sa.false(), *(position(sa.cast(column, sa.Text), form) > 0 for form in forms))

    def _find_forms(self, connection: sa.Connection, texts: Collection[str]) -> set[str]:
        """Return the forms in which the beginning of a text can be stored.

        A prompt may contain only the first words of the text, and JSON may contain escaped characters.
        """
        specs: list[Mapping[str, Any]] = list(connection.execute(sa.select(SEARCH.c.spec)).scalars())
        specs += filter(None, map(_read_workflow, connection.execute(sa.select(RUN.c.spec)).scalars()))
        limits = {None, *(_most_words(spec) for spec in specs)}
        cut = {" ".join(text.split()[:most])[:_START] for text in texts for most in limits}
        forms = {text[:_START] for text in texts} | cut
        forms = {form for form in forms if form.strip()}
        for _ in range(2):  # a template may be JSON in JSON
            forms |= {json.dumps(f, ensure_ascii=is_ascii)[1:-1] for f in forms for is_ascii in (True, False)}
        return forms


def read_item_meta(path: str | Path) -> dict[str, str]:
    """Read the metadata (JSON) of all items in a database file, without waiting for locks.

    The result maps the id that `name_today` gives an item to the item's metadata.

    Raises
    ------
    sqlite3.Error
        If the file cannot be read at the moment.
    """
    address = f"file:{quote(str(path))}?mode=ro"
    if not Path(f"{path}-wal").exists():
        address += "&immutable=1"  # keeps SQLite from creating a log and its index next to the file
    with closing(sqlite3.connect(address, uri=True, timeout=0)) as connection:
        rows = connection.execute("SELECT id, iif(instr(text, char(13)), text, ''), options, meta FROM item")
        return {name_today(name, text, options): meta for name, text, options, meta in rows}


def scrub_file(path: str | Path) -> None:
    """Overwrite removed content in a database file and its log, so that it cannot be recovered."""
    try:
        patient = sqlite3.connect(path, ATTEMPT, isolation_level=None, factory=RetryingConnection)
        with closing(patient) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        raise describe_failure(str(path), error, read_only=False) from error


def _is_about(table: sa.Table, item_id: str) -> sa.ColumnElement[bool]:
    """Return the SQL condition for rows about this item, but not about a gold item with the same id."""
    condition = table.c.item_id == item_id
    return sa.and_(condition, table.c.kind != "gold") if table is CONTROL else condition


def _charge_reserved(connection: sa.Connection, item_id: str) -> None:
    """Charge runs for the calls about an item that were unfinished when their process ended."""
    t = LEDGER.c
    query = sa.select(t.run_id, t.requests, t.input_tokens, t.output_tokens).where(t.item_id == item_id)
    for run, requests, sent, received in connection.execute(query).all():
        book(connection, run, "charged", Usage(requests, sent, received, answers=1))


def _charge_predictions(connection: sa.Connection, item_id: str) -> int:
    """Charge runs for the usage of an item's predictions, which the caller then removes.

    Workflow runs are not charged, because the ledger already has the usage of their calls. Returns the number
    of the item's predictions, including those of workflow runs.
    """
    p = PREDICTION.c
    sums = (sa.func.sum(p.attempts), sa.func.sum(p.input_tokens), sa.func.sum(p.output_tokens))
    query = sa.select(p.run_id, *sums, sa.func.count()).where(p.item_id == item_id).group_by(p.run_id)
    number = 0
    for run, requests, input_tokens, output_tokens, rows in connection.execute(query):
        used = Usage(int(requests), int(input_tokens), int(output_tokens))
        paid = (LEDGER.c.run_id == run, LEDGER.c.kind == "paid")
        if not connection.execute(sa.select(LEDGER.c.run_id).where(*paid)).first():
            book(connection, run, "charged", used)
        number += rows
    return number


_START = 200
"""Number of characters at the beginning of an item's text by which stored texts are recognised."""
_NO_TEXT = (sa.Numeric, sa.Integer, sa.Boolean, sa.LargeBinary)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedExamples:
    """Ids of searches, and names of workflow runs, whose prompts showed an erased item as an example."""

    searches: tuple[str, ...]
    runs: tuple[str, ...]


def _read_workflow(spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the workflow in a run's specification; None if the run is not of a workflow."""
    try:
        found = json.loads(str(spec.get("template", "")))
    except ValueError:
        return None
    return found if isinstance(found, dict) and "shape" in found else None


def _most_words(spec: Mapping[str, Any]) -> int | None:
    most: int | None = spec.get("shape", {}).get("max_words")
    return most


def _drop_examples(spec: Mapping[str, Any], texts: Collection[str]) -> dict[str, Any]:
    """Return the settings of a search or workflow, with the examples removed that show one of the texts."""
    most = _most_words(spec)
    gone = {tuple(text.split()[:most]) for text in texts}

    def keep(examples: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [one for one in examples if tuple(one["text"].split()[:most]) not in gone]

    kept = dict(spec)
    if "shown" in spec:
        kept["shown"] = keep(spec["shown"])
    if "examples" in spec.get("shape", {}):
        kept["shape"] = {**spec["shape"], "examples": keep(spec["shape"]["examples"])}
    return kept
