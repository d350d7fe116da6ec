"""Check a trail's events in order, and compare the stored answers with the events."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from oversight.harness.store import START, AuditRecord, BatchDigest, StoredAnswerValue

_PORTION = 2_000
_MOST_SHOWN = 20
"""Maximum number of violations kept as text; `AuditFindings.number` counts all."""


@dataclass(slots=True)
class AuditFindings:
    """Violations found by an audit: `number` counts all of them, `shown` has the texts of the first ones.

    Examples
    --------
    >>> found = AuditFindings()
    >>> found.add("question 00ab was answered twice")
    >>> found.lines()
    ['question 00ab was answered twice']
    """

    shown: list[str] = field(default_factory=list)
    number: int = 0

    def add(self, *texts: str) -> None:
        """Add violations."""
        self.number += len(texts)
        self.shown += texts[: _MOST_SHOWN - len(self.shown)]

    def lines(self) -> list[str]:
        """Return `shown`, plus a line with the number of violations that are not shown."""
        more = self.number - len(self.shown)
        return [*self.shown, *([f"and {more:,} more"] if more else [])]


class BatchCheck:
    """Check of answers that were stored as one batch, against the digest in the audit event of this batch.

    Raises
    ------
    KeyError, TypeError, ValueError
        If a field that describes the batch is missing from the event or has a wrong type.
    """

    def __init__(self, record: AuditRecord) -> None:
        self.event, self.table = record.position, str(record.detail["table"])
        self.first, self.last = int(record.detail["first"]), int(record.detail["last"])
        self._number, self._digest = int(record.value), str(record.detail["digest"])
        self._ways = record.way.split(", ")
        self._found, self._replaced = BatchDigest(), 0
        self._foreign = 0
        self._portion: list[tuple[str, str, str]] = []

    def check_answer(self, asked_id: str, person: str, value: str, source: str) -> None:
        """Add the next stored answer to the batch's digest, which `end` compares with the recorded digest."""
        self._foreign += source not in self._ways
        self._portion.append((asked_id, person, value))
        if len(self._portion) == _PORTION:
            self._flush()

    def replace(self) -> None:
        """Count one answer of this batch as replaced by a later event."""
        self._replaced += 1

    def _flush(self) -> None:
        if self._portion:
            self._found.add(*zip(*self._portion, strict=True))
            self._portion = []

    def end(self, findings: AuditFindings, last_withdrawn: Mapping[str, int]) -> int:
        """Report whether the batch's answers differ from the digest in its event.

        If some answers were replaced or withdrawn, the batch cannot be checked. Returns the number of
        answers that cannot be checked.
        """
        self._flush()
        number = self._found.number
        name = f"the batch of event {self.event} ({self.table} {self.first} to {self.last})"
        if self._foreign:
            ways = ", ".join(self._ways)
            findings.add(f"{name}: {self._foreign:,} of its answers have another source than {ways}")
        if number == self._number and self._found.digest() == self._digest:
            return 0
        withdrawn = any(last_withdrawn.get(way, -1) > self.event for way in self._ways)
        if self._replaced or (withdrawn and number < self._number):
            return number
        if number == self._number:
            findings.add(
                f"{name}: its answers differ from those received in question, person, value or order"
            )
        else:
            findings.add(f"{name}: {self._number:,} answers were received, {number:,} are stored")
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedHandover:
    """A reassigned question's original expert (`giver`) and last new expert (`taker`), from its events."""

    event: int
    giver: str
    taker: str
    place: int | None
    tells_place: bool


