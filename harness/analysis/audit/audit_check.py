"""What both audits check, of a database and of a bundle: events, answers and design against each other."""

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
from oversight.harness.store import DESIGN_PARTS, AuditRecord, Handover, KeptAnswer, RowsDigest
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

    def add(self, part: str, told: Mapping[str, Any]) -> None:
        """Check a row of a part of the design, column → value."""
        if part not in ("questions", "controls"):
            return
        self.found.sealed = self.key != b""
        if is_erased(told["expert"]):  # of a control question's id the name is a part
            self.found.unchecked += 1
            return
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


def _compute(part: str, told: Mapping[str, Any], key: bytes) -> list[str]:
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
        What does not hold; of a bundle by the number of the line.
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
    comments, forgotten
        Comments that are those of their events, and those whose text was forgotten.
    drawn
        Whether anything was drawn.
    study, lines, link
        Of a bundle: name of the study that it says to be of, number of lines, and the newest link of the
        study's events.
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
    """Events, design, answers and handovers of a study, held against each other.

    All events come first, then the rows of the design, then answers and handovers. It takes the memory of the
    answers that came one by one.

    Parameters
    ----------
    head
        A link that was noted at some time; None if none was.
    key
        The study's key, as `IdCheck` takes it.
    """

    def __init__(self, head: str | None = None, key: bytes | None = b"") -> None:
        self.findings = AuditFindings()
        self.trail, self.ids = TrailCheck(self.findings, head), IdCheck(self.findings, key)
        self.parts = {name: RowsDigest() for name in DESIGN_PARTS}
        self._answers: dict[str, AnswerCheck] = {}
        self._about: dict[str, AuditRecord] = {}
        self._handed: dict[str, Handover] = {}

    @property
    def answers(self) -> int:
        """How many answers came."""
        return sum(check.number for check in self._answers.values())

    @property
    def uncovered(self) -> int:
        """How many answers no event tells of."""
        return sum(check.uncovered for check in self._answers.values())

    def add_event(self, event: AuditRecord) -> None:
        """Check the next event."""
        self.trail.add(event)
        if event.asked_id and event.kind in ("answer", "withdrawn"):
            self._about[event.asked_id] = event

    def add_row(self, part: str, told: Mapping[str, Any]) -> None:
        """Add the next row of a part of the design, column → value; a place that is not known is left out."""
        names = DESIGN_PARTS[part].columns
        self.parts[part].add([[told[name] for name in names if name != "place" or name in told]])
        self.ids.add(part, told)

    def add_answer(self, table: str, answer: KeptAnswer) -> tuple[int | None, int | None]:
        """Add the next answer; the place of the last event about it alone, and of the batch it came in."""
        if table not in self._answers:
            batches = self.trail.batches.get(table, ())
            self._answers[table] = AnswerCheck(table, batches, self.findings, self.trail.allowed)
        last = self._about.pop(answer.asked_id, None)
        event = last.position if last else None
        batch = self._answers[table].add(answer, event)
        if last is not None and batch is None:
            compare_with_event(answer, last, table, self.findings)
        return event, batch

    def add_handover(self, handover: Handover) -> None:
        """Add a question that somebody else answers."""
        self._handed[handover.asked_id] = handover

    def end(self) -> int:
        """Tell what is missing; how many answers nothing can be said of."""
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
        """Hold the rows of these parts, of which there are so many, against the design frozen last."""
        if self.trail.designs:
            found = {name: {"number": n, "digest": self.parts[name].digest()} for name, n in numbers.items()}
            for text in compare_parts(self.trail.designs[-1].detail, found):
                self.findings.add(text)

    def tell(self, head: str, unchecked: int, **of_bundle: Any) -> Audit:
        """Return what was found."""
        trail = self.trail
        return Audit(
            findings=self.findings, events=trail.events, head=head, covered=trail.covered,
            comments=trail.comments, forgotten=trail.forgotten, answers=self.answers,
            uncovered=self.uncovered, unchecked=unchecked, redacted=len(trail.redacted),
            freezes=list(_list_freezes(trail)), ids=self.ids.found,
            drawn=any(rows.number for rows in self.parts.values()), **of_bundle,
        )  # fmt: skip


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


def _check_handovers(stored: Mapping[str, Handover], trail: TrailCheck, findings: AuditFindings) -> None:
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


def _list_freezes(trail: TrailCheck) -> Iterator[Freeze]:
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
