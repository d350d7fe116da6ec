"""The audit of a study's own database: events, answers, comments and the frozen design against each other.

The design is frozen by its hash in the audit trail whenever questions are drawn. A ``design`` event holds
number and digest of everything that was drawn, the settings that decide the design and the looks, and how
many answers were stored at that moment: 0 is before the first one.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from oversight.harness.config import Study
from oversight.harness.errors import BadInput, StoreError
from oversight.harness.output import read_text
from oversight.harness.registry import PROTOCOLS
from oversight.harness.store import (
    DESIGN_PARTS,
    REPLY_TABLES,
    START,
    AuditEvent,
    AuditRecord,
    BatchDigest,
    Handover,
    KeptAnswer,
    RowsDigest,
    Store,
    has_database,
)
from oversight.harness.types import SECOND_QUESTIONS, control_id, question_id, seal_ids

_PORTION = 2_000
_MOST_SHOWN = 20
"""Findings that are kept to be shown; all are counted."""


@dataclass(slots=True)
class AuditFindings:
    """What does not hold; `number` counts all, `shown` has the first."""

    shown: list[str] = field(default_factory=list)
    number: int = 0

    def add(self, text: str) -> None:
        """Add a finding."""
        self.number += 1
        if self.number <= _MOST_SHOWN:
            self.shown.append(text)

    def lines(self) -> list[str]:
        """The findings for people, and how many more there are."""
        more = self.number - len(self.shown)
        return [*self.shown, *([f"and {more:,} more"] if more else [])]


class BatchCheck:
    """Answers that came together, of which one event holds a digest; `event` is its place.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the event does not tell what a batch does.
    """

    def __init__(self, record: AuditRecord) -> None:
        self.event, self.table = record.position, str(record.detail["table"])
        self.first, self.last = int(record.detail["first"]), int(record.detail["last"])
        self._number, self._digest = int(record.value), str(record.detail["digest"])
        self._ways = record.way.split(", ")
        self._found, self._replaced = BatchDigest(), 0
        self._is_text, self._count, self._foreign = True, 0, 0
        self._portion: list[tuple[str, str, str]] = []

    def add(self, asked_id: str, person: str, value: str, source: str) -> None:
        """Add the next answer of it that is there."""
        self._count += 1
        self._foreign += source not in self._ways
        self._portion.append((asked_id, person, value))
        if len(self._portion) == _PORTION:
            self._flush()

    def replace(self) -> None:
        """Note that a later event tells of an answer at a place of this batch."""
        self._replaced += 1

    def _flush(self) -> None:
        if self._portion:
            try:
                self._found.add(*zip(*self._portion, strict=True))
            except TypeError:  # a value that is no text
                self._is_text = False
            self._portion = []

    def end(self, findings: AuditFindings, last_withdrawn: Mapping[str, int]) -> int:
        """Hold what is there against the digest; how many answers of it nothing can be said of."""
        self._flush()
        number = self._count
        name = f"the batch of event {self.event} ({self.table} {self.first} to {self.last})"
        if self._foreign:
            ways = ", ".join(self._ways)
            findings.add(f"{name}: {self._foreign:,} of its answers have another source than {ways}")
        if self._is_text and number == self._number and self._found.digest() == self._digest:
            return 0
        withdrawn = any(last_withdrawn.get(way, -1) > self.event for way in self._ways)
        if self._replaced or (withdrawn and number < self._number):
            return number
        if number == self._number:
            findings.add(f"{name}: an answer in it is not what came: question, person, value or order differ")
        else:
            findings.add(f"{name}: {self._number:,} answers came, {number:,} are there")
        return 0


class AnswerCheck:
    """The answers of one table, in the order of their places.

    Parameters
    ----------
    table
        Its name.
    batches
        The batches that came into it.
    findings
        Takes what does not hold.
    allowed
        How many answers may have no event; None if unknown.

    Attributes
    ----------
    number, uncovered
        How many answers there are, and how many of them no event tells of, as an older version stored them.
    """

    def __init__(
        self, table: str, batches: Sequence[BatchCheck], findings: AuditFindings, allowed: int | None
    ) -> None:
        self.table, self.number, self.uncovered = table, 0, 0
        self._batches = sorted(batches, key=lambda batch: batch.first)
        self._firsts = [batch.first for batch in self._batches]
        self._findings, self._allowed = findings, allowed

    def find_batch(self, position: int, event: int | None) -> int | None:
        """The event of the batch that an answer at a place came in, unless a later event tells of it."""
        batch = self._find(position)
        return None if batch is None or (event is not None and event > batch.event) else batch.event

    def _find(self, position: int) -> BatchCheck | None:
        at = bisect_right(self._firsts, position) - 1
        return self._batches[at] if at >= 0 and position <= self._batches[at].last else None

    def add(
        self, position: object, asked_id: str, person: str, value: str, source: str, event: int | None
    ) -> bool:
        """Add the next answer, and the place of the last event about it; whether it came in a batch."""
        self.number += 1
        batch = self._find(position) if isinstance(position, int) else None
        if event is not None and (batch is None or event > batch.event):
            if batch is not None:
                batch.replace()
            return False
        if batch is not None:
            batch.add(asked_id, person, value, source)
            return True
        told = f"{self.table} {position}: no event tells of the answer to question {asked_id}"
        if not isinstance(position, int) or (self._firsts and position >= self._firsts[0]):
            self._findings.add(f"{told}, though it came after others that have one")
        elif self._allowed == 0:
            self._findings.add(f"{told}, and no answer was there when the design was frozen")
        else:
            self.uncovered += 1
        return False

    def end(self, last_withdrawn: Mapping[str, int]) -> int:
        """Hold the batches against their digests; how many answers nothing can be said of."""
        return sum(batch.end(self._findings, last_withdrawn) for batch in self._batches)


def compare_with_event(answer: KeptAnswer, table: str, findings: AuditFindings) -> None:
    """Hold an answer against the last event that tells of it alone."""
    name = f"the answer to question {answer.asked_id} ({table} {answer.position})"
    if answer.kind == "withdrawn":
        findings.add(f"{name} is there, and event {answer.event} says that it was withdrawn")
        return
    pairs = {
        "value": (answer.said, answer.value),
        "person": (answer.by, answer.person),
        "source": (answer.way, answer.source),
    }
    for what, (was, now) in pairs.items():
        if was != now:
            findings.add(f"{name}: its {what} is {now!r}, and event {answer.event} says {was!r}")
    is_forgotten = answer.told is None and not answer.comment
    if not is_forgotten and _digest(answer.salt, answer.comment) != (answer.comment_digest or ""):
        findings.add(f"{name}: its comment is not the one of event {answer.event}")


def _digest(salt: str | None, comment: str) -> str:
    return sha256(f"{salt or ''}:{comment}".encode()).hexdigest() if comment else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldHandover:
    """Who answers in whose place, as the last event about it tells; `giver` is whom it was put to first."""

    event: int
    giver: str
    taker: str
    place: int | None
    tells_place: bool


class TrailCheck:
    """Events as they come, in memory of constant size but for batches, designs and what was withdrawn.

    Parameters
    ----------
    findings
        Takes what does not hold.
    head
        A link that was noted at some time; None if none was.

    Attributes
    ----------
    events
        How many came.
    head
        The newest link.
    covered
        Number of events up to the one whose link was noted; None if none has it.
    comments, forgotten
        Comments that hold, and those whose text is not there any more.
    batches
        Table → the batches of answers that came into it.
    designs
        The designs that were frozen, oldest first.
    handed
        Question → the handover that follows from the events about it.
    looks
        Number of a look → what its event tells.
    allowed
        How many answers may have no event, as they were there when the first design was frozen; None if
        unknown.
    """

    def __init__(self, findings: AuditFindings, head: str | None = None) -> None:
        self.events, self.head, self.comments, self.forgotten = 0, START, 0, 0
        self.covered = 0 if head == START else None
        self.batches: dict[str, list[BatchCheck]] = {}
        self.designs: list[AuditRecord] = []
        self.allowed: int | None = None
        self.last_withdrawn: dict[str, int] = {}
        self.handed: dict[str, ToldHandover] = {}
        self.looks: dict[int, dict[str, Any]] = {}
        self._noted, self._findings = head, findings
        self._before: tuple[str, ...] = (START,)
        self._next, self._answered = 0, False

    def add(self, record: AuditRecord) -> None:
        """Check the next event."""
        self.events += 1
        self._check_link(record)
        self._check_comment(record)
        if record.link == self._noted:
            self.covered = self.events
        try:
            self._take(record)
        except (KeyError, TypeError, ValueError, AttributeError):
            self._findings.add(f"{_name(record)}: it does not tell what an event of its kind does")

    def _check_link(self, record: AuditRecord) -> None:
        follows = [_find_link(record, before) for before in self._before]
        name = _name(record)
        place: object = record.position  # in SQLite a column may hold anything
        if place != self._next and isinstance(place, int) and place > self._next:
            last = place - 1
            which = f"event {last} is" if last == self._next else f"events {self._next} to {last} are"
            self._findings.add(f"{which} missing before {name}")
        elif place != self._next:
            self._findings.add(f"{name}: it is there twice, or out of its place")
        elif record.link not in follows:
            self._findings.add(f"{name}: its link does not follow: it was altered")
        # who altered a link alone leaves the next one as it was
        ok = record.link in follows
        self._before = (record.link,) if ok else tuple({record.link, *filter(None, follows)})
        self.head, self._next = str(record.link), (place if isinstance(place, int) else self._next) + 1

    def _check_comment(self, record: AuditRecord) -> None:
        if not record.comment_digest and not record.comment:
            return
        if record.comment is None:
            self.forgotten += 1
        elif record.holds_comment:
            self.comments += 1
        else:
            self._findings.add(f"{_name(record)}: its comment is not the one that was chained")

    def _take(self, record: AuditRecord) -> None:
        """Keep what an event tells of answers and of the design."""
        if record.kind == "batch":
            batch = BatchCheck(record)
            self.batches.setdefault(batch.table, []).append(batch)
        elif record.kind == "withdrawn":
            self.last_withdrawn[record.way] = record.position
        elif record.kind == "handover":
            first = self.handed.get(record.asked_id)
            told = record.detail
            self.handed[record.asked_id] = ToldHandover(
                event=record.position, giver=first.giver if first else told["from"], taker=told["to"],
                place=told.get("place"), tells_place="place" in told,
            )  # fmt: skip
        elif record.kind == "look":
            self.looks[record.detail["look"]] = record.detail
        elif record.kind == "design":
            _expect_design(record.detail)
            if not self.designs and not self._answered:
                self.allowed = record.detail["answers"]
            self.designs.append(record)
        self._answered |= record.kind in ("batch", "answer", "withdrawn")


def _find_link(record: AuditRecord, before: str) -> str:
    """The link that follows; none where a field is of a kind that no event has."""
    try:
        return record.find_link(before)
    except (TypeError, ValueError, RecursionError):
        return ""


def _expect_design(detail: Any) -> None:
    """Raise ValueError if this is not what a design's event tells."""
    parts = detail["parts"].values()
    is_one = isinstance(detail["answers"], int) and isinstance(detail["roster"], str)
    is_one = is_one and all(isinstance(p["number"], int) and isinstance(p["digest"], str) for p in parts)
    if not (is_one and isinstance(detail["settings"], dict)):
        raise ValueError("no design")


