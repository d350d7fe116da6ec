"""Check stored answers against the events of the audit trail, one by one or as batches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from oversight.harness.store import AuditRecord, BatchDigest, StoredAnswerValue

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
        """Count an answer of this batch that a later event replaced."""
        self._replaced += 1

    def _flush(self) -> None:
        if self._portion:
            self._found.add(*zip(*self._portion, strict=True))
            self._portion = []

    def end(self, findings: AuditFindings, last_withdrawn: Mapping[str, int]) -> int:
        """Report differences from the recorded digest.

        Returns the number of answers that cannot be checked, because some were replaced or withdrawn.
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


class AnswerCheck:
    """Check of the answers of one table, which are added in the order of their positions.

    Parameters
    ----------
    table
        Name of the table.
    batches
        Batches of answers stored in this table.
    findings
        Receives the violations.
    allowed
        Number of answers that may lack an event because they are older than the first frozen design; None if
        unknown.

    Attributes
    ----------
    number, uncovered
        Number of answers added, and number of added answers that lack an event because an older version
        stored them.
    """

    def __init__(
        self, table: str, batches: Sequence[BatchCheck], findings: AuditFindings, allowed: int | None
    ) -> None:
        self.table, self.number, self.uncovered = table, 0, 0
        self._batches = sorted(batches, key=lambda batch: batch.first)
        self._firsts = [batch.first for batch in self._batches]
        self._findings, self._allowed = findings, allowed

    def _find(self, position: int) -> BatchCheck | None:
        at = bisect_right(self._firsts, position) - 1
        return self._batches[at] if at >= 0 and position <= self._batches[at].last else None

    def check_answer(self, answer: StoredAnswerValue, event: int | None) -> int | None:
        """Check the next stored answer against the batch that contains its position.

        `event` is the position of the last event that records only this answer. Returns the position of the
        event that recorded the answer's batch. Returns None if the answer is in no batch, or if `event` comes
        after the batch's event.
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
        elif self._allowed == 0:
            self._findings.add(f"{told}, although there were no answers when the design was frozen")
        else:
            self.uncovered += 1
        return None

    def end(self, last_withdrawn: Mapping[str, int]) -> int:
        """Compare the batches with their digests. Returns the number of answers that cannot be checked."""
        return sum(batch.end(self._findings, last_withdrawn) for batch in self._batches)


def compare_with_event(
    answer: StoredAnswerValue, event: AuditRecord, table: str, findings: AuditFindings
) -> None:
    """Report differences between a stored answer and the last event about only this answer."""
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
