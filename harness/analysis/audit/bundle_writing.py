"""The audit of a study as one file: events, design and answers in a chain, for whoever is to check it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from oversight.harness.analysis.audit.answer_check import AnswerCheck
from oversight.harness.analysis.audit.bundle_lines import (
    FORMAT,
    LONGEST_LINE,
    VERSION_OF_FORMAT,
    ChainedLines,
    read_body,
    split_line,
)
from oversight.harness.analysis.audit.findings import AuditFindings
from oversight.harness.analysis.audit.trail_check import TrailCheck
from oversight.harness.config import Study
from oversight.harness.errors import BadInput, ConfigError
from oversight.harness.machine import write_whole
from oversight.harness.store import (
    DESIGN_PARTS,
    REPLY_TABLES,
    AuditRecord,
    KeptAnswer,
    Store,
    has_database,
)

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
