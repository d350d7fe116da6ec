"""Check a bundle line by line: its chain values, the links of its events, and recorded digests.

The answers are also compared with the events. Memory grows only with the number of answers that have a
separate event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO

from oversight.harness.analysis.audit.audit_check import Audit, AuditCheck, check_head
from oversight.harness.analysis.audit.bundle_writing import (
    FORMAT,
    LONGEST_LINE,
    VERSION_OF_FORMAT,
    chain,
    read_body,
    split_line,
)
from oversight.harness.analysis.audit.trail_check import ChainCheck
from oversight.harness.errors import BadInput
from oversight.harness.store import DESIGN_PARTS, START, AuditRecord, Handover, StoredAnswerValue


def audit_bundle(path: str | Path, head: str | None = None) -> Audit:
    """Check a file written by `write_bundle`; `head` is a link or chain value that the file must contain.

    Raises
    ------
    BadInput
        If the file is not a bundle or cannot be read, or the head is malformed.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> from oversight.harness.analysis import write_bundle
    >>> _ = write_bundle(read_study("study.toml"), "audit.jsonl")
    >>> audit_bundle("audit.jsonl").findings.number
    0
    """
    head, path = check_head(head), Path(path)
    try:
        with path.open("rb") as stream:
            _expect_bundle(path, stream)
            return _BundleCheck(head).read(stream)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error


def _expect_bundle(path: Path, stream: BinaryIO) -> None:
    """Refuse a file that is no bundle or has another format version.

    A bundle in which one of the first two lines is damaged is accepted, so that the check reports the damage.
    """
    lines = [stream.readline(LONGEST_LINE) for _ in range(2)]
    stream.seek(0)
    marked = f'"format":"{FORMAT}"'.encode() in lines[0]
    if not marked and not any(split_line(line) for line in lines):
        raise BadInput(f"{path}: was not written by `oversight label audit`")
    parts = split_line(lines[0])
    found = read_body(parts[0]) if parts and chain(START, parts[0]) == parts[1] else None
    if found and (found.get("format") != FORMAT or found.get("version") != VERSION_OF_FORMAT):
        told = f"{found.get('format')!r}, version {found.get('version')!r}"
        raise BadInput(
            f"{path}: is {told}, but this version of oversight reads only {FORMAT!r}, version "
            f"{VERSION_OF_FORMAT}"
        )


class _BundleCheck(AuditCheck):
    """Checks the lines of a bundle in order."""

    def __init__(self, head: str | None) -> None:
        super().__init__(head)
        self._lines = ChainCheck("line", 1)
        self._ended, self._after = False, False
        self._counts, self._told_end = Counter[str](), dict[str, Any]()
        self._told_head, self._first_link = dict[str, Any](), ""

    def read(self, stream: BinaryIO) -> Audit:
        """Check all lines and return the result."""
        found = self.result
        for line in _read_lines(stream):
            found.lines += 1
            self._check_line(line)
        self.end_events()
        found.link, found.head, found.uncovered = found.head, self._lines.head, self.count_uncovered()
        self._check_end()
        # answers and design can be compared with the events only if no line is missing
        if not self.findings.number:
            self.end()
        if not self.findings.number:
            # a bundle omits the texts of gold items, so their digest cannot be recomputed
            numbers = {name: rows.number for name, rows in self.parts.items() if name != "gold"}
            self.compare_design(numbers)
        if self._given not in (None, found.head) and found.covered is None:
            told = "the given head is neither the head of the file nor a link of its events"
            self.findings.add(f"{told}; the head of the file is {found.head}")
        return found

    def _check_line(self, line: bytes) -> None:
        parts = split_line(line)
        if self._ended and not self._after:
            self._after = True
            self.findings.add(f"line {self.result.lines}: it follows the closing line: lines were added")
        if parts is None:
            number = self._lines.next
            self.findings.add(f"line {number}: altered or cut: it does not end with its chain value")
            self._lines.next += 1
            return
        body, stated = parts
        told = read_body(body)
        number = told["line"] if told else self._lines.next
        wrong = self._lines.check_entry(f"line {number}", number, stated, lambda before: chain(before, body))
        if not wrong and told is None:
            wrong = f"line {number}: its chain value is right, but oversight writes no such line"
        if wrong:
            self.findings.add(wrong)
        elif told is not None:
            self.take_safely(f"line {number}", self._take_line, told)

    def _take_line(self, told: dict[str, Any]) -> None:
        """Check the content of a line whose link in the hash chain was already found to be right."""
        record = str(told["record"])
        if record == "head":
            self.result.study, self._told_head = str(told["study"]), told
            self.key = None if told.get("sealed") else b""
        elif record == "event":
            event = AuditRecord(**{"comment": None, "salt": "", **told["event"]})
            self._first_link = self._first_link or event.link
            self.add_event(event)
        elif record == "answer":
            self._take_answer(told)
        elif record == "handover":
            self.add_handover(Handover(**{f.name: told[f.name] for f in fields(Handover)}))
        elif record == "end":
            self._ended, self._told_end = True, told
            return
        elif record in DESIGN_PARTS and record != "gold":
            self.add_row(record, told)
        self._counts[record] += 1

    def _take_answer(self, told: dict[str, Any]) -> None:
        names = ("position", "question", "person", "value", "source", "last_event")
        *said, event = (told[name] for name in names)
        last, _ = self.add_answer(told["table"], StoredAnswerValue._make([*said, told.get("comment", "")]))
        if event != last:
            says = "no event is about this answer alone" if last is None else f"its last event is {last}"
            self.findings.add(f"line {told['line']}: the answer names event {event}, but {says}")

    def _check_end(self) -> None:
        if not self._ended:
            self.findings.add(f"line {self._lines.next}: the closing line is missing: the file was cut")
            return
        said = self._told_end.get("counts"), self._told_end.get("lines")
        if not self.findings.number and said != (dict(self._counts), self.result.lines):
            self.findings.add("the closing line gives a wrong number of lines")
        if self.findings.number:
            return
        if self._told_end.get("not_covered") != self.result.uncovered:
            self.findings.add("the closing line gives a wrong number of answers without an event")
        told = (("begins", "first", self._first_link), ("link", "last", self.result.link))
        for name, which, link in told:
            if self._told_head.get(name) != link:
                self.findings.add(f"line 1: {name!r} is not the link of the {which} event")


def _read_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield each line, cut after `LONGEST_LINE` bytes."""
    while line := stream.readline(LONGEST_LINE):
        yield line
        while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            line = stream.readline(LONGEST_LINE)
