"""Write the audit of a study as one file: events, design and answers as a chain of lines.

A bundle is JSON Lines. Each line contains its number and a chain value, which is a hash of this line and all
earlier lines.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from oversight.harness.analysis.audit.audit_check import AuditCheck
from oversight.harness.analysis.audit.study_check import read_events, read_evidence
from oversight.harness.config import Study
from oversight.harness.errors import BadInput, ConfigError
from oversight.harness.platform import write_whole
from oversight.harness.store import START, Store, has_database

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
    """Split a line into the bytes before ``chain`` and this field's value; None if the line lacks it."""
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
