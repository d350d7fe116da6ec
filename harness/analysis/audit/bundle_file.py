"""Write the audit of a study as one file, a chain of lines, and check such a file line by line.

A bundle is JSON Lines. Each line contains its number and a chain value, which is a hash of this line and all
earlier lines. The answers are also compared with the events. Memory grows only with the number of answers
that have a separate event.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from oversight.harness.analysis.audit.audit_check import Audit, AuditCheck, ChainCheck, check_head
from oversight.harness.analysis.audit.study_check import read_events, read_evidence
from oversight.harness.config import Study
from oversight.harness.errors import BadInput, ConfigError
from oversight.harness.platform import write_whole
from oversight.harness.store import (
    DESIGN_PARTS,
    START,
    AuditRecord,
    Handover,
    Store,
    StoredAnswerValue,
    has_database,
)

FORMAT = "oversight-audit"
VERSION_OF_FORMAT = 1
LONGEST_LINE = 16 * 2**20
"""Maximum length of a line in bytes, far above that of any line written."""
_END = re.compile(rb',"chain":"([0-9a-f]{64})"\}\n\Z')
_LENGTH = len(b',"chain":"') + 64 + len(b'"}\n')
_COVERS = (
    "events: every field, in a chain of links",
    "questions, assignments, control questions, draws of items and of units: every stored field",
    "answers: question, person, value and source",
    "comments: as salted digests, if an event is about the answer alone",
)
_LEAVES_OUT = (
    "texts of items, units and answers, options of items, and what models answered",
    "the secret key of question ids: only the study's database can check them",
    "answers stored by a version without an audit trail, which are marked",
    "comments of answers that came in batches, and places of those that did not",
    "whether the whole study was rewritten: compare the head with one that somebody else noted",
)


def chain(before: str, body: bytes) -> str:
    """Return a line's chain value: the SHA-256 of the previous chain value and the line's other bytes."""
    return sha256(before.encode() + body).hexdigest()


def split_line(line: bytes) -> tuple[bytes, str] | None:
    """Return a line's bytes before its field ``chain``, and the field's value; None without this field."""
    found = _END.search(line[-_LENGTH:])
    return (line[:-_LENGTH], found[1].decode()) if found else None


def read_body(body: bytes) -> dict[str, Any] | None:
    """Parse the bytes of a bundle's line that precede its chain value. Returns None if they are invalid."""
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
    except TypeError:  # orjson refuses unpaired surrogates, which older versions allowed in events
        return json.dumps(told, default=repr, separators=(",", ":")).encode()


@dataclass(slots=True)
class WrittenBundle:
    """A bundle that is being written, or was written.

    Attributes
    ----------
    lines, not_covered
        Number of lines; number of these about answers without an event.
    counts
        Kind of record → number of lines.
    head, link
        Last chain value, and link of the study's last event.
    """

    file: str = ""
    lines: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    not_covered: int = 0
    head: str = START
    link: str = START

    def write_line(self, record: str, told: dict[str, Any]) -> bytes:
        """Return the next line, of the kind `record` and with the content `told`."""
        self.lines += 1
        self.not_covered += "covered" in told
        self.counts[record] = self.counts.get(record, 0) + 1
        body = _write({"line": self.lines, "record": record, **told})[:-1]
        self.head = chain(self.head, body)
        return body + f',"chain":"{self.head}"}}\n'.encode()


def write_bundle(study: Study, path: str | Path, *, comments: bool = False) -> WrittenBundle:
    """Write the audit of a study as JSON Lines; the same study gives the same bytes.

    Parameters
    ----------
    path
        The file; it is written atomically, and only its owner can read it.
    comments
        Whether to include texts and salts of comments; if False, only their digests are written.

    Raises
    ------
    BadInput
        If the study has no database yet.
    ConfigError
        If the file cannot be written, or exists and is not an audit of this study.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> written = write_bundle(read_study("study.toml"), "audit.jsonl")
    >>> written.file, written.not_covered
    ('audit.jsonl', 54)
    """
    if not has_database(study.store_url):
        raise BadInput("there is no database of this study yet; draw questions with: oversight label route")
    with Store(study.store_url) as store, store.together():
        store.audit.hold_still()
        begins = next((record.link for record in store.audit.read_records()), "")
        _refuse_other_file(Path(path), study.study.name, begins)
        bundle = WrittenBundle(link=store.audit.read_head())
        head = {"study": study.study.name, "begins": begins, "link": bundle.link}
        bundle.file = str(write_whole(_write_lines(store, bundle, head, comments=comments), path))
    return bundle


def _refuse_other_file(path: Path, name: str, begins: str) -> None:
    """Refuse to overwrite a file that is not an audit of the same study."""
    if not path.is_file():
        return
    try:
        with path.open("rb") as stream:
            parts = split_line(stream.readline(LONGEST_LINE))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    head = read_body(parts[0]) if parts else None
    if not head or head.get("format") != FORMAT or head.get("study") != name:
        raise ConfigError(
            f"{path}: already exists and is not an audit of the study {name!r}; give another file name"
        )
    if head.get("begins") not in ("", begins):
        raise ConfigError(
            f"{path}: is the audit of another study, also named {name!r}; give another file name"
        )


def _write_lines(
    store: Store, bundle: WrittenBundle, head: dict[str, str], *, comments: bool
) -> Iterator[bytes]:
    """Yield all lines of a bundle in order; `head` has the fields of the first line about the study."""
    sealed, check = bool(store.controls.read_key()), AuditCheck()
    whole = {"format": FORMAT, "version": VERSION_OF_FORMAT, **head, "comments": comments, "sealed": sealed}
    yield bundle.write_line("head", {**whole, "covers": _COVERS, "leaves_out": _LEAVES_OUT})
    for record, told in itertools.chain(read_events(store, check), read_evidence(store, check)):
        if not comments and record in ("event", "answer"):
            of: dict[str, Any] = told["event"] if record == "event" else told
            for name in ("comment", "salt"):
                of.pop(name, None)
        yield bundle.write_line(record, told)
    end = {"counts": dict(bundle.counts), "not_covered": bundle.not_covered, "lines": bundle.lines + 1}
    yield bundle.write_line("end", end)


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
        found.link, found.head = found.head, self._lines.head
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