class TrailCheck:
    """Check of an audit trail's events in order. Events about single answers are not kept in memory.

    Parameters
    ----------
    findings
        Receives the violations.
    head
        Link recorded earlier, which the chain must contain, or None.

    Attributes
    ----------
    events
        Number of events checked.
    head
        Link of the last event.
    covered
        Number of events up to the event whose link is the given head; None if no event has this link.
    comments, forgotten
        Number of comments that match their digests, and number of erased comments.
    batches
        Table → its batches of answers.
    designs
        The frozen designs, oldest first.
    handed
        Question → its handover according to its events.
    looks
        Number of an interim analysis → content of its event.
    revisions
        (Person, annotation, version) → event that recorded this version of the annotation.
    redacted
        Position of a redacted event → seal, the hash of its remaining content.
    allowed
        Number of answers that need no event, because they existed when the first design was frozen; None if
        unknown.
    """

    def __init__(self, findings: AuditFindings, head: str | None = None) -> None:
        self.events, self.head, self.comments, self.forgotten = 0, START, 0, 0
        self.covered = 0 if head == START else None
        self.batches: dict[str, list[BatchCheck]] = {}
        self.designs: list[AuditRecord] = []
        self.allowed: int | None = None
        self.last_withdrawn: dict[str, int] = {}
        self.handed: dict[str, RecordedHandover] = {}
        self.looks: dict[int, dict[str, Any]] = {}
        self.revisions: dict[tuple[str, int, str], AuditRecord] = {}
        self.redacted = dict[int, str]()
        self._seals = dict[int, str]()
        self._noted, self._findings = head, findings
        self._before: tuple[str, ...] = (START,)
        self._next, self._answered = 0, False

    def check_event(self, record: AuditRecord) -> None:
        """Check the next event."""
        self.events += 1
        self._check_link(record)
        self._check_comment(record)
        if record.link == self._noted:
            self.covered = self.events
        try:
            self._take(record)
        except (KeyError, TypeError, ValueError, AttributeError):
            self._findings.add(
                f"{_name(record)}: it lacks a field that its kind requires, or a value is wrong"
            )

    def _check_link(self, record: AuditRecord) -> None:
        follows = [_find_link(record, before) for before in self._before]
        name = _name(record)
        place: object = record.position  # a column in SQLite may contain any type
        if place != self._next and isinstance(place, int) and place > self._next:
            last = place - 1
            which = f"event {last} is" if last == self._next else f"events {self._next} to {last} are"
            self._findings.add(f"{which} missing before {name}")
        elif place != self._next:
            self._findings.add(f"{name}: it is repeated or out of order")
        elif record.link not in follows and record.is_redacted:
            self.redacted[record.position] = record.find_seal()
            follows.append(record.link)
        elif record.link not in follows:
            self._findings.add(f"{name}: its link is wrong: it was altered")
        # If only this link was altered, the next link follows from the recomputed value of this link.
        ok = record.link in follows
        self._before = (record.link,) if ok else tuple({record.link, *filter(None, follows)})
        self.head, self._next = str(record.link), (place if isinstance(place, int) else self._next) + 1

    def end(self) -> None:
        """Report redacted events whose remaining content does not match the hash (seal) in a later event."""
        for place, seal in self.redacted.items():
            if self._seals.get(place) != seal:
                self._findings.add(
                    f"event {place}: it was redacted, but no later event records that: it was altered"
                )

    def _check_comment(self, record: AuditRecord) -> None:
        if not record.comment_digest and not record.comment:
            return
        if record.comment is None:
            self.forgotten += 1
        elif record.holds_comment:
            self.comments += 1
        else:
            self._findings.add(f"{_name(record)}: its comment differs from its digest in the chain")

    def _take(self, record: AuditRecord) -> None:
        """Collect what an event records about answers and design."""
        kind, told = record.kind, record.detail
        if kind == "batch":
            batch = BatchCheck(record)
            self.batches.setdefault(batch.table, []).append(batch)
        elif kind == "withdrawn":
            self.last_withdrawn[record.way] = record.position
        elif kind == "handover":
            first = self.handed.get(record.asked_id)
            self.handed[record.asked_id] = RecordedHandover(
                event=record.position, giver=first.giver if first else told["from"], taker=told["to"],
                place=told.get("place"), tells_place="place" in told,
            )  # fmt: skip
        elif kind == "revision" and "version" in told:
            key = record.person, int(told["annotation_id"]), str(told["version"])
            self.revisions[key] = record
        elif kind == "redacted":
            seals = {int(place): str(seal) for place, seal in told["events"].items()}
            self._seals |= {place: seal for place, seal in seals.items() if place < record.position}
        elif kind == "look":
            self.looks[told["look"]] = told
        elif kind == "design":
            _expect_design(told)
            if not self.designs and not self._answered:
                self.allowed = told["answers"]
            self.designs.append(record)
        self._answered |= kind in ("batch", "answer", "withdrawn")


