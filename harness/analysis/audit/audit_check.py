"""Check events, answers and design against each other, for a database or a bundle."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oversight.harness.analysis.audit.answer_check import AnswerCheck, AuditFindings, compare_with_event
from oversight.harness.analysis.audit.design_freeze import compare_parts, find_changes
from oversight.harness.analysis.audit.trail_check import TrailCheck
from oversight.harness.errors import BadInput
from oversight.harness.registry import PROTOCOLS
from oversight.harness.store import DESIGN_PARTS, AuditRecord, Handover, RowsDigest, StoredAnswerValue
from oversight.harness.types import SECOND_QUESTIONS, control_id, is_erased, question_id, seal_ids


@dataclass(slots=True, kw_only=True)
class CheckedIds:
    """Result of checking ids.

    Attributes
    ----------
    sealed
        Whether ids are derived from the study's secret key. If not, an older version drew the first
        questions, and anybody who knows the seed can identify control questions.
    checked
        Number of ids that were recomputed.
    unchecked
        Number of ids that could not be: without the key, or for questions drawn by another program.
    """

    sealed: bool = False
    checked: int = 0
    unchecked: int = 0


def _check_id(
    found: CheckedIds, part: str, told: Mapping[str, Any], key: bytes | None, findings: AuditFindings
) -> None:
    """Recompute the id of a row of the design, column → value, if it is of a question.

    The key is empty if the study has none, and None if it is not available.
    """
    if part not in ("questions", "controls"):
        return
    found.sealed = key != b""
    if is_erased(told["expert"]):  # the name is a part of a control question's id
        found.unchecked += 1
        return
    follows = key is not None and _compute(part, told, key) == [told["id"]]
    is_known = told["protocol"] in (*PROTOCOLS, SECOND_QUESTIONS) if part == "questions" else True
    is_wrong = bool(key) and not follows and is_known
    found.checked += follows or is_wrong
    # without a key, a program could give its questions any id
    found.unchecked += not (follows or is_wrong)
    if is_wrong:
        what = "control question" if part == "controls" else "question"
        why = "its id does not follow from the study's secret key and what it asks"
        findings.add(f"{what} {told['id']}: {why}")


def _compute(part: str, told: Mapping[str, Any], key: bytes) -> list[str]:
    """Return the recomputed id of a row; empty if a column has an impossible type."""
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
    """A frozen design.

    Attributes
    ----------
    event, at
        Position and time of the event.
    answers
        Number of answers at that time; 0 is before the first.
    numbers
        Kind of row → number of drawn rows.
    changes
        Settings that differ from the previous freeze, in words.
    """

    event: int
    at: str
    answers: int
    numbers: dict[str, int]
    changes: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Result of an audit of a database or a bundle.

    Attributes
    ----------
    findings
        Violations; for a bundle with line numbers.
    events, head
        Number of events, and the newest link; for a bundle the last chain value.
    covered
        Number of events that a given head covers; None if none was given, or if no link equals it.
    answers, uncovered, unchecked
        Number of answers; of those without an event, stored by an older version; and of those in a batch of
        which a later event replaced a part, so that its digest cannot be checked.
    redacted
        Number of events whose content was partly erased, for a withdrawn item or an erased person.
    freezes
        The frozen designs, oldest first; empty if nothing is covered.
    ids
        Result of checking ids; sealed ones need the key.
    comments, forgotten
        Number of comments that match their events, and of erased ones.
    drawn
        Whether any question was drawn.
    study, lines, link
        For a bundle: name of its study, number of lines, and the newest link of the study's events.
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
    comments: int
    forgotten: int
    drawn: bool
    study: str = ""
    lines: int = 0
    link: str = ""


class AuditCheck:
    """Checks events, design, answers and handovers of a study against each other.

    Events come first, then the rows of the design, then answers and handovers. Memory grows with the
    answers that arrived one by one.

    Parameters
    ----------
    head
        A link recorded earlier, or None.
    key
        The study's key; empty if it has none, None if it is not available.
    """

    def __init__(self, head: str | None = None, key: bytes | None = b"") -> None:
        self.findings = AuditFindings()
        self.trail, self.ids = TrailCheck(self.findings, head), CheckedIds()
        self.key = key
        self.parts = {name: RowsDigest() for name in DESIGN_PARTS}
        self._answers: dict[str, AnswerCheck] = {}
        self._about: dict[str, AuditRecord] = {}
        self._handed: dict[str, Handover] = {}

    @property
    def answers(self) -> int:
        """Number of answers so far."""
        return sum(check.number for check in self._answers.values())

    @property
    def uncovered(self) -> int:
        """Number of answers without an event."""
        return sum(check.uncovered for check in self._answers.values())

    def add_event(self, event: AuditRecord) -> None:
        """Check the next event."""
        self.trail.check_event(event)
        if event.asked_id and event.kind in ("answer", "withdrawn"):
            self._about[event.asked_id] = event

    def add_row(self, part: str, told: Mapping[str, Any]) -> None:
        """Add the next row of a part of the design, column → value; an unknown place is left out."""
        names = DESIGN_PARTS[part].columns
        self.parts[part].add([[told[name] for name in names if name != "place" or name in told]])
        _check_id(self.ids, part, told, self.key, self.findings)

    def add_answer(self, table: str, answer: StoredAnswerValue) -> tuple[int | None, int | None]:
        """Check the next answer, with its last own event and its batch."""
        if table not in self._answers:
            batches = self.trail.batches.get(table, ())
            self._answers[table] = AnswerCheck(table, batches, self.findings, self.trail.allowed)
        last = self._about.pop(answer.asked_id, None)
        event = last.position if last else None
        batch = self._answers[table].check_answer(answer, event)
        if last is not None and batch is None:
            compare_with_event(answer, last, table, self.findings)
        return event, batch

    def add_handover(self, handover: Handover) -> None:
        """Add a reassigned question."""
        self._handed[handover.asked_id] = handover

    def end(self) -> int:
        """Report what is missing; return how many answers cannot be checked."""
        allowed = self.trail.allowed
        if allowed and self.uncovered > allowed:
            told = f"{allowed:,} were there when the design was frozen first"
            self.findings.add(f"{self.uncovered:,} answers have no event, and {told}")
        for name, last in sorted(self._about.items(), key=lambda pair: pair[1].position):
            if last.kind == "answer":
                self.findings.add(f"the answer to question {name}, of event {last.position}, is missing")
        _check_handovers(self._handed, self.trail, self.findings)
        return sum(check.end(self.trail.last_withdrawn) for check in self._answers.values())

    def compare_design(self, numbers: Mapping[str, int]) -> None:
        """Compare the rows of these parts, given their numbers, with the last frozen design."""
        if self.trail.designs:
            found = {name: {"number": n, "digest": self.parts[name].digest()} for name, n in numbers.items()}
            for text in compare_parts(self.trail.designs[-1].detail, found):
                self.findings.add(text)

    def make_result(self, head: str, unchecked: int, **of_bundle: Any) -> Audit:
        """Return the result."""
        trail = self.trail
        return Audit(
            findings=self.findings, events=trail.events, head=head, covered=trail.covered,
            comments=trail.comments, forgotten=trail.forgotten, answers=self.answers,
            uncovered=self.uncovered, unchecked=unchecked, redacted=len(trail.redacted),
            freezes=list(_list_freezes(trail)), ids=self.ids,
            drawn=any(rows.number for rows in self.parts.values()), **of_bundle,
        )  # fmt: skip


def check_head(head: str | None) -> str | None:
    """Return a given head in lower case.

    Raises
    ------
    BadInput
        If it is malformed.
    """
    if head is None:
        return None
    if not re.fullmatch("[0-9a-f]{64}", head.strip().lower()):
        raise BadInput(f"--head: a head has 64 hexadecimal digits, not {head!r}")
    return head.strip().lower()


def _check_handovers(stored: Mapping[str, Handover], trail: TrailCheck, findings: AuditFindings) -> None:
    """Compare reassigned questions, and their places in the queue, with the events."""
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


def _list_freezes(trail: TrailCheck) -> Iterator[Freeze]:
    """List the frozen designs of a trail, each with its changes since the previous one."""
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
