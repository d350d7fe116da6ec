"""Remove or correct items during a study."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256

from oversight.harness.analysis.audit.design_freeze import DesignFreeze
from oversight.harness.analysis.audit.study_check import count_findings
from oversight.harness.analysis.inputs import stream_items
from oversight.harness.config import Study
from oversight.harness.errors import BadInput
from oversight.harness.output import did_you_mean
from oversight.harness.store import (
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
        Number of questions about the item, and numbers of withdrawn answers and predictions.
    left
        Number of items that the study has now.
    """

    item: str
    questions: int
    answers: int
    predictions: int
    left: int


def remove_item(study: Study, item_id: str, reason: str, *, erase: bool = False) -> ChangedItem:
    """Remove an item with its questions, answers and predictions.

    Parameters
    ----------
    reason
        The reason, which the audit trail keeps as a comment that can be erased.
    erase
        Whether to erase the item's text and answers also from the audit trail.

    Raises
    ------
    BadInput
        If the item does not exist, or the reason is empty.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> removed = remove_item(read_study("study.toml"), "case-001", "names the patient")
    >>> removed.questions, removed.predictions
    (1, 2)
    """
    with _changing(study, item_id, reason) as (store, item, before):
        done = store.withdrawals.remove_item(item_id)
        told = {} if erase else _tell_content(item, done)
        detail = {"questions": list(done.questions), "findings_before": before, "erased": erase}
        _note(store, "item_removed", item_id, {"reason": reason, **told}, detail)
        if erase:
            store.withdrawals.erase_calls(item.text)
            _erase_events(store, item_id, done)
        changed = _describe(store, item_id, done)
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
        If the item does not exist, the items file lacks it or contains the same text and options, or the
        number of options would change.
    """
    with _changing(study, item_id, reason) as (store, old, before):
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
        done = store.withdrawals.correct_item(replace(new, permutation=old.permutation), ask_again=ask_again)
        told = {"reason": reason, **_tell_content(old, done)}
        detail = {
            "before": _hash(old), "after": _hash(new), "asked_again": ask_again, "findings_before": before
        }  # fmt: skip
        _note(store, "item_corrected", item_id, told, detail)
        return _describe(store, item_id, done)


def scrub(study: Study) -> None:
    """Overwrite erased content in the SQLite file; a database server does so itself (VACUUM)."""
    if not study.has_server:
        scrub_file(study.store_url.removeprefix("sqlite:///"))


@contextmanager
def _changing(study: Study, item_id: str, reason: str) -> Iterator[tuple[Store, Item, int]]:
    """Open the database for a change of one item, and seal the audit trail and the design afterwards.

    Yields the database, the stored item, and the number of violations that an audit finds before the change.
    """
    if not reason.strip():
        raise BadInput("--reason: give the reason; the audit trail keeps it")
    if not has_database(study.store_url):
        raise BadInput("there is no database of this study yet; edit the items file instead")
    with Store(study.store_url) as store:
        store.marks.refuse_mark()
        with store.together(exclusive=True):
            item, before = _find(store, item_id), count_findings(study, store)
            freeze = DesignFreeze(study, store)
            yield store, item, before
            store.audit.redact(store.withdrawals.reseal_batches())
            freeze.end(1)


def _find(store: Store, item_id: str) -> Item:
    found = store.content.find_items([item_id]).get(item_id)
    if found is None:
        if item_id in store.withdrawals.read_removed():
            raise BadInput(f"the item {item_id!r} was removed already")
        known = [item.id for item in store.content.read_bare_items()]
        raise BadInput(f"the study has no item {item_id!r}{did_you_mean(item_id, known)}")
    return found


def _note(
    store: Store, kind: str, item_id: str, told: Mapping[str, object], detail: Mapping[str, object]
) -> None:
    comment = json.dumps(told, ensure_ascii=False)
    event = AuditEvent(kind=kind, way="command", asked_id=item_id, comment=comment, detail=detail)
    store.audit.append([event])


def _tell_content(item: Item, done: Withdrawn) -> dict[str, object]:
    return {"text": item.text, "options": list(item.options), "answers": list(done.answers)}


def _erase_events(store: Store, item_id: str, done: Withdrawn) -> None:
    """Erase from the audit trail the answers about an item, and the item's former texts."""
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
        predictions=done.predictions, left=store.count_rows("item")["item"],
    )  # fmt: skip


def _hash(item: Item) -> str:
    return sha256(json.dumps([item.text, *item.options]).encode()).hexdigest()
