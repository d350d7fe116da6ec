"""The audit of a study as one file: events, design and answers in a chain, written and checked.

A bundle is JSON Lines. Each line has its number, and a hash of the hash before it and of itself. The check
reads line by line: the chain, the links and digests inside, answers against their events. It keeps in memory
only the answers that came one by one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from oversight.harness.analysis.study_audit import (
    AnswerCheck,
    Audit,
    AuditFindings,
    IdCheck,
    TrailCheck,
    check_handovers,
    check_head,
    compare_parts,
    compare_with_event,
    list_freezes,
)
from oversight.harness.config import Study
from oversight.harness.errors import BadInput, ConfigError
from oversight.harness.machine import write_whole
from oversight.harness.store import (
    DESIGN_PARTS,
    REPLY_TABLES,
    START,
    AuditRecord,
    Handover,
    KeptAnswer,
    RowsDigest,
    Store,
    has_database,
)

FORMAT = "oversight-audit"
VERSION_OF_FORMAT = 1
LONGEST_LINE = 16 * 2**20
"""Bytes of a line; none that is written is near it."""
_END = re.compile(rb',"chain":"([0-9a-f]{64})"\}\n\Z')
_LENGTH = len(b',"chain":"') + 64 + len(b'"}\n')
_COVERS = (
    "events: every field, in a chain of links",
    "questions, assignments, control questions, draws of items: every stored field",
    "answers: question, person, value and source",
    "comments: by salted digests, where one event tells of the answer alone",
)
_LEAVES_OUT = (
    "texts and options of items, and what models answered",
    "the secret key of question ids: only the study's database can check them",
    "answers that were stored by a version without a trail: they say so",
    "comments of answers that came in batches, and places of those that did not",
    "a study rewritten as a whole: only a head that somebody else noted tells that",
)


def chain(before: str, body: bytes) -> str:
    """The chain value of a line: SHA-256 of the value before it and of the line's bytes up to the field."""
    return sha256(before.encode() + body).hexdigest()


def split_line(line: bytes) -> tuple[bytes, str] | None:
    """A line's bytes up to the field ``chain``, and its value; None of what has no such end."""
    found = _END.search(line[-_LENGTH:])
    return (line[:-_LENGTH], found[1].decode()) if found else None


def read_body(body: bytes) -> dict[str, Any] | None:
    """What a line says, without its chain value; None of what is no line of a bundle."""
    try:
        found = json.loads(body + b"}") if b"\\ud" in body.lower() else orjson.loads(body + b"}")
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or type(found.get("line")) is not int:
        return None
    return found


