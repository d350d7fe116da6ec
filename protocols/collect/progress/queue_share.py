"""The share of every queue that all experts have answered, and the questions that were passed over in it.

Each expert's queue is in random order, so the same share of every queue, from its start, is a random part
of all questions. One that its expert postponed, or whose answer lies in quarantine, must not hold all others
up: once several after it are answered it counts as passed over, which is missing, and not as waited for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.store import Handover, QueuedTask

LATER = 5
"""Answered questions behind one that make it one that was passed over."""
_MOST = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueShare:
    """The common part of all queues.

    Attributes
    ----------
    share
        How much of every queue, from its start.
    used
        Answered questions in it.
    passed
        Expert → questions in it that were passed over.
    slowest
        Whom the share waits for; empty when all is answered.
    waiting
        The question that the slowest has to answer next; empty when all is answered.
    """

    share: float = 0.0
    used: tuple[str, ...] = ()
    passed: Mapping[str, tuple[str, ...]]
    slowest: str = ""
    waiting: str = ""


def balance_queues(
    tasks: Iterable[QueuedTask], answered: Collection[str], handed: Mapping[str, Handover] | None = None
) -> QueueShare:
    """Find the common part of all queues.

    Parameters
    ----------
    tasks
        Questions in experts' queues.
    answered
        Questions with an answer, of whatever kind.
    handed
        Questions that somebody else answers: they stay in the order of the queue that they were drawn for, as
        whoever takes over answers them last.

    Examples
    --------
    >>> balance_queues([], set()).share
    0.0
    """
    handed = handed or {}
    places: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for task in tasks:
        given = handed.get(task.question_id)
        place = task.place if given is None or given.place is None else given.place
        places[given.giver if given else task.expert].append((place, task.question_id))
    queues = {expert: [q for _, q in sorted(of_one)] for expert, of_one in places.items()}
    if not queues:
        return QueueShare(passed={})
    done = {expert: _count_reached(queue, answered) for expert, queue in queues.items()}
    slowest = min(done, key=lambda expert: done[expert] / len(queues[expert]))
    share = done[slowest] / len(queues[slowest])
    parts = {name: queue[: int(share * len(queue) + 1e-9)] for name, queue in queues.items()}
    passed = {name: tuple(q for q in part if q not in answered) for name, part in parts.items()}
    left = queues[slowest][done[slowest] :]
    return QueueShare(
        share=share,
        used=tuple(q for part in parts.values() for q in part if q in answered),
        passed={name: questions for name, questions in passed.items() if questions},
        slowest=slowest if left else "",
        waiting=left[0] if left else "",
    )


def _count_reached(queue: Sequence[str], answered: Collection[str]) -> int:
    """Questions from a queue's start that are answered or were passed over; the latter are few."""
    later = sum(question in answered for question in queue)
    left = max(1, int(_MOST * len(queue)))
    for place, question in enumerate(queue):
        if question in answered:
            later -= 1
        elif later >= LATER and left:
            left -= 1
        else:
            return place
    return len(queue)
