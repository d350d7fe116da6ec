"""Export, forget or erase the data stored about an expert."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from oversight.harness import BadInput, ConfigError
from oversight.harness.analysis import DesignFreeze, count_findings, scrub
from oversight.harness.config import Study
from oversight.harness.platform import write_whole
from oversight.harness.store import Absence, AuditRecord, Store, has_database
from oversight.protocols.routing import read_roster


def note_absence(study: Study, store: Store, expert: str, until: str = "", reason: str = "") -> Absence:
    """Record that an expert is absent from today on.

    Parameters
    ----------
    until
        Last day of the absence in ISO 8601; empty if no return is expected.

    Raises
    ------
    BadInput
        If the day is malformed or in the past.
    DataError
        If the expert does not exist.
    """
    read_roster(study.path(study.experts.roster)).find_expert(expert)
    today = datetime.now(UTC).date()
    if until:
        try:
            last = date.fromisoformat(until)
        except ValueError:
            raise BadInput(f"--until must be a day such as 2026-12-24, is {until!r}") from None
        if last < today:
            raise BadInput(f"--until {until} is in the past; today is {today}")
    absence = Absence(expert, today.isoformat(), until, reason)
    store.people.add_absence(absence)
    return absence


def end_absence(study: Study, store: Store, expert: str) -> bool:
    """Record that an expert is back. Returns whether they had been absent.

    Raises
    ------
    DataError
        If the expert does not exist, or the roster itself says that they are absent.
    """
    roster = read_roster(study.path(study.experts.roster))
    if roster.find_expert(expert).absent:
        raise roster.error("absent", f"expert {expert!r} is absent in the roster itself; change it there")
    return store.people.end_absence(expert)


_FREE = ("reason", "link", "author", "editor", "settings")
"""Details of events that may contain information about a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedPerson:
    """Result of forgetting or erasing an expert.

    Attributes
    ----------
    name
        The pseudonym that replaces the expert's name; empty if only texts were forgotten.
    answers
        Number of answers kept under the pseudonym.
    open
        Number of the expert's open questions.
    events
        Number of events from which content was removed.
    """

    name: str
    answers: int
    open: int
    events: int


def export_person(study: Study, name: str, path: str | Path) -> int:
    """Write everything stored about an expert as JSON; return the number of rows and events.

    Raises
    ------
    BadInput
        If nothing is stored.
    """
    with _open(study) as store:
        tables = _read(store, name)
        events = store.withdrawals.find_records(_tells_of(name))
    roster = [asdict(e) for e in read_roster(study.path(study.experts.roster)).experts if e.name == name]
    told = {"expert": name, "roster": roster, "tables": tables, "events": [asdict(e) for e in events]}
    text = json.dumps(told, ensure_ascii=False, indent=2, default=str)
    write_whole(iter([text.encode(), b"\n"]), path)
    return sum(map(len, tables.values())) + len(events)


def forget_texts(study: Study, name: str) -> ErasedPerson:
    """Remove an expert's comments, and the reasons given in events about this expert.

    The audit trail can still be verified.
    """
    with _open(study) as store, store.together(exclusive=True):
        _read(store, name)
        records = store.withdrawals.find_records(_tells_of(name))
        told = [r for r in records if r.comment or r.kind == "revision" or "reason" in r.detail]
        store.withdrawals.forget_texts(name)
        store.audit.redact([_without_texts(record) for record in told])
    scrub(study)
    return ErasedPerson(name="", answers=0, open=0, events=len(told))


def erase_person(study: Study, name: str) -> ErasedPerson:
    """Erase an expert: replace the name by a pseudonym; remove texts, personal codes and absences.

    Answers are kept under the pseudonym or withdrawn, as ``keep_labels`` under ``[people]`` says.

    Raises
    ------
    BadInput
        If nothing is stored.
    ConfigError
        If the roster still names the expert.
    """
    roster = study.path(study.experts.roster)
    if any(expert.name == name for expert in read_roster(roster).experts):
        raise ConfigError(
            f"{roster}: still contains {name!r}; reassign the open questions of this expert (oversight "
            "experts replace), then remove the name from the roster"
        )
    keeps = study.people.keep_labels
    with _open(study) as store, store.together(exclusive=True):
        _read(store, name)
        count_findings(study, store)
        freeze = DesignFreeze(study, store)
        store.withdrawals.forget_texts(name)
        other = store.withdrawals.rename_person(name, keep_labels=keeps)
        records = store.withdrawals.find_records(_tells_of(name))
        store.audit.redact([_rename(record, name, other, keep_value=keeps) for record in records])
        store.audit.redact(store.withdrawals.reseal_batches())
        freeze.end(1)
        panel = study.experts.is_panel
        answers = sum(reply.expert == other for reply in store.replies(panel=panel).read_replies().values())
        asked = store.count_asked(panel=panel).get(other, 0)
    scrub(study)
    return ErasedPerson(name=other, answers=answers, open=asked - answers, events=len(records))


def _open(study: Study) -> Store:
    if not has_database(study.store_url):
        raise BadInput("this study has no database yet, so nothing is stored about anybody")
    store = Store(study.store_url)
    store.marks.refuse_mark()
    return store


def _read(store: Store, name: str) -> dict[str, list[dict[str, Any]]]:
    tables = store.withdrawals.read_person(name)
    if not any(tables.values()):
        raise BadInput(f"nothing is stored about {name!r}")
    return tables


def _tells_of(name: str) -> Callable[[AuditRecord], bool]:
    """Return a function that tells whether an audit event is about the person, or quotes their name."""
    quoted = json.dumps(name, ensure_ascii=False)

    def tells(record: AuditRecord) -> bool:
        handed = record.kind == "handover" and name in (record.detail["from"], record.detail["to"])
        is_item = record.kind in ("item_removed", "item_corrected")
        return record.person == name or handed or (is_item and quoted in (record.comment or ""))

    return tells


def _without_texts(record: AuditRecord) -> AuditRecord:
    detail = {key: value for key, value in record.detail.items() if key not in _FREE}
    return replace(record, comment=None, salt="", comment_digest="", detail=detail)


def _rename(record: AuditRecord, name: str, other: str, *, keep_value: bool) -> AuditRecord:
    record = _without_texts(record)
    detail = {key: other if value == name else value for key, value in record.detail.items()}
    record = replace(record, detail=detail, key=None)
    if record.person != name:
        return record
    return replace(record, person=other, value=record.value if keep_value else "")
