"""A bundle, checked line by line: its chain, the links and digests inside, answers against their events.

It takes the memory of the answers that came one by one, and of no others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

from oversight.harness.analysis.audit.answer_check import AnswerCheck, AuditFindings, compare_with_event
from oversight.harness.analysis.audit.bundle_writing import (
    FORMAT,
    LONGEST_LINE,
    VERSION_OF_FORMAT,
    chain,
    read_body,
    split_line,
)
from oversight.harness.analysis.audit.design_freeze import compare_parts
from oversight.harness.analysis.audit.study_check import (
    Audit,
    IdCheck,
    check_handovers,
    check_head,
    list_freezes,
)
from oversight.harness.analysis.audit.trail_check import TrailCheck
from oversight.harness.errors import BadInput
from oversight.harness.store import DESIGN_PARTS, START, AuditRecord, Handover, KeptAnswer, RowsDigest


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
        self._trail.end()
        self._check_end()
        unchecked = self._check_answers()
        self._check_design()
        if self._noted not in (None, self._head) and self._trail.covered is None:
            told = "the given head is neither the file's nor a link of its events"
            self.findings.add(f"{told}; the file's is {self._head}")
        return BundleAudit(
            findings=self.findings, study=self._study, lines=self._lines, events=self._counts["event"],
            answers=self._counts["answer"], uncovered=self._count_uncovered(), unchecked=unchecked,
            redacted=len(self._trail.redacted), head=self._head, link=self._trail.head,
            covered=self._trail.covered,
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
