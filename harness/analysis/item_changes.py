"""Remove or correct items during a study."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from hashlib import sha256

from oversight.harness.analysis.audit.design_freeze import DesignFreeze
from oversight.harness.analysis.audit.study_check import count_findings
from oversight.harness.analysis.inputs import stream_items
from oversight.harness.config import Study
from oversight.harness.errors import BadInput, RunHeld
from oversight.harness.output import did_you_mean
from oversight.harness.store import (
    SEARCHES,
    UNDER_WAY,
    AuditEvent,
    AuditRecord,
    Store,
    Withdrawn,
    has_database,
    scrub_file,
)
from oversight.harness.types import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedItem:
    """Result of removing or correcting an item.

    Attributes
    ----------
    item
        Id of the item.
    questions, answers, predictions
        Number of questions about the item; number of withdrawn answers; number of withdrawn predictions.
    candidate_answers
        Number of withdrawn answers that candidate workflows gave in searches.
    left
        Number of items that the study has now.
    searches, runs
        Ids of the searches, and names of the workflow runs, whose prompts showed an erased item as an
        example.
    remains
        ``table.column`` → number of rows that still contain the beginning of an erased item's text.
    """

    item: str
    questions: int
    answers: int
    predictions: int
    candidate_answers: int
    left: int
    searches: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    remains: Mapping[str, int] = field(default_factory=dict)


def remove_item(study: Study, item_id: str, reason: str, *, erase: bool = False) -> ChangedItem:
    """Remove an item with its questions, answers and predictions.

    Parameters
    ----------
    reason
        Reason for the removal. The audit trail keeps it as a comment, which can be erased later.
    erase
        Whether to erase the item's text and answers also from the audit trail, from stored calls, and from
        prompts that showed the item as an example.

    Raises
    ------
    BadInput
        If the item does not exist, an unfinished batch has it, or the reason is empty.
    RunHeld
        If a run, a search or an import of this study is active.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> removed = remove_item(read_study("study.toml"), "case-001", "names the patient")
    >>> removed.questions, removed.predictions
    (1, 2)
    """
    with _open(study, reason) as store, store.together(exclusive=True):
        item, before = _find(store, item_id), count_findings(study, store)
        _refuse_at_work(store, item_id)
        freeze = DesignFreeze(study, store)
        done = store.withdrawals.remove_item(item_id)
        told: dict[str, object] = {"reason": reason}
        if not erase:
            told |= {"text": item.text, "options": list(item.options), "answers": list(done.answers)}
        detail = {"questions": list(done.questions), "findings_before": before, "erased": erase}
        _note(store, "item_removed", item_id, told, detail)
        changed = _describe(store, item_id, done)
        if erase:
            changed = _erase(store, item, done, changed)
        store.audit.redact(store.withdrawals.reseal_batches())
        freeze.end(1)
    if erase:
        scrub(study)
    return changed


def correct_item(study: Study, item_id: str, reason: str, *, ask_again: bool) -> ChangedItem:
    """Replace an item's stored text and options by those in the items file.

    Parameters
    ----------
    ask_again
        Whether to withdraw the item's answers and predictions, so that experts and models are asked again.

    Raises
    ------
    BadInput
        If the study or the items file lacks the item, if the item is part of an unfinished batch, or if its
        text and options are unchanged. Also if the number of options would change, or if answers and
        predictions would be kept although an option was replaced or moved.
    RunHeld
        If a run, a search or an import of this study is active.
    """
    with _open(study, reason) as store, store.together(exclusive=True):
        old, before = _find(store, item_id), count_findings(study, store)
        _refuse_at_work(store, item_id)
        new = next((item for item in stream_items(study) if item.id == item_id), None)
        if new is None:
            raise BadInput(f"the items file has no item {item_id!r}; write the corrected item there first")
        if (new.text, new.options) == (old.text, old.options):
            raise BadInput(
                f"the item {item_id!r} is stored exactly as in the file; there is nothing to correct"
            )
        if len(new.options) != len(old.options):
            raise BadInput(
                f"the item {item_id!r} has {len(new.options)} options in the file and {len(old.options)} in "
                "the study, where questions were drawn from these options; remove the item from the study, "
                "and give the new item another id"
            )
        if not ask_again:
            _refuse_other_options(old, new)
        freeze = DesignFreeze(study, store)
        done = store.withdrawals.correct_item(replace(new, permutation=old.permutation), ask_again=ask_again)
        told: dict[str, object] = {
            "reason": reason,
            "text": old.text,
            "options": list(old.options),
            "answers": [*done.answers],
        }
        detail = {
            "before": _hash(old), "after": _hash(new), "asked_again": ask_again, "findings_before": before
        }  # fmt: skip
        _note(store, "item_corrected", item_id, told, detail)
        store.audit.redact(store.withdrawals.reseal_batches())
        freeze.end(1)
        return _describe(store, item_id, done)


_ALIKE = 0.5
"""Smallest similarity ratio of an option's old and new text that counts as a change of wording only."""


