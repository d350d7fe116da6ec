"""Progress of experts through their queues, and the questions that they passed over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import BoolArray, IntArray

ON_SCREEN = 3
"""Questions that an expert has on the screen or loaded ahead, and may answer in any order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Queues:
    """Progress of every expert.

    Attributes
    ----------
    asked, reached
        Shape (E,): number of questions of every expert, and of those reached from the queue's start.
    rank
        Shape (R,): position of every question in its expert's queue, from 0.
    passed
        Shape (R,): whether the question was reached and is open.
    """

    asked: IntArray
    reached: IntArray
    rank: IntArray
    passed: BoolArray


def read_queues(expert: IntArray, place: IntArray, answered: BoolArray, experts: int) -> Queues:
    """Compute how far every expert has come, and which questions were passed over.

    An expert has reached everything up to the last answered question. An open question shortly after the
    last answer may still be on the screen (`ON_SCREEN`), unless the queue has ended; then it does not count
    as reached.

    Parameters
    ----------
    expert, place
        Of all questions, shape (R,): number of the expert, from 0, and the place by which the question is
        handed out, −1 if it is not known.
    answered
        Whether each question has an answer of any kind, shape (R,).
    experts
        Number E of experts.

    Examples
    --------
    One expert has answered the first and the last two of six questions:

    >>> place = np.arange(6)
    >>> queues = read_queues(np.zeros(6, int), place, np.isin(place, [0, 4, 5]), 1)
    >>> queues.reached.tolist(), np.flatnonzero(queues.passed).tolist()
    ([6], [1, 2, 3])
    """
    asked: IntArray = np.bincount(expert, minlength=experts)
    order = np.lexsort((place, expert))
    start = np.cumsum(asked) - asked
    rank = np.empty(len(expert), np.int64)
    rank[order] = np.arange(len(expert)) - start[expert[order]]
    last = np.full(experts, -1)
    np.maximum.at(last, expert[answered], rank[answered])
    reached = last + 1
    near = ~answered & (rank < last[expert]) & (rank > last[expert] - ON_SCREEN)
    near &= reached[expert] < asked[expert]
    np.minimum.at(reached, expert[near], rank[near])
    unknown = np.zeros(experts, np.bool_)
    unknown[expert[place < 0]] = True
    reached[unknown & (last >= 0)] = asked[unknown & (last >= 0)]
    return Queues(asked=asked, reached=reached, rank=rank, passed=~answered & (rank < reached[expert]))