def _write(told: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(told, default=repr)
    except TypeError:  # a lone surrogate, which older versions let into events
        return json.dumps(told, default=repr, separators=(",", ":")).encode()


class ChainedLines:
    """Lines of a bundle as they are written; `head` is the last chain value, `number` how many there are."""

    def __init__(self) -> None:
        self.head, self.number = START, 0
        self.counts: dict[str, int] = {}

    def write(self, record: str, told: dict[str, Any]) -> bytes:
        """The next line, with a record of a kind."""
        self.number += 1
        self.counts[record] = self.counts.get(record, 0) + 1
        body = _write({"line": self.number, "record": record, **told})[:-1]
        self.head = chain(self.head, body)
        return body + f',"chain":"{self.head}"}}\n'.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBundle:
    """A bundle that was written: its file, its lines by kind, and its head, the last chain value.

    `uncovered` are answers that no event tells of; `link` is the newest link of the study.
    """

    path: Path
    lines: int
    counts: dict[str, int]
    uncovered: int
    head: str
    link: str


def write_bundle(study: Study, path: str | Path, *, comments: bool = False) -> WrittenBundle:
    """Write the audit of a study as JSON Lines; the same study gives the same bytes.

    Parameters
    ----------
    path
        The file; it is written whole or not at all, and nobody else may read it.
    comments
        Whether to write texts and salts of comments, not their digests alone.

    Raises
    ------
    BadInput
        If there is no database yet.
    ConfigError
        If the file cannot be written, or something else than an audit of this study is there.
    """
    if not has_database(study.store_url):
        raise BadInput("there is no database of this study yet; draw questions with: oversight label route")
    with Store(study.store_url) as store, store.together():
        store.audit.hold_still()
        bundle = _Bundle(study, store, comments=comments)
        _refuse_other_file(Path(path), study.study.name, bundle.begins)
        written = write_whole(bundle.write(), path)
    return WrittenBundle(
        path=written, lines=bundle.lines.number, counts=bundle.lines.counts, uncovered=bundle.uncovered,
        head=bundle.lines.head, link=bundle.trail.head,
    )  # fmt: skip


def _refuse_other_file(path: Path, name: str, begins: str) -> None:
    """Keep what is no earlier audit of the same study."""
    if not path.is_file():
        return
    try:
        with path.open("rb") as stream:
            parts = split_line(stream.readline(LONGEST_LINE))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    head = read_body(parts[0]) if parts else None
    if not head or head.get("format") != FORMAT or head.get("study") != name:
        raise ConfigError(f"{path}: is there, and no audit of the study {name!r}; give another --out")
    if head.get("begins") not in ("", begins):
        raise ConfigError(f"{path}: is the audit of another study named {name!r}; give another --out")


class _Bundle:
    """The lines of a study's bundle."""

    def __init__(self, study: Study, store: Store, *, comments: bool) -> None:
        self._study, self._store, self._comments = study, store, comments
        self.lines, self.trail, self.uncovered = ChainedLines(), TrailCheck(AuditFindings()), 0
        self.begins = next((record.link for record in store.audit.read_records()), "")

    def write(self) -> Iterator[bytes]:
        """All lines, in their order."""
        write, store = self.lines.write, self._store
        yield write("head", {
            "format": FORMAT, "version": VERSION_OF_FORMAT, "study": self._study.study.name,
            "begins": self.begins, "link": store.audit.read_head(), "comments": self._comments,
            "sealed": bool(store.question_key.read_key()), "covers": _COVERS, "leaves_out": _LEAVES_OUT,
        })  # fmt: skip
        for record in store.audit.read_records():
            self.trail.add(record)
            yield write("event", self._tell_event(record))
        for name, part in DESIGN_PARTS.items():
            for rows in store.design.read_part(name):
                for row in rows:
                    is_gold = name == "gold"
                    yield write(
                        name, _tell_gold(row) if is_gold else dict(zip(part.columns, row, strict=False))
                    )
        for table in REPLY_TABLES:
            batches = self.trail.batches.get(table, ())
            check = AnswerCheck(table, batches, AuditFindings(), self.trail.allowed)
            for answer in store.kept_answers.read_answers(table):
                yield write("answer", self._tell_answer(answer, table, check))
        for handover in store.handovers.read_handovers().values():
            yield write("handover", asdict(handover))
        counts = dict(self.lines.counts)
        lines = self.lines.number + 1
        yield write("end", {"counts": counts, "not_covered": self.uncovered, "lines": lines})

    def _tell_event(self, record: AuditRecord) -> dict[str, Any]:
        told = asdict(record)
        if not self._comments:
            del told["comment"], told["salt"]
        return {"event": told}

    def _tell_answer(self, answer: KeptAnswer, table: str, check: AnswerCheck) -> dict[str, Any]:
        batch = check.find_batch(answer.position, answer.event)
        event = answer.event if batch is None else None
        told: dict[str, Any] = {
            "table": table, "position": answer.position, "question": answer.asked_id,
            "person": answer.person, "value": answer.value, "source": answer.source,
            "last_event": answer.event,
        }  # fmt: skip
        if batch is None and event is None:
            self.uncovered += 1
            told["covered"] = "not covered"
        else:
            told |= {"batch": batch} if batch is not None else {"event": event}
        return told | ({"comment": answer.comment} if self._comments and answer.comment else {})


def _tell_gold(row: tuple[Any, ...]) -> dict[str, Any]:
    """A gold item without its text, which may be a patient's."""
    name, *_, truth = row
    return {"id": name, "truth": truth, "digest": sha256(orjson.dumps(row, default=repr)).hexdigest()}


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleAudit(Audit):
    """What the check of a bundle says; findings are by the number of the line.

    Attributes
    ----------
    study
        Name of the study that it says to be of.
    lines
        Number of lines.
    link
        The newest link of the study's events.
    """

    study: str
    lines: int
    link: str


def audit_bundle(path: str | Path, head: str | None = None) -> BundleAudit:
    """Check a bundle.

    Raises
    ------
    BadInput
        If the file is no bundle or cannot be read, or the head is none.
    """
    head, path = check_head(head), Path(path)
    try:
        with path.open("rb") as stream:
            _expect_bundle(path, stream)
            return _BundleCheck(head).read(stream)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error


def _expect_bundle(path: Path, stream: BinaryIO) -> None:
    """Raise BadInput unless a mark of a bundle is in the first two lines; one of them may be altered."""
    lines = [stream.readline(LONGEST_LINE) for _ in range(2)]
    stream.seek(0)
    marked = f'"format":"{FORMAT}"'.encode() in lines[0]
    if not marked and not any(split_line(line) for line in lines):
        raise BadInput(f"{path}: is no audit that `oversight label audit` wrote")
    parts = split_line(lines[0])
    found = read_body(parts[0]) if parts and chain(START, parts[0]) == parts[1] else None
    if found and (found.get("format") != FORMAT or found.get("version") != VERSION_OF_FORMAT):
        told = f"{found.get('format')!r}, version {found.get('version')!r}"
        raise BadInput(f"{path}: is {told}, and this version of oversight reads version {VERSION_OF_FORMAT}")


class _BundleCheck:
    """The lines of a bundle as they come."""

    def __init__(self, head: str | None) -> None:
        self._noted, self.findings = head, AuditFindings()
        self._trail = TrailCheck(self.findings, head)
        self._before: tuple[str, ...] = (START,)
        self._good, self._head, self._expected = START, START, 1
        self._lines, self._ended, self._after, self._study = 0, False, False, ""
        self._counts, self._told_end = Counter[str](), dict[str, Any]()
        self._ids = IdCheck(self.findings)
        self._parts = {name: RowsDigest() for name in DESIGN_PARTS}
        self._answers: dict[str, AnswerCheck] = {}
        self._about: dict[str, AuditRecord] = {}
        self._handed: dict[str, Handover] = {}
        self._told_head, self._first_link = dict[str, Any](), ""

    def read(self, stream: BinaryIO) -> BundleAudit:
        """Check all lines."""
        for line in _read_lines(stream):
            self._lines += 1
            self._check_line(line)
        self._check_end()
        unchecked = self._check_answers()
        self._check_design()
        if self._noted not in (None, self._head) and self._trail.covered is None:
            told = "the given head is neither the file's nor a link of its events"
            self.findings.add(f"{told}; the file's is {self._head}")
        return BundleAudit(
            findings=self.findings, study=self._study, lines=self._lines, events=self._counts["event"],
            answers=self._counts["answer"], uncovered=self._count_uncovered(), unchecked=unchecked,
            head=self._head, link=self._trail.head, covered=self._trail.covered,
            freezes=list(list_freezes(self._trail)), ids=self._ids.found,
        )  # fmt: skip

    def _check_line(self, line: bytes) -> None:
        parts = split_line(line)
        told = read_body(parts[0]) if parts else None
        if self._ended and not self._after:
            self._after = True
            self.findings.add(f"line {self._lines}: it follows the closing line: lines were added")
        if parts is None:
            self.findings.add(f"line {self._expected}: altered or cut: it does not end as lines do")
            self._expected += 1
            return
        body, stated = parts
        self._head = stated
        follows = [chain(before, body) for before in self._before]
        if stated not in follows:
            self._tell_break(told)
            # the next line follows what is stated here, or should be, or what came before
            self._before = tuple({stated, *follows, self._good})
            self._expected = max(self._expected, told["line"] if told else 0) + 1
            return
        if told is None or (len(self._before) == 1 and told["line"] != self._expected):
            self.findings.add(f"line {self._expected}: it is chained, and not a line that oversight writes")
        self._before, self._good = (stated,), stated
        self._expected = told["line"] + 1 if told else self._expected + 1
        if told is not None:
            self._take_safely(told)

    def _tell_break(self, told: dict[str, Any] | None) -> None:
        number = told["line"] if told else self._expected
        if number > self._expected:
            last = number - 1
            which = f"line {last} is" if last == self._expected else f"lines {self._expected} to {last} are"
            self.findings.add(f"line {self._expected}: {which} missing before line {number}, or altered")
        elif number < self._expected:
            why = f"it says that it is line {number}: altered, there twice, or out of its place"
            self.findings.add(f"line {self._expected}: {why}")
        else:
            self.findings.add(f"line {number}: altered: its chain does not follow")

    def _take_safely(self, told: dict[str, Any]) -> None:
        try:
            self._take(told)
        except (KeyError, TypeError, ValueError, AttributeError):
            self.findings.add(f"line {told['line']}: it does not say what a line of its kind does")

    def _take(self, told: dict[str, Any]) -> None:
        """Keep what a line says that follows."""
        record = str(told["record"])
        if record == "head":
            self._study, self._told_head = str(told["study"]), told
            self._ids.key = None if told.get("sealed") else b""
        elif record == "event":
            event = {"comment": None, "salt": "", **told["event"]}
            self._take_event(AuditRecord(**event))
        elif record == "answer":
            self._take_answer(told)
        elif record == "handover":
            self._handed[told["asked_id"]] = Handover(**{f.name: told[f.name] for f in fields(Handover)})
        elif record == "end":
            self._ended, self._told_end = True, told
            return
        elif record in DESIGN_PARTS and record != "gold":
            part = DESIGN_PARTS[record]
            names = part.columns if "place" in told else [c for c in part.columns if c != "place"]
            row = [told[name] for name in names]
            self._parts[record].add([row])
            self._ids.add(record, [row])
        self._counts[record] += 1

    def _take_answer(self, told: dict[str, Any]) -> None:
        table = told["table"]
        if table not in self._answers:
            batches = self._trail.batches.get(table, ())
            self._answers[table] = AnswerCheck(table, batches, self.findings, None)
        names = ("position", "question", "person", "value", "source", "last_event")
        position, asked_id, person, value, source, event = (told[name] for name in names)
        came = self._answers[table].add(position, asked_id, person, value, source, event)
        last = self._about.pop(asked_id, None)
        if event != (last and last.position):
            says = f"event {last.position}" if last else "that none tells of it alone"
            self.findings.add(f"line {told['line']}: it names event {event}, and the last one is {says}")
        elif last is not None and not came:
            kept = KeptAnswer(
                position=position, asked_id=asked_id, person=person, value=value, source=source,
                comment=told.get("comment", ""), item_id=None, option=None, event=event, kind=last.kind,
                said=last.value, by=last.person, way=last.way, told=last.comment, salt=last.salt,
                comment_digest=last.comment_digest,
            )  # fmt: skip
            compare_with_event(kept, table, self.findings)

    def _take_event(self, event: AuditRecord) -> None:
        self._first_link = self._first_link or event.link
        self._trail.add(event)
        if event.asked_id and event.kind in ("answer", "withdrawn"):
            self._about[event.asked_id] = event

    def _count_uncovered(self) -> int:
        return sum(check.uncovered for check in self._answers.values())

    def _check_end(self) -> None:
        if not self._ended:
            self.findings.add(f"line {self._expected}: the closing line is missing: the file was cut")
            return
        said = self._told_end.get("counts"), self._told_end.get("lines")
        if not self.findings.number and said != (dict(self._counts), self._lines):
            self.findings.add("the closing line counts other lines than there are")
        if self.findings.number:
            return
        if self._told_end.get("not_covered") != self._count_uncovered():
            self.findings.add("the closing line counts other answers without an event than there are")
        links = {"begins": self._first_link, "link": self._trail.head}
        for name, link in links.items():
            if self._told_head.get(name) != link:
                self.findings.add(f"line 1: {name} is none of the events' links that it should be")

    def _check_answers(self) -> int:
        """Hold answers and handovers against what events tell, where all lines are there to be held."""
        if self.findings.number:
            return 0
        for name, last in self._about.items():
            if last.kind == "answer":
                self.findings.add(f"the answer to question {name}, of event {last.position}, is missing")
        check_handovers(self._handed, self._trail, self.findings)
        return sum(check.end(self._trail.last_withdrawn) for check in self._answers.values())

    def _check_design(self) -> None:
        """Hold the questions against the design that was frozen last."""
        if self.findings.number or not self._trail.designs:
            return
        frozen = self._trail.designs[-1].detail
        found = {
            name: {"number": rows.number, "digest": rows.digest()}
            for name, rows in self._parts.items()
            if name != "gold"  # whose texts are not in the bundle
        }
        for text in compare_parts(frozen, found):
            self.findings.add(text)


def _read_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines; of one that is longer than any may be, its beginning."""
    while line := stream.readline(LONGEST_LINE):
        yield line
        while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            line = stream.readline(LONGEST_LINE)