def _find_link(record: AuditRecord, before: str) -> str:
    """Return an event's link, recomputed from its fields and the link `before`; empty if a type is wrong."""
    try:
        return record.find_link(before)
    except (TypeError, ValueError, RecursionError):
        return ""


def _expect_design(detail: Any) -> None:
    """Raise ValueError unless `detail` is the content of a design event."""
    parts = detail["parts"].values()
    is_one = isinstance(detail["answers"], int) and isinstance(detail["roster"], str)
    is_one = is_one and all(isinstance(p["number"], int) and isinstance(p["digest"], str) for p in parts)
    if not (is_one and isinstance(detail["settings"], dict)):
        raise ValueError("no design")


def _name(record: AuditRecord) -> str:
    about = f", question {record.asked_id}" if record.asked_id else ""
    return f"event {record.position} ({record.kind}{about})"


class AnswerCheck:
    """Check of the answers of one table, which are added in the order of their positions.

    Parameters
    ----------
    table
        Name of the table.
    trail
        The checked events.
    findings
        Receives the violations.

    Attributes
    ----------
    number, uncovered
        Number of answers added; number of these that have no event because an older version stored them.
    """

    def __init__(self, table: str, trail: TrailCheck, findings: AuditFindings) -> None:
        self.table, self.number, self.uncovered = table, 0, 0
        self._batches = sorted(trail.batches.get(table, ()), key=lambda batch: batch.first)
        self._firsts = [batch.first for batch in self._batches]
        self._findings, self._trail = findings, trail

    def _find(self, position: int) -> BatchCheck | None:
        at = bisect_right(self._firsts, position) - 1
        return self._batches[at] if at >= 0 and position <= self._batches[at].last else None

    def check_answer(self, answer: StoredAnswerValue, event: int | None) -> int | None:
        """Check the table's next stored answer against the event that recorded its batch.

        `event` is the position of the last event that records this answer alone; None if there is none.
        Returns the position of the batch's event. Returns None if the answer is in no batch, or if `event` is
        the later of the two events.
        """
        self.number += 1
        position: object = answer.position  # a column in SQLite may contain any type
        batch = self._find(position) if isinstance(position, int) else None
        if event is not None and (batch is None or event > batch.event):
            if batch is not None:
                batch.replace()
            return None
        if batch is not None:
            batch.check_answer(answer.asked_id, answer.person, answer.value, answer.source)
            return batch.event
        told = f"{self.table} {position}: no event records the answer to question {answer.asked_id}"
        if not isinstance(position, int) or (self._firsts and position >= self._firsts[0]):
            self._findings.add(f"{told}, although earlier answers have events")
        elif self._trail.allowed == 0:
            self._findings.add(f"{told}, although there were no answers when the design was frozen")
        else:
            self.uncovered += 1
        return None

    def end(self) -> int:
        """Compare each batch of answers with its digest. Returns how many answers cannot be checked."""
        return sum(batch.end(self._findings, self._trail.last_withdrawn) for batch in self._batches)


def compare_with_event(
    answer: StoredAnswerValue, event: AuditRecord, table: str, findings: AuditFindings
) -> None:
    """Report differences between a stored answer and the last event that records this answer alone."""
    name = f"the answer to question {answer.asked_id} ({table} {answer.position})"
    if event.kind == "withdrawn":
        findings.add(f"{name} is stored, but event {event.position} says that it was withdrawn")
        return
    pairs = {
        "value": (event.value, answer.value),
        "person": (event.person, answer.person),
        "source": (event.way, answer.source),
    }
    for what, (was, now) in pairs.items():
        if was != now:
            findings.add(f"{name}: its {what} is {now!r}, but event {event.position} says {was!r}")
    is_forgotten = event.comment is None and not answer.comment
    if not is_forgotten and not replace(event, comment=answer.comment).holds_comment:
        findings.add(f"{name}: its comment differs from that of event {event.position}")
