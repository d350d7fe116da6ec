"""Check the events of a trail in order, and collect what they record about answers and design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oversight.harness.analysis.audit.answer_check import AuditFindings, BatchCheck
from oversight.harness.store import START, AuditRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedHandover:
    """A reassigned question's original expert (`giver`) and last new expert (`taker`), from its events."""

    event: int
    giver: str
    taker: str
    place: int | None
    tells_place: bool


class TrailCheck:
    """Check of an audit trail's events in order; memory does not grow with events about single answers.

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
        Person, annotation and version → event that recorded this version of the annotation.
    redacted
        Position of a redacted event → seal, the hash of its remaining content.
    allowed
        Number of answers that may lack an event, because they existed when the first design was frozen;
        None if unknown.
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
        # if only this link was altered, the next link still follows from the recomputed one
        ok = record.link in follows
        self._before = (record.link,) if ok else tuple({record.link, *filter(None, follows)})
        self.head, self._next = str(record.link), (place if isinstance(place, int) else self._next) + 1

    def end(self) -> None:
        """Report redacted events whose remaining content differs from the seal in a later event."""
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
