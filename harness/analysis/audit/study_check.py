"""The audit of a study's own database: events, answers, comments and the frozen design against each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from oversight.harness.analysis.audit.answer_check import AnswerCheck, AuditFindings, compare_with_event
from oversight.harness.analysis.audit.design_freeze import compare_parts, describe_settings, find_changes
from oversight.harness.analysis.audit.trail_check import TrailCheck
from oversight.harness.config import Study
from oversight.harness.errors import BadInput, StoreError
from oversight.harness.registry import PROTOCOLS
from oversight.harness.store import DESIGN_PARTS, REPLY_TABLES, Handover, Store, has_database
from oversight.harness.types import SECOND_QUESTIONS, control_id, is_erased, question_id, seal_ids


@dataclass(slots=True, kw_only=True)
class CheckedIds:
    """What a check of ids says.

    Attributes
    ----------
    sealed
        Whether ids follow from the study's secret key; if not, an older version drew the first questions, and
        whoever knows the seed can tell control questions.
    checked
        How many ids were computed again.
    unchecked
        How many could not be: without the key, or of questions that another program drew.
    """

    sealed: bool = False
    checked: int = 0
    unchecked: int = 0


class IdCheck:
    """The ids of questions, control questions among them, computed again.

    Parameters
    ----------
    findings
        Takes sealed ids that do not follow.
    key
        The study's key; empty if it has none, None if it has one that is not at hand.
    """

    def __init__(self, findings: AuditFindings, key: bytes | None = b"") -> None:
        self._findings, self.key = findings, key
        self.found = CheckedIds()

    def add(self, part: str, rows: Sequence[Sequence[Any]]) -> None:
        """Check a portion of the rows of a part of the design, with the columns that the part has."""
        if part not in ("questions", "controls"):
            return
        self.found.sealed = self.key != b""
        for row in rows:
            told = dict(zip(DESIGN_PARTS[part].columns, row, strict=False))
            if is_erased(told["expert"]):  # of a control question's id the name is a part
                self.found.unchecked += 1
                continue
            follows = self.key is not None and _compute(part, told, self.key) == [told["id"]]
            is_wrong = bool(self.key) and not follows and (part == "controls" or _is_known(told["protocol"]))
            self.found.checked += follows or is_wrong
            # without a key, a program could give any id to a question that it drew
            self.found.unchecked += not (follows or is_wrong)
            if is_wrong:
                what = "control question" if part == "controls" else "question"
                why = "its id does not follow from the study's secret key and what it asks"
                self._findings.add(f"{what} {told['id']}: {why}")


def _is_known(protocol: object) -> bool:
    return protocol in PROTOCOLS or protocol == SECOND_QUESTIONS


def _compute(part: str, told: dict[str, Any], key: bytes) -> list[str]:
    """The id of what a row tells; none if a column is of a kind that was never stored."""
    seed, item, option = told["seed"], told["item_id"], told["option"]
    try:
        if part == "controls":
            plain = control_id(told["kind"], seed, item, option, told["expert"])
        else:
            plain = question_id(told["protocol"], seed, item, option)
    except (TypeError, UnicodeEncodeError):
        return []
    return seal_ids(key, [plain])


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeze:
    """A design as it was frozen.

    Attributes
    ----------
    event, at
        Place and time of the event.
    answers
        How many answers were there; 0 is before the first.
    numbers
        What was drawn → how much.
    changes
        Settings that were others at the freeze before, in words.
    """

    event: int
    at: str
    answers: int
    numbers: dict[str, int]
    changes: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit of a database or of a bundle says.

    Attributes
    ----------
    findings
        What does not hold.
    events, head
        How many events there are, and the newest link; of a bundle the last chain value.
    covered
        How many events a noted head covers; None if none was given, or none of the links is it.
    answers, uncovered, unchecked
        How many answers there are; how many of them no event tells of, as an older version stored them; and
        how many came in a batch of which a later event replaced a part, so that its digest tells no more.
    redacted
        How many events tell less than they did, as an item was withdrawn or a person erased.
    freezes
        The designs that were frozen, oldest first; none where nothing is covered.
    ids
        Whether the ids of questions follow from what they must; sealed ones are not checked without the key.
    """

    findings: AuditFindings
    events: int
    head: str
    covered: int | None
    answers: int
    uncovered: int
    unchecked: int
    redacted: int
    freezes: Sequence[Freeze]
    ids: CheckedIds


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyAudit(Audit):
    """What an audit of a database says.

    Attributes
    ----------
    comments, forgotten
        Comments that are those of their events, and those whose text was forgotten.
    drawn
        Whether anything was drawn.
    """

    comments: int
    forgotten: int
    drawn: bool


def check_head(head: str | None) -> str | None:
    """A head as it was given, in small letters.

    Raises
    ------
    BadInput
        If it is none.
    """
    if head is None:
        return None
    if not re.fullmatch("[0-9a-f]{64}", head.strip().lower()):
        raise BadInput(f"--head: a head has 64 hexadecimal digits, not {head!r}")
    return head.strip().lower()


def audit_study(study: Study, head: str | None = None) -> StudyAudit:
    """Check a study's database; it may be one that can only be read.

    Raises
    ------
    BadInput
        If there is no database, or the head is none.
    """
    head = check_head(head)
    if not has_database(study.store_url):
        raise BadInput("there is no database of this study yet; draw questions with: oversight label route")
    with Store(study.store_url) as store, store.together():
        store.audit.hold_still()
        return audit_store(study, store, head)