def _name(record: AuditRecord) -> str:
    about = f", question {record.asked_id}" if record.asked_id else ""
    return f"event {record.position} ({record.kind}{about})"


_SETTINGS: Any = {"study": {"name", "seed"}, "items": True, "experts": True, "estimate": True, "judges": True}
_APART: Any = {"experts": {"deadline"}}
"""What may be put off without another design."""
_OF_EXPERT = ("name", "classes", "capacity", "absent")
"""What of an expert decides who is asked what."""


class DesignFreeze:
    """A draw that is about to be made, and is frozen when it was.

    To be used inside the transaction that the draw is stored in: the design is frozen with it, or neither.

    Parameters
    ----------
    study, store
        The study, and its database before anything is drawn.
    """

    def __init__(self, study: Study, store: Store) -> None:
        self._study, self._store = study, store
        self._before = store.audit.find_last("design")
        # what was frozen before must still be so, or the next digest would cover up for a change of it
        self._altered = self._before is not None and bool(
            compare_parts(self._before.detail, store.design.measure())
        )

    def end(self, new: int) -> None:
        """Freeze the design if it changed: `new` rows were stored, or settings are others than before."""
        frozen = describe_settings(self._study)
        if self._before is None and not new:
            return  # drawn by a version that froze nothing, or nothing is drawn
        if self._before is not None and not new:
            parts = self._before.detail["parts"]
            numbers = {name: part["number"] for name, part in parts.items()}
            if numbers == self._store.design.count_parts() and not find_changes(self._before.detail, frozen):
                return
        told = {
            **frozen,
            "parts": self._store.design.measure(),
            "answers": self._store.design.count_replies(),
            "altered": self._altered,
        }
        self._store.audit.append([AuditEvent(kind="design", way="command", detail=told)])


