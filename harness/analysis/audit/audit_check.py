"""Check that the audit trail, the answers and the design agree, in a database or in a bundle."""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

from oversight.harness.analysis.audit.design_freeze import compare_parts, find_changes
from oversight.harness.errors import BadInput
from oversight.harness.registry import PROTOCOLS
from oversight.harness.store import (
    DESIGN_PARTS,
    START,
    AuditRecord,
    BatchDigest,
    Handover,
    RowsDigest,
    StoredAnswerValue,
)
from oversight.harness.types import SECOND_QUESTIONS, control_id, is_erased, question_id, seal_ids

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


class ChainCheck:
    """Check that numbered entries form one hash chain: the events of a trail, or the lines of a bundle.

    Attributes
    ----------
    next
        Expected number of the next entry.
    head
        Link of the last entry.
    is_linked
        Whether the link of the last entry follows from an earlier one.
    """

    def __init__(self, what: str, first: int) -> None:
        self._what, self.next = what, first
        self.head, self.is_linked = START, True
        self._good = START
        self._before: tuple[str, ...] = (START,)

    def check_entry(
        self, name: str, number: object, link: str, find_link: Callable[[str], str], *, excused: bool = False
    ) -> str:
        """Check the next entry. Returns what is wrong with it, or an empty text.

        `find_link` computes the entry's link from an earlier link. If `excused` is true, a link that cannot
        be recomputed is accepted.
        """
        follows = [find_link(before) for before in self._before]
        self.is_linked = link in follows
        is_good, wrong = self.is_linked or excused, ""
        if number != self.next and isinstance(number, int) and number > self.next:
            last = number - 1
            one, several = f"{self._what} {last} is", f"{self._what}s {self.next} to {last} are"
            wrong = f"{one if last == self.next else several} missing before {name}"
        elif number != self.next:
            wrong = f"{name}: it is repeated or out of order, in place of {self._what} {self.next}"
        elif not is_good:
            wrong = f"{name}: its link is wrong: it was altered"
        if is_good and (self.is_linked or not wrong):
            self._before, self._good = (link,), link
        else:
            # The next link may follow from this link, from this link's recomputed value, or, if this entry
            # was inserted, from the last correct link before it.
            self._before = tuple({link, *filter(None, follows), self._good})
        self.head, self.next = str(link), (number if isinstance(number, int) else self.next) + 1
        return wrong


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
        self._found, self._foreign, self.replaced = BatchDigest(), 0, 0

    def check_answer(self, answer: StoredAnswerValue) -> None:
        """Add the next stored answer to the batch's digest, which `end` compares with the recorded digest."""
        self._foreign += answer.source not in self._ways
        self._found.add([answer.asked_id], [answer.person], [answer.value])

    def end(self, findings: AuditFindings, last_withdrawn: Mapping[str, int]) -> int:
        """Report whether the batch's answers differ from the digest in its event.

        If some answers were replaced or withdrawn, the batch cannot be checked. Returns the number of
        answers that cannot be checked.
        """
        number = self._found.number
        name = f"the batch of event {self.event} ({self.table} {self.first} to {self.last})"
        if self._foreign:
            ways = ", ".join(self._ways)
            findings.add(f"{name}: {self._foreign:,} of its answers have another source than {ways}")
        if number == self._number and self._found.digest() == self._digest:
            return 0
        withdrawn = any(last_withdrawn.get(way, -1) > self.event for way in self._ways)
        if self.replaced or (withdrawn and number < self._number):
            return number
        told = f"{self._number:,} answers were received, {number:,} are stored"
        if number == self._number:
            told = "its answers differ from those received in question, person, value or order"
        findings.add(f"{name}: {told}")
        return 0


T = TypeVar("T")


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


@dataclass(slots=True, kw_only=True)
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

    findings: AuditFindings = field(default_factory=AuditFindings)
    events: int = 0
    head: str = START
    covered: int | None = None
    answers: int = 0
    uncovered: int = 0
    unchecked: int = 0
    redacted: int = 0
    freezes: list[Freeze] = field(default_factory=list)
    ids: CheckedIds = field(default_factory=CheckedIds)
    comments: int = 0
    forgotten: int = 0
    drawn: bool = False
    study: str = ""
    lines: int = 0
    link: str = ""