def _refuse_other_options(old: Item, new: Item) -> None:
    """Refuse new options unless each means the same as the old option at its position.

    Stored answers name an option by its position.
    """
    for before, after in zip(old.options, new.options, strict=True):
        moved = after != before and after in old.options
        if moved or SequenceMatcher(None, before, after, autojunk=False).ratio() < _ALIKE:
            raise BadInput(
                f"the item {old.id!r}: the file has the option {after!r} at the position of the study's "
                f"option {before!r}; stored answers about {before!r} would count as answers about {after!r}; "
                "in the file, keep the options' meaning and order, or use --answers withdraw"
            )


def scrub(study: Study) -> None:
    """Overwrite erased content in a SQLite file; a database server does this itself (VACUUM)."""
    if not study.has_server:
        scrub_file(study.store_url.removeprefix("sqlite:///"))


def _open(study: Study, reason: str) -> Store:
    if not reason.strip():
        raise BadInput("--reason: give the reason; the audit trail keeps it")
    if not has_database(study.store_url):
        raise BadInput("there is no database of this study yet; edit the items file instead")
    store = Store(study.store_url)
    store.marks.refuse_mark()
    return store


def _find(store: Store, item_id: str) -> Item:
    found = store.content.find_items([item_id]).get(item_id)
    if found is None:
        if item_id in store.withdrawals.read_removed():
            raise BadInput(f"the item {item_id!r} was removed already")
        known = [item.id for item in store.content.read_bare_items()]
        raise BadInput(f"the study has no item {item_id!r}{did_you_mean(item_id, known)}")
    return found


def _refuse_at_work(store: Store, item_id: str) -> None:
    """Refuse to change an item that a model may be answering now: the reply may be about the old text."""
    runs = store.runs.read_runs()
    names = {run["id"]: f"run of {run['name']}" for run in runs}
    names |= {search["id"]: f"search {search['id']}" for search in store.searches.read_searches()}
    names[SEARCHES] = "a search of this study"
    for lock in store.locks.find_held():
        ended = "if that process has ended, take over its run with --take-over"
        hint = ended if lock.is_elsewhere else "wait until it has ended, or stop it"
        name = names.get(lock.run_id, f"run {lock.run_id}")
        raise RunHeld(f"{name}: {lock}; {hint}; then change the item {item_id!r}")
    for run in runs:
        batches = store.calls.read_batches(run["id"], UNDER_WAY)
        if any(item_id == asked for batch in batches for asked, _ in batch.requests):
            raise BadInput(
                f"{run['name']}: the item {item_id!r} is in an unfinished batch; first collect the batch "
                "with oversight run --batch, or cancel it with oversight run --batch cancel"
            )


def _note(
    store: Store, kind: str, item_id: str, told: Mapping[str, object], detail: Mapping[str, object]
) -> None:
    comment = json.dumps(told, ensure_ascii=False)
    event = AuditEvent(kind=kind, way="command", asked_id=item_id, comment=comment, detail=detail)
    store.audit.append([event])


def _erase(store: Store, item: Item, done: Withdrawn, changed: ChangedItem) -> ChangedItem:
    """Erase a removed item's texts from the database.

    The result is `changed` with the searches and runs that showed a text as an example, and with the columns
    that still contain a text.
    """
    texts = {item.text, *_read_former_texts(store, item.id)}
    found = store.withdrawals.erase_examples(texts)
    store.withdrawals.erase_calls(texts)
    _erase_events(store, item.id, done)
    remains = store.withdrawals.find_remains(texts)
    return replace(changed, searches=found.searches, runs=found.runs, remains=remains)


def _read_former_texts(store: Store, item_id: str) -> list[str]:
    """Return the texts that an item had before it was corrected."""
    corrected = store.withdrawals.find_records(
        lambda record: record.kind == "item_corrected" and record.asked_id == item_id
    )
    return [json.loads(record.comment)["text"] for record in corrected if record.comment]


def _erase_events(store: Store, item_id: str, done: Withdrawn) -> None:
    """Erase an item's answers and former texts from the audit trail."""
    asked = set(done.questions)

    def tells(record: AuditRecord) -> bool:
        is_answer = record.asked_id in asked and record.kind in ("answer", "refused", "revision")
        return is_answer or (record.asked_id == item_id and record.kind == "item_corrected")

    records = store.withdrawals.find_records(tells)
    store.audit.redact(
        [replace(r, value="", comment=None, salt="", comment_digest="", seconds=None) for r in records]
    )
    store.withdrawals.erase_revisions(done.questions)


def _describe(store: Store, item_id: str, done: Withdrawn) -> ChangedItem:
    return ChangedItem(
        item=item_id, questions=len(done.questions), answers=len(done.answers),
        predictions=done.predictions, candidate_answers=done.candidate_answers,
        left=store.count_rows("item")["item"],
    )  # fmt: skip


def _hash(item: Item) -> str:
    return sha256(json.dumps([item.text, *item.options]).encode()).hexdigest()