def count_findings(study: Study, store: Store) -> int:
    """Number of findings about an open database, to be noted before a part of its trail is redacted."""
    return audit_store(study, store).findings.number


def audit_store(study: Study, store: Store, head: str | None = None) -> StudyAudit:
    """`audit_study` of an open database, inside of `oversight.harness.store.Store.together`."""
    findings = AuditFindings()
    trail = TrailCheck(findings, head)
    try:
        for record in store.audit.read_records():
            trail.add(record)
    except StoreError as error:
        findings.add(f"the events after event {trail.events - 1} cannot be read: {error}")
    trail.end()
    if head is not None and trail.covered is None:
        findings.add("the chain does not hold the given head: something before it was changed or removed")
    answers = uncovered = unchecked = 0
    for table in REPLY_TABLES:
        check = AnswerCheck(table, trail.batches.get(table, ()), findings, trail.allowed)
        for answer in store.kept_answers.read_answers(table):
            event = answer.event
            said = answer.position, answer.asked_id, answer.person, answer.value, answer.source
            came = check.add(*said, event)
            if event is not None and not came:
                compare_with_event(answer, table, findings)
        unchecked += check.end(trail.last_withdrawn)
        answers, uncovered = answers + check.number, uncovered + check.uncovered
    if trail.allowed and uncovered > trail.allowed:
        told = f"{trail.allowed:,} were there when the design was frozen first"
        findings.add(f"{uncovered:,} answers have no event, and {told}")
    for name, event in store.kept_answers.find_missing():
        findings.add(f"the answer to question {name}, of event {event}, is missing")
    check_handovers(store.handovers.read_handovers(), trail, findings)
    _check_looks(store, trail, findings)
    _check_revisions(store, trail, findings)
    ids = IdCheck(findings, store.question_key.read_key())
    _check_design(study, store.design.measure(watch=ids.add), trail, findings)
    numbers = store.design.count_parts()
    return StudyAudit(
        findings=findings, events=trail.events, head=trail.head, covered=trail.covered,
        comments=trail.comments, forgotten=trail.forgotten, answers=answers, uncovered=uncovered,
        unchecked=unchecked, redacted=len(trail.redacted), freezes=list(list_freezes(trail)),
        drawn=any(numbers.values()),
        ids=ids.found,
    )  # fmt: skip


def check_handovers(stored: Mapping[str, Handover], trail: TrailCheck, findings: AuditFindings) -> None:
    """Hold who answers in whose place, and from which place of the queue on, against the events."""
    for name in dict.fromkeys([*stored, *trail.handed]):
        found, told = stored.get(name), trail.handed.get(name)
        if (found and found.taker) != (told and told.taker):
            by = f"event {told.event} says {told.taker!r}" if told else "no event tells of it"
            now = f"handed over to {found.taker!r}" if found else "not handed over"
            findings.add(f"question {name} is {now}, and {by}")
        elif found and told and found.giver != told.giver:
            findings.add(f"question {name} was put to {found.giver!r}, and its events say {told.giver!r}")
        elif found and told and told.tells_place and found.place != told.place:
            findings.add(
                f"question {name} has the place {found.place} in the queue it came from, and event "
                f"{told.event} says {told.place}"
            )


def _check_looks(store: Store, trail: TrailCheck, findings: AuditFindings) -> None:
    stored = {look.look: asdict(look) for look in store.looks.read_looks()}
    for number in sorted({*stored, *trail.looks}):
        if number not in stored:
            findings.add(f"look {number} was taken by its event, and is stored no more")
        elif number not in trail.looks:
            # one that an older version took has no event
            if trail.designs:
                findings.add(f"look {number} is stored, and no event tells of it")
        elif stored[number] != trail.looks[number]:
            findings.add(f"look {number} is stored as another than its event tells")


def _check_revisions(store: Store, trail: TrailCheck, findings: AuditFindings) -> None:
    """Hold the states of annotations that were seen on a server against their events."""
    stored = {(r.expert, r.annotation_id, r.version): r for r in store.labelling.read_revisions()}
    for key, event in trail.revisions.items():
        name = f"the state of annotation {key[1]} of event {event.position}"
        row = stored.get(key)
        if row is None:
            if not event.is_redacted:
                findings.add(f"{name} is missing")
            continue
        is_same = (row.question_id or "", row.task_id) == (event.asked_id, event.detail.get("task_id"))
        if not is_same or not (row.is_whole or event.is_redacted):
            findings.add(f"{name} is not what was seen")


def _check_design(
    study: Study, parts: Mapping[str, Mapping[str, Any]], trail: TrailCheck, findings: AuditFindings
) -> None:
    if not trail.designs:
        return
    last = trail.designs[-1].detail
    for text in compare_parts(last, parts):
        findings.add(text)
    for text in find_changes(last, describe_settings(study)):
        findings.add(text)
    for record in trail.designs:
        if record.detail.get("altered"):
            findings.add(
                f"event {record.position} (design): what was frozen before was altered by then, as its "
                "digest was another"
            )


def list_freezes(trail: TrailCheck) -> Iterator[Freeze]:
    """The designs of a trail, each with what changed since the one before."""
    before: dict[str, Any] | None = None
    for record in trail.designs:
        told = record.detail
        changed = [] if before is None else find_changes(before, told, then="before", now="then")
        numbers = {name: part["number"] for name, part in told["parts"].items() if part["number"]}
        yield Freeze(
            event=record.position, at=record.at, answers=int(told["answers"]), numbers=numbers,
            changes=changed,
        )  # fmt: skip
        before = told
