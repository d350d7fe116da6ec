"""Check hash chains of numbered entries, and compare stored answers with the events of the audit trail."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from oversight.harness.store import START, AuditRecord, BatchDigest, StoredAnswerValue

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


class AnswerCheck:
    """Check of the answers of one table, which are added in the order of their positions.

    Parameters
    ----------
    table, batches
        Name of the table, and its batches.
    allowed
        Number of answers that need no event, because they existed when the first design was frozen; None if
        unknown.
    findings
        Receives the violations.

    Attributes
    ----------
    number, uncovered
        Number of answers added; number of these that have no event because an older version stored them.
    """

    def __init__(
        self, table: str, batches: Sequence[BatchCheck], allowed: int | None, findings: AuditFindings
    ) -> None:
        self.table, self.number, self.uncovered = table, 0, 0
        self._batches = sorted(batches, key=lambda batch: batch.first)
        self._firsts = [batch.first for batch in self._batches]
        self._allowed, self._findings = allowed, findings

    def check_answer(self, answer: StoredAnswerValue, last: AuditRecord | None) -> int | None:
        """Check the table's next stored answer against its events.

        `last` is the last event that records this answer alone; None if there is none. Returns the position
        of the batch's event. Returns None if the answer is in no batch, or if `last` is the later event.
        """
        self.number += 1
        position: object = answer.position  # a column in SQLite may contain any type
        batch = self._find(position) if isinstance(position, int) else None
        if last is not None and (batch is None or last.position > batch.event):
            if batch is not None:
                batch.replaced += 1
            self._compare(answer, last)
            return None
        if batch is not None:
            batch.check_answer(answer)
            return batch.event
        told = f"{self.table} {position}: no event records the answer to question {answer.asked_id}"
        if not isinstance(position, int) or (self._firsts and position >= self._firsts[0]):
            self._findings.add(f"{told}, although earlier answers have events")
        elif self._allowed == 0:
            self._findings.add(f"{told}, although there were no answers when the design was frozen")
        else:
            self.uncovered += 1
        return None

    def _find(self, position: int) -> BatchCheck | None:
        at = bisect_right(self._firsts, position) - 1
        return self._batches[at] if at >= 0 and position <= self._batches[at].last else None

    def _compare(self, answer: StoredAnswerValue, event: AuditRecord) -> None:
        """Report differences between a stored answer and the last event that records this answer alone."""
        name = f"the answer to question {answer.asked_id} ({self.table} {answer.position})"
        if event.kind == "withdrawn":
            told = f"{name} is stored, but event {event.position} says that it was withdrawn"
            self._findings.add(told)
            return
        for what, was in (("value", event.value), ("person", event.person), ("source", event.way)):
            now = getattr(answer, what)
            if was != now:
                self._findings.add(f"{name}: its {what} is {now!r}, but event {event.position} says {was!r}")
        is_forgotten = event.comment is None and not answer.comment
        if not is_forgotten and not replace(event, comment=answer.comment).holds_comment:
            self._findings.add(f"{name}: its comment differs from that of event {event.position}")