def describe_settings(study: Study) -> dict[str, Any]:
    """The settings that decide the design and the looks, and the roster's digest."""
    settings = study.model_dump(mode="json", include=_SETTINGS, exclude=_APART)
    return {"settings": settings, "roster": digest_roster(study.path(study.experts.roster))}


def digest_roster(path: Path) -> str:
    """A hash of who is asked what and how much, without addresses; empty if the roster cannot be read."""
    try:
        return sha256(orjson.dumps(_read_roster(path), default=str)).hexdigest()
    except (OSError, ValueError, RecursionError, AttributeError, TypeError):
        return ""


def _read_roster(path: Path) -> list[list[Any]]:
    table = tomllib.loads(read_text(path))
    experts = table.get("expert", [])
    return [
        [expert.get(name, False if name == "absent" else None) for name in _OF_EXPERT] for expert in experts
    ]


def compare_parts(frozen: Mapping[str, Any], now: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What was drawn and is not as it was frozen, in words."""
    found = []
    for name, part in now.items():
        before = frozen["parts"].get(name, {"number": 0, "digest": RowsDigest().digest()})
        what = name.replace("_", " ")
        if part["number"] != before["number"]:
            removed = "removed" if part["number"] < before["number"] else "added"
            told = (
                f"{before['number']:,} were frozen, {part['number']:,} are there: {removed} after the freeze"
            )
            found.append(f"{what}: {told}")
        elif part["digest"] != before["digest"]:
            found.append(f"{what}: altered after the freeze, or others in place of those that were frozen")
    return found


def find_changes(
    frozen: Mapping[str, Any], later: Mapping[str, Any], *, then: str = "when frozen", now: str = "now"
) -> list[str]:
    """Which settings are others than those that were frozen, in words: from what to what."""
    before, after = _flatten(frozen["settings"]), _flatten(later["settings"])
    unset = _flatten(_defaults())
    found = []
    for name in dict.fromkeys([*before, *after]):
        # a setting that the version which froze the design did not know was as it is by default
        old, new = before.get(name, unset.get(name)), after.get(name, unset.get(name))
        if old != new:
            found.append(f"setting {name}: {_show(old)} {then}, {_show(new)} {now}")
    if frozen["roster"] != later["roster"]:
        found.append(f"the roster is another {now} than {then} (addresses aside)")
    return found


def _defaults() -> dict[str, Any]:
    whole = Study.model_validate({"study": {"name": "s"}, "items": {"file": "f"}})
    settings = whole.model_dump(mode="json", include=_SETTINGS, exclude=_APART)
    del settings["study"]["name"], settings["items"]["file"]
    return settings


def _flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    """``section.key`` → value."""
    return {
        name if key is None else f"{name}.{key}": value
        for name, section in settings.items()
        for key, value in (section.items() if isinstance(section, Mapping) else [(None, section)])
    }


def _show(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 80 else text[:77] + "…"


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


def audit_store(study: Study, store: Store, head: str | None = None) -> StudyAudit:
    """`audit_study` of an open database, inside of `oversight.harness.store.Store.together`."""
    findings = AuditFindings()
    trail = TrailCheck(findings, head)
    try:
        for record in store.audit.read_records():
            trail.add(record)
    except StoreError as error:
        findings.add(f"the events after event {trail.events - 1} cannot be read: {error}")
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
    ids = IdCheck(findings, store.question_key.read_key())
    _check_design(study, store.design.measure(watch=ids.add), trail, findings)
    numbers = store.design.count_parts()
    return StudyAudit(
        findings=findings, events=trail.events, head=trail.head, covered=trail.covered,
        comments=trail.comments, forgotten=trail.forgotten, answers=answers, uncovered=uncovered,
        unchecked=unchecked, freezes=list(list_freezes(trail)), drawn=any(numbers.values()),
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
