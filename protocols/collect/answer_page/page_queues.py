"""Keep the ordered questions and the answers of all people in memory, and update them from the database.

The whole study is read when its questions change. Answers are read from the audit trail, event by event.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from oversight.harness.config import Study
from oversight.harness.store import PAGE, REFUSED, Response, Store
from oversight.harness.types import Question
from oversight.protocols.routing import Pending, order_queue, read_pending

_OF_ANSWERS = ("answer", "withdrawn")
_OF_NOTHING = ("revision", REFUSED)
"""Kinds of events that by themselves change no answer and no question."""


class HeldQuestion(NamedTuple):
    """A question or an assignment in a person's queue; without `option`, all options are offered."""

    id: str
    item_id: str
    option: int | None


class PageQueues:
    """The queues of all experts or annotators of a study.

    Parameters
    ----------
    study, store
        The study and its database.
    """

    def __init__(self, study: Study, store: Store) -> None:
        self._study, self._store = study, store
        self._known_replies = store.replies(panel=study.experts.is_panel)
        self._design: tuple[int, ...] | None = None
        self._end = 0
        self._queues: Mapping[str, Mapping[str, HeldQuestion]] = {}
        self._replies: dict[str, Response] = {}
        self._given: dict[str, dict[str, None]] = defaultdict(dict)

    def refresh(self) -> None:
        """Read all questions and answers that changed since the last call.

        Raises
        ------
        BadInput
            If no question was drawn.
        """
        design, end = self._store.audit.count_design(), self._store.audit.read_end()
        if design == self._design and end == self._end:
            return
        steps = self._store.audit.read_steps(self._end) if self._design is not None else []
        kinds = {step.kind for step in steps}
        if design != self._design or end < self._end or kinds - {*_OF_ANSWERS, *_OF_NOTHING, "batch"}:
            self._queues = read_queues(self._study, self._store)
        if self._design is None or end < self._end or "batch" in kinds:
            self._replies = self._known_replies.read_replies()
            self._given.clear()
            for history in self._store.audit.read_histories(PAGE):
                self._given[history.person][history.asked_id] = None
        else:
            self._reread({step.asked_id for step in steps if step.kind in _OF_ANSWERS})
            for step in steps:
                if (step.kind, step.way) == ("answer", PAGE):
                    self._given[step.person].pop(step.asked_id, None)
                    self._given[step.person][step.asked_id] = None
        self._design, self._end = design, end

    def _reread(self, ids: set[str]) -> None:
        found = self._known_replies.find_replies(ids) if ids else {}
        for name in ids - found.keys():
            self._replies.pop(name, None)
        self._replies |= found

    @property
    def people(self) -> list[str]:
        """Return the names of all people with questions, in the order of their first question."""
        return list(self._queues)

    def find_question(self, person: str, asked_id: str) -> HeldQuestion | None:
        """Return a person's question by id; None if the person has no such question."""
        return self._queues.get(person, {}).get(asked_id)

    def reply_to(self, asked_id: str) -> Response | None:
        """Return the stored reply to a question, or None."""
        return self._replies.get(asked_id)

    def count(self, person: str) -> tuple[int, int, int]:
        """Count a person's answered questions, questions answered on another channel, and all questions."""
        own = self._queues.get(person, {})
        replies = [reply for name in own if (reply := self._replies.get(name)) is not None]
        return len(replies), sum(reply.source != PAGE for reply in replies), len(own)

    def iterate_open(self, person: str) -> Iterator[HeldQuestion]:
        """Return a person's open questions in order."""
        return (held for name, held in self._queues.get(person, {}).items() if name not in self._replies)

    def find_given(self, person: str, most: int | None = None) -> list[tuple[HeldQuestion, Response]]:
        """Return a person's answers on the page, newest first, at most `most`."""
        own, found = self._queues.get(person, {}), list[tuple[HeldQuestion, Response]]()
        for name in reversed(self._given.get(person, {})):
            reply = self._replies.get(name)
            if name in own and reply is not None and reply.source == PAGE:
                found.append((own[name], reply))
        return found[:most]

    def find_previous(self, person: str, before: str) -> HeldQuestion | None:
        """Return the question that a person answered on the page just before the question `before`.

        If `before` is empty, return the question answered last. Returns None if no such question exists.
        """
        own, found = self._queues.get(person, {}), None
        for name in self._given.get(person, {}):
            if name == before:
                break
            reply = self._replies.get(name)
            if name in own and reply is not None and reply.source == PAGE:
                found = own[name]
        return found


def read_queues(study: Study, store: Store) -> dict[str, dict[str, HeldQuestion]]:
    """Return every person's questions by id, in the order of asking."""
    queues = defaultdict[str, list[Pending]](list)
    for asked in read_pending(study, store):
        queues[asked.expert].append(asked)
    return {person: {one.id: _hold(one) for one in order_queue(asked)} for person, asked in queues.items()}


def _hold(asked: Pending) -> HeldQuestion:
    return HeldQuestion(asked.id, asked.item_id, asked.option if isinstance(asked, Question) else None)
