"""Check that the audit trail, the answers and the design agree, in a database or in a bundle."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oversight.harness.analysis.audit.design_freeze import compare_parts, find_changes
from oversight.harness.analysis.audit.trail_check import (
    AnswerCheck,
    AuditFindings,
    TrailCheck,
    compare_with_event,
)
from oversight.harness.errors import BadInput
from oversight.harness.registry import PROTOCOLS
from oversight.harness.store import DESIGN_PARTS, AuditRecord, Handover, RowsDigest, StoredAnswerValue
from oversight.harness.types import SECOND_QUESTIONS, control_id, is_erased, question_id, seal_ids


@dataclass(slots=True, kw_only=True)
class CheckedIds:
    """Result of recomputing the ids of questions.

    Attributes
    ----------
    sealed
        Whether ids are derived from the study's secret key. If they are not, the first questions were drawn
        by an older version, and anybody who knows the seed can identify control questions.
    checked
        Number of ids that were recomputed.
    unchecked
        Number of ids that could not be recomputed, because the key is missing, another program drew the
        question, or the expert's name was erased.
    """

    sealed: bool = False
    checked: int = 0
    unchecked: int = 0


def _compute(part: str, told: Mapping[str, Any], key: bytes) -> list[str]:
    """Recompute the id of a row; return it in a list, which is empty if a column has an impossible type."""
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
    """State of the design that an event of the audit trail recorded.

    Attributes
    ----------
    event, at
        Position and time of the event that froze the design.
    answers
        Number of answers stored at that time; 0 means frozen before the first answer.
    numbers
        Part of the design → number of its rows; empty parts are left out.
    changes
        One sentence per setting that changed since the previous freeze.
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
        Violations; for a bundle, their texts contain line numbers.
    events, head
        Number of events; last link (hash) of their chain. For a bundle, `head` is the chain value of its last
        line.
    covered
        Number of events up to the event whose link is the given head; None if no head was given or no event
        has this link.
    answers, uncovered, unchecked
        Number of all answers; number of answers that have no event because an older version stored them;
        number of answers in batches whose digest cannot be checked because some answers of the batch were
        replaced or withdrawn.
    redacted
        Number of events whose content was partly erased because an item was withdrawn or a person erased.
    freezes
        The frozen designs, oldest first; empty if no design was frozen.
    ids
        Result of recomputing ids. Ids that depend on a secret key can be recomputed only if the key is given.
    comments, forgotten
        Number of comments that match their digests, and number of erased comments.
    drawn
        Whether any part of the design has rows.
    study, lines, link
        For a bundle: its study's name, its number of lines, and the newest link of the study's events.
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
    """Check of a study's events, design, answers and handovers against each other.

    Callers must add events first, then the rows of the design, then answers and handovers. Memory grows with
    the number of answers that have a separate event.

    Parameters
    ----------
    head
        Link that was recorded earlier, to look for in the chain of events; None if no link is known.
    key
        The secret key from which the study's question ids are computed; empty if the study has no key, None
        if the key is not available.
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
    def uncovered(self) -> int:
        """Number of answers added so far that have no event."""
        return sum(check.uncovered for check in self._answers.values())

    def add_event(self, event: AuditRecord) -> None:
        """Check the next event."""
        self.trail.check_event(event)
        if event.asked_id and event.kind in ("answer", "withdrawn"):
            self._about[event.asked_id] = event

    def add_row(self, part: str, told: Mapping[str, Any]) -> None:
        """Add the next row of a part of the design; `told` maps columns to values. ``place`` is optional."""
        names = DESIGN_PARTS[part].columns
        self.parts[part].add([[told[name] for name in names if name != "place" or name in told]])
        if part in ("questions", "controls"):
            self._check_id(part, told)

    def add_answer(self, table: str, answer: StoredAnswerValue) -> tuple[int | None, int | None]:
        """Check the next answer of a table.

        Returns two positions: that of the last event about this answer alone, and that of the event of the
        answer's batch. Each is None if its event does not exist.
        """
        if table not in self._answers:
            self._answers[table] = AnswerCheck(table, self.trail, self.findings)
        last = self._about.pop(answer.asked_id, None)
        event = last.position if last else None
        batch = self._answers[table].check_answer(answer, event)
        if last is not None and batch is None:
            compare_with_event(answer, last, table, self.findings)
        return event, batch

    def add_handover(self, handover: Handover) -> None:
        """Add to this check a question that was reassigned to another expert."""
        self._handed[handover.asked_id] = handover

    def end(self) -> int:
        """Report answers and events that are missing, and handovers that are wrong.

        Returns the number of answers that cannot be checked.
        """
        allowed = self.trail.allowed
        if allowed and self.uncovered > allowed:
            told = f"there were only {allowed:,} answers when the design was first frozen"
            self.findings.add(f"{self.uncovered:,} answers have no event, but {told}")
        for name, last in sorted(self._about.items(), key=lambda pair: pair[1].position):
            if last.kind == "answer":
                self.findings.add(f"the answer to question {name}, of event {last.position}, is missing")
        self._check_handovers()
        return sum(check.end() for check in self._answers.values())

    def compare_design(self, numbers: Mapping[str, int]) -> None:
        """Compare the design's parts with the last frozen design; `numbers` maps parts to numbers of rows."""
        if self.trail.designs:
            found = {name: {"number": n, "digest": self.parts[name].digest()} for name, n in numbers.items()}
            self.findings.add(*compare_parts(self.trail.designs[-1].detail, found))

    def _check_id(self, part: str, told: Mapping[str, Any]) -> None:
        """Recompute the id of a question or control question, and report a wrong id."""
        key, found = self.key, self.ids
        found.sealed = key != b""
        if is_erased(told["expert"]):  # a control question's id cannot be computed without the expert's name
            found.unchecked += 1
            return
        follows = key is not None and _compute(part, told, key) == [told["id"]]
        is_known = part == "controls" or told["protocol"] in (*PROTOCOLS, SECOND_QUESTIONS)
        is_wrong = bool(key) and not follows and is_known
        found.checked += follows or is_wrong
        # a wrong id is no violation if no key is available or another program drew the question
        found.unchecked += not (follows or is_wrong)
        if is_wrong:
            what = "control question" if part == "controls" else "question"
            why = "its id does not follow from the study's secret key and what it asks"
            self.findings.add(f"{what} {told['id']}: {why}")

    def _check_handovers(self) -> None:
        """Compare reassigned questions, and their places in the original expert's queue, with the events."""
        stored, handed, findings = self._handed, self.trail.handed, self.findings
        for name in dict.fromkeys([*stored, *handed]):
            found, told = stored.get(name), handed.get(name)
            if (found and found.taker) != (told and told.taker):
                by = f"event {told.event} says {told.taker!r}" if told else "no event records this"
                now = f"handed over to {found.taker!r}" if found else "not handed over"
                findings.add(f"question {name} is {now}, but {by}")
            elif found and told and found.giver != told.giver:
                findings.add(f"question {name} was put to {found.giver!r}, but its events say {told.giver!r}")
            elif found and told and told.tells_place and found.place != told.place:
                findings.add(
                    f"question {name} had place {found.place} in its first expert's queue, but event "
                    f"{told.event} says {told.place}"
                )

    def make_result(self, head: str, unchecked: int, **of_bundle: Any) -> Audit:
        """Return the audit's result; `of_bundle` contains the fields that only a bundle's audit has."""
        trail = self.trail
        return Audit(
            findings=self.findings, events=trail.events, head=head, covered=trail.covered,
            comments=trail.comments, forgotten=trail.forgotten,
            answers=sum(check.number for check in self._answers.values()),
            uncovered=self.uncovered, unchecked=unchecked, redacted=len(trail.redacted),
            freezes=list(_list_freezes(trail)), ids=self.ids,
            drawn=any(rows.number for rows in self.parts.values()), **of_bundle,
        )  # fmt: skip


def check_head(head: str | None) -> str | None:
    """Return `head` in lower case.

    Raises
    ------
    BadInput
        If `head` does not have 64 hexadecimal digits.
    """
    if head is None:
        return None
    if not re.fullmatch("[0-9a-f]{64}", head.strip().lower()):
        raise BadInput(f"--head: a head has 64 hexadecimal digits, not {head!r}")
    return head.strip().lower()


def _list_freezes(trail: TrailCheck) -> Iterator[Freeze]:
    """Yield the frozen designs of a trail, each with its changes since the previous freeze."""
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
