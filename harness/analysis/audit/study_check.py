"""Audit a study's own database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from hashlib import sha256
from typing import Any

import orjson

from oversight.harness.analysis.audit.audit_check import Audit, AuditCheck, check_head
from oversight.harness.analysis.audit.design_freeze import describe_settings, find_changes
from oversight.harness.config import Study
from oversight.harness.errors import BadInput, StoreError
from oversight.harness.store import DESIGN_PARTS, REPLY_TABLES, Store, has_database

Records = Iterator[tuple[str, dict[str, Any]]]
"""Kind and content of each record, as in the lines of a bundle."""


def audit_study(study: Study, head: str | None = None) -> Audit:
    """Check the database of a study. `head` is the link of an event that the audit trail must contain.

    The database can be read-only.

    Raises
    ------
    BadInput
        If there is no database, or the head is malformed.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> audit = audit_study(read_study("study.toml"))
    >>> audit.findings.number, audit.answers
    (0, 54)
    """
    head = check_head(head)
    if not has_database(study.store_url):
        raise BadInput("there is no database of this study yet; draw questions with: oversight label route")
    with Store(study.store_url) as store, store.together():
        store.audit.hold_still()
        return _audit_store(study, store, head)


def count_findings(study: Study, store: Store) -> int:
    """Count the violations in an open database, to record their number before a redaction.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> from oversight.harness.store import Store
    >>> study = read_study("study.toml")
    >>> with Store(study.store_url) as store:
    ...     print(count_findings(study, store))
    ...
    0
    """
    return _audit_store(study, store).findings.number


def _audit_store(study: Study, store: Store, head: str | None = None) -> Audit:
    """Audit an open database; the caller must hold `oversight.harness.store.Store.together`."""
    check = AuditCheck(head, store.controls.read_key())
    try:
        for _ in read_events(store, check):
            pass
    except StoreError as error:
        check.findings.add(f"the events after event {check.result.events - 1} cannot be read: {error}")
    check.end_events()
    if head is not None and check.result.covered is None:
        told = "the given head is not in the chain: an event before it was changed or removed"
        check.findings.add(told)
    for _ in read_evidence(store, check):
        pass
    check.end()
    _check_looks(store, check)
    _check_revisions(store, check)
    check.compare_design(store.design.count_parts())
    _check_settings(study, check)
    return check.result


def read_events(store: Store, check: AuditCheck) -> Records:
    """Check all events of a study in order, and yield each."""
    for event in store.audit.read_records():
        check.add_event(event)
        yield "event", {"event": event.to_json()}


def read_evidence(store: Store, check: AuditCheck) -> Records:
    """Check a study's design, answers and reassigned questions, and yield each as a record.

    The caller must first exhaust `read_events`.
    """
    for name, part in DESIGN_PARTS.items():
        for rows in store.design.read_part(name):
            for row in rows:
                told = dict(zip(part.columns, row, strict=False))
                check.add_row(name, told)
                yield name, _tell_gold(row) if name == "gold" else told
    for table in REPLY_TABLES:
        for answer in store.design.read_answers(table):
            event, batch = check.add_answer(table, answer)
            told = {
                "table": table, "position": answer.position, "question": answer.asked_id,
                "person": answer.person, "value": answer.value, "source": answer.source,
                "last_event": event,
            }  # fmt: skip
            if batch is not None:
                told["batch"] = batch
            elif event is not None:
                told["event"] = event
            else:
                told["covered"] = "not covered"
            yield "answer", told | ({"comment": answer.comment} if answer.comment else {})
    for handover in store.people.read_handovers().values():
        check.add_handover(handover)
        yield "handover", asdict(handover)


def _tell_gold(row: tuple[Any, ...]) -> dict[str, Any]:
    """Return id, truth and digest of a gold item, without its text, which may be confidential."""
    name, *_, truth = row
    return {"id": name, "truth": truth, "digest": sha256(orjson.dumps(row, default=repr)).hexdigest()}


def _check_settings(study: Study, check: AuditCheck) -> None:
    designs = check.designs
    if designs:
        check.findings.add(*find_changes(designs[-1].detail, describe_settings(study)))
    for record in designs:
        if record.detail.get("altered"):
            check.findings.add(
                f"event {record.position} (design): its digests differ from the freeze before, so the design "
                "was altered in between"
            )


def _check_looks(store: Store, check: AuditCheck) -> None:
    looks, findings = check.looks, check.findings
    stored = {look.look: asdict(look) for look in store.content.read_looks()}
    for number in sorted({*stored, *looks}):
        if number not in stored:
            findings.add(f"look {number} has an event, but is no longer stored")
        elif number not in looks:
            # older versions stored interim analyses without an event
            if check.designs:
                findings.add(f"look {number} is stored, but no event records it")
        elif stored[number] != looks[number]:
            findings.add(f"the stored look {number} differs from its event")


def _check_revisions(store: Store, check: AuditCheck) -> None:
    """Compare the stored versions of a labelling server's annotations with the events that recorded them."""
    findings = check.findings
    stored = {(r.expert, r.annotation_id, r.version): r for r in store.labelling.read_revisions()}
    for key, event in check.revisions.items():
        name = f"the state of annotation {key[1]} of event {event.position}"
        row = stored.get(key)
        if row is None:
            if not event.is_redacted:
                findings.add(f"{name} is missing")
            continue
        is_same = (row.question_id or "", row.task_id) == (event.asked_id, event.detail.get("task_id"))
        if not is_same or not (row.is_whole or event.is_redacted):
            findings.add(f"{name} differs from what was received")