class AuditCheck:
    """Check of a study's events, design, answers and reassigned questions against each other.

    Callers must add events first, then the rows of the design, then answers and reassigned questions. Memory
    grows with the number of answers that have a separate event.

    Parameters
    ----------
    head
        Link that was recorded earlier, to look for in the chain of events; None if no link is known.
    key
        The secret key from which the study's question ids are computed; empty if the study has no key, None
        if the key is not available.

    Attributes
    ----------
    result
        Result of the audit so far.
    designs
        Events about frozen designs, oldest first.
    looks
        Number of an interim analysis → content of its event.
    revisions
        (Person, annotation, version) → event that recorded this version of the annotation.
    """

    def __init__(self, head: str | None = None, key: bytes | None = b"") -> None:
        self.result = Audit(covered=0 if head == START else None)
        self.findings, self.key = self.result.findings, key
        self.parts = {name: RowsDigest() for name in DESIGN_PARTS}
        self.designs: list[AuditRecord] = []
        self.looks: dict[int, Mapping[str, Any]] = {}
        self.revisions: dict[tuple[str, int, str], AuditRecord] = {}
        self._given, self._chain, self._answered = head, ChainCheck("event", 0), False
        self._allowed: int | None = None
        self._batches = defaultdict[str, list[BatchCheck]](list)
        self._last_withdrawn: dict[str, int] = {}
        self._redacted, self._seals = dict[int, str](), dict[int, str]()
        self._about: dict[str, AuditRecord] = {}
        self._told: dict[str, dict[str, Any]] = {}
        self._handed: dict[str, Handover] = {}

    def add_event(self, record: AuditRecord) -> None:
        """Check the next event."""
        found, name = self.result, _name(record)
        found.events += 1
        find_link = partial(_find_link, record)
        wrong = self._chain.check_entry(
            name, record.position, record.link, find_link, excused=record.is_redacted
        )
        found.head = self._chain.head
        if wrong:
            self.findings.add(wrong)
        elif not self._chain.is_linked:
            self._redacted[record.position] = record.find_seal()
        if record.comment is None:
            found.forgotten += bool(record.comment_digest)
        elif not record.holds_comment:
            self.findings.add(f"{name}: its comment differs from its digest in the chain")
        else:
            found.comments += bool(record.comment_digest)
        if record.link == self._given:
            found.covered = found.events
        self.take_safely(name, self._take, record)

    def take_safely(self, name: str, take: Callable[[T], None], entry: T) -> None:
        """Collect what an event or line called `name` records, or report that the entry is malformed."""
        try:
            take(entry)
        except (KeyError, TypeError, ValueError, AttributeError):
            self.findings.add(f"{name}: it lacks a field that its kind requires, or a value is wrong")

    def _take(self, record: AuditRecord) -> None:
        """Collect what an event records about answers and design."""
        kind, told = record.kind, record.detail
        if record.asked_id and kind in ("answer", "withdrawn"):
            self._about[record.asked_id] = record
        if kind == "batch":
            batch = BatchCheck(record)
            insort(self._batches[batch.table], batch, key=attrgetter("first"))
        elif kind == "withdrawn":
            self._last_withdrawn[record.way] = record.position
        elif kind == "handover":
            first = self._told.get(record.asked_id, {"giver": told["from"]})
            place = {"place": told["place"]} if "place" in told else {}
            self._told[record.asked_id] = {
                "event": record.position, "giver": first["giver"], "taker": told["to"], **place,
            }  # fmt: skip
        elif kind == "revision" and "version" in told:
            self.revisions[record.person, int(told["annotation_id"]), str(told["version"])] = record
        elif kind == "redacted":
            seals = {int(place): str(seal) for place, seal in told["events"].items()}
            self._seals |= {place: seal for place, seal in seals.items() if place < record.position}
        elif kind == "look":
            self.looks[told["look"]] = told
        elif kind == "design":
            self._take_design(record)
        self._answered |= kind in ("batch", "answer", "withdrawn")

    def _take_design(self, record: AuditRecord) -> None:
        """Collect a frozen design, with its changes since the previous freeze."""
        told = record.detail
        parts = told["parts"].values()
        is_one = isinstance(told["answers"], int) and isinstance(told["roster"], str)
        is_one = is_one and all(isinstance(p["number"], int) and isinstance(p["digest"], str) for p in parts)
        if not (is_one and isinstance(told["settings"], dict)):
            raise ValueError("no design")
        changes = []
        if self.designs:
            changes = find_changes(self.designs[-1].detail, told, then="before", now="then")
        elif not self._answered:
            self._allowed = told["answers"]
        numbers = {name: part["number"] for name, part in told["parts"].items() if part["number"]}
        self.designs.append(record)
        freeze = Freeze(
            event=record.position, at=record.at, answers=told["answers"], numbers=numbers, changes=changes
        )
        self.result.freezes.append(freeze)

    def end_events(self) -> None:
        """Report redacted events whose remaining content does not match the hash (seal) in a later event."""
        self.result.redacted = len(self._redacted)
        for place, seal in self._redacted.items():
            if self._seals.get(place) != seal:
                why = "it was redacted, but no later event records that: it was altered"
                self.findings.add(f"event {place}: {why}")

    def add_row(self, part: str, told: Mapping[str, Any]) -> None:
        """Add the next row of a part of the design; `told` maps columns to values, and can lack ``place``."""
        names = DESIGN_PARTS[part].columns
        self.parts[part].add([[told[name] for name in names if name != "place" or name in told]])
        self.result.drawn = True
        if part in ("questions", "controls"):
            self._check_id(part, told)

    def add_answer(self, table: str, answer: StoredAnswerValue) -> tuple[int | None, int | None]:
        """Check the next answer of a table.

        Returns two positions: that of the last event about only this answer, and that of the event of the
        answer's batch. Each is None if its event does not exist.
        """
        last = self._about.pop(answer.asked_id, None)
        self.result.answers += 1
        batch = self._check_answer(table, answer, last)
        return last.position if last else None, batch

    def _check_answer(self, table: str, answer: StoredAnswerValue, last: AuditRecord | None) -> int | None:
        """Check an answer against its batch's event, or against `last` if this event is later.

        `last` is the last event about only this answer. Returns the position of the batch's event; None if
        the answer is in no batch, or `last` is later.
        """
        position: object = answer.position  # a column in SQLite may contain any type
        batch, batches = None, self._batches[table]
        if isinstance(position, int):
            place = bisect_right(batches, position, key=attrgetter("first")) - 1
            batch = batches[place] if place >= 0 and position <= batches[place].last else None
        if last is not None and (batch is None or last.position > batch.event):
            if batch is not None:
                batch.replaced += 1
            self._compare(table, answer, last)
            return None
        if batch is not None:
            batch.check_answer(answer)
            return batch.event
        told = f"{table} {position}: no event records the answer to question {answer.asked_id}"
        if not isinstance(position, int) or (batches and position >= batches[0].first):
            self.findings.add(f"{told}, although earlier answers have events")
        elif self._allowed == 0:
            self.findings.add(f"{told}, although there were no answers when the design was frozen")
        else:
            self.result.uncovered += 1
        return None

    def _compare(self, table: str, answer: StoredAnswerValue, event: AuditRecord) -> None:
        """Report differences between a stored answer and the last event about only this answer.

        Events about whole batches of answers are checked elsewhere.
        """
        name = f"the answer to question {answer.asked_id} ({table} {answer.position})"
        if event.kind == "withdrawn":
            told = f"{name} is stored, but event {event.position} says that it was withdrawn"
            self.findings.add(told)
            return
        for what, was in (("value", event.value), ("person", event.person), ("source", event.way)):
            now = getattr(answer, what)
            if was != now:
                self.findings.add(f"{name}: its {what} is {now!r}, but event {event.position} says {was!r}")
        is_forgotten = event.comment is None and not answer.comment
        if not is_forgotten and not replace(event, comment=answer.comment).holds_comment:
            self.findings.add(f"{name}: its comment differs from that of event {event.position}")

    def add_handover(self, handover: Handover) -> None:
        """Add to this check a question that was reassigned to another expert."""
        self._handed[handover.asked_id] = handover

    def end(self) -> None:
        """Report missing answers, missing events, and reassigned questions that contradict the events."""
        uncovered = self.result.uncovered
        if self._allowed and uncovered > self._allowed:
            told = f"there were only {self._allowed:,} answers when the design was first frozen"
            self.findings.add(f"{uncovered:,} answers have no event, but {told}")
        for name, last in sorted(self._about.items(), key=lambda pair: pair[1].position):
            if last.kind == "answer":
                self.findings.add(f"the answer to question {name}, of event {last.position}, is missing")
        self._check_handovers()
        batches = [batch for own in self._batches.values() for batch in own]
        self.result.unchecked = sum(batch.end(self.findings, self._last_withdrawn) for batch in batches)

    def compare_design(self, numbers: Mapping[str, int]) -> None:
        """Compare the design's parts with the last frozen design; `numbers` maps parts to numbers of rows."""
        if self.designs:
            found = {name: {"number": n, "digest": self.parts[name].digest()} for name, n in numbers.items()}
            self.findings.add(*compare_parts(self.designs[-1].detail, found))

    def _check_id(self, part: str, told: Mapping[str, Any]) -> None:
        """Recompute the id of a question or control question, and report a wrong id."""
        key, found = self.key, self.result.ids
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
        for name in dict.fromkeys([*self._handed, *self._told]):
            found, told = self._handed.get(name), self._told.get(name)
            if found is None or told is None or found.taker != told["taker"]:
                by = f"event {told['event']} says {told['taker']!r}" if told else "no event records this"
                now = f"handed over to {found.taker!r}" if found else "not handed over"
                self.findings.add(f"question {name} is {now}, but {by}")
            elif found.giver != told["giver"]:
                by = f"its events say {told['giver']!r}"
                self.findings.add(f"question {name} was put to {found.giver!r}, but {by}")
            elif found.place != told.get("place", found.place):
                by = f"event {told['event']} says {told['place']}"
                had = f"had place {found.place} in its first expert's queue"
                self.findings.add(f"question {name} {had}, but {by}")


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


def _find_link(record: AuditRecord, before: str) -> str:
    """Return an event's link, recomputed from its fields and the link `before`; empty if a type is wrong."""
    try:
        return record.find_link(before)
    except (TypeError, ValueError, RecursionError):
        return ""


def _name(record: AuditRecord) -> str:
    about = f", question {record.asked_id}" if record.asked_id else ""
    return f"event {record.position} ({record.kind}{about})"
