"""The part of a collection that may be estimated from while questions are open.

Two things make the answers so far no random part of the questions. Experts answer at different speeds: while
only the cardiologist has answered, every answer is about cardiology. And an expert who leaves a question
blank and goes on has chosen which questions to answer.

An expert's questions are handed out in an order that was drawn before any answer (`Question.place`). So the
first so many of them are a random part, whatever the expert does later. The estimate uses the same share of
every expert's queue, from its start: as much as the slowest expert has reached. Items that were added to a
study have queues of their own, since they are asked about last. An open question inside that share was passed
over. It is missing data and counts as if its expert had been unsure. Where the order is not known, every open
question of an expert who has answered any counts so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from oversight.harness.arrays import BoolArray, IntArray
from oversight.harness.columns import LabelColumns, QuestionColumns
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.routed import FEW_OPEN
from oversight.harness.seeding import derive_seed
from oversight.harness.types import PLACES, Note, NoteKind

PARTIAL_KINDS = (NoteKind.PARTIAL, NoteKind.PARTIAL_WITH_ADDED)
"""Kinds of notes that say that the collection is not finished."""
ON_SCREEN = 3
"""Questions that an expert has on the screen or loaded ahead, and may answer in any order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Queues:
    """How far every expert has come.

    Attributes
    ----------
    asked, reached
        Shape (E,): questions of every expert, and how many of them, from the queue's start, were reached.
    rank
        Shape (R,): place of every question in its expert's queue, from 0.
    passed
        Shape (R,): whether the question was reached and is open.
    """

    asked: IntArray
    reached: IntArray
    rank: IntArray
    passed: BoolArray


def read_queues(expert: IntArray, place: IntArray, answered: BoolArray, experts: int) -> Queues:
    """Find out how far every expert has come, and which questions were passed over.

    An expert has reached everything up to the last answered question. An open question close behind which
    answers end may still be on the screen (`ON_SCREEN`), unless the queue has ended; the expert has not
    reached it then.

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


def collected_part(labels: LabelColumns, items: BoolArray) -> tuple[LabelColumns, tuple[Note, ...]]:
    """Labels of the share that every expert has reached, and notes that say what was left out.

    Questions inside that share that were passed over are added as abstentions (`LabelColumns.passed`). What
    is kept stays kept as more answers arrive, so that verdicts at several times rest on growing data.

    Parameters
    ----------
    labels
        Complete if their questions are not known. So are labels of a protocol that asks on until an item is
        resolved: its estimates count open items as right or wrong, whichever is worse.
    items
        Items that matter, shape (N,): those with a prediction.

    Raises
    ------
    NotIdentified
        If an expert has answered none of the questions put to them, or none about items added later.
    """
    if labels.drawn is None or labels.statement.asks_on:
        return labels, ()
    mine = np.flatnonzero(items[labels.drawn.item])
    drawn = labels.drawn if len(mine) == len(labels.drawn) else labels.drawn.take(mine)
    label = labels.answers[mine]
    answered = label >= 0
    if answered.all():
        return labels, ()
    draw = np.zeros(len(drawn), np.int64) if labels.pool is not None else _find_draws(drawn)
    queues = _read_draws(drawn, draw, answered)
    share = _common_share(queues)
    if share == 0:
        _refuse_silent(drawn, queues, answered)
    ends = queues.asked if share == 1 else _round_share(share, queues, drawn)
    inside = queues.rank < ends[draw * len(drawn.experts) + drawn.expert]
    kept = np.zeros(len(labels), np.bool_)
    kept[label[inside & answered]] = True
    missing = drawn.take(np.flatnonzero(inside & ~answered))
    part = labels.take(np.flatnonzero(kept | ~items[labels.item])).pass_over(missing)
    notes = []
    if share < 1:
        slow = int(np.argmin(queues.reached / np.maximum(queues.asked, 1)))
        told = {
            "used": np.count_nonzero(kept),
            "answered": np.count_nonzero(answered),
            "share": share,
            "slowest": drawn.experts[slow % len(drawn.experts)],
        }
        notes.append(Note(NoteKind.PARTIAL_WITH_ADDED if draw.any() else NoteKind.PARTIAL, told))
    if len(missing):
        passed = {"passed": len(missing), "of": np.count_nonzero(inside)}
        notes.append(Note(NoteKind.PASSED_OVER, passed))
    return part, tuple(notes)


def _find_draws(drawn: QuestionColumns) -> IntArray:
    """Number of the draw that first asked about each question's item, from 0; shape (R,).

    Items that were added to a study are drawn after the others and asked about last, so answers to the first
    draw are no random part of all items.
    """
    first = np.full(int(drawn.item.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, drawn.item, np.maximum(drawn.place, 0) // PLACES)
    draw: IntArray = np.unique(first[drawn.item], return_inverse=True)[1].astype(np.int64)
    return draw


def _read_draws(drawn: QuestionColumns, draw: IntArray, answered: BoolArray) -> Queues:
    """The queues of every draw (`read_queues`): those of all experts in draw 0, then in draw 1, and so on.

    An expert who has answered a question of a later draw has reached all of the earlier ones.
    """
    experts = len(drawn.experts)
    number = (int(draw.max()) + 1) * experts
    queues = read_queues(draw * experts + drawn.expert, drawn.place, answered, number)
    asked, reached = queues.asked.reshape(-1, experts), queues.reached.reshape(-1, experts)
    later = reached[::-1].cumsum(axis=0)[::-1] > reached
    return replace(queues, reached=np.where(later, asked, reached).ravel())


def _refuse_silent(drawn: QuestionColumns, queues: Queues, answered: BoolArray) -> NoReturn:
    silence = ((queues.asked > 0) & (queues.reached == 0)).reshape(-1, len(drawn.experts))
    late = not silence[0].any()
    silent = sorted(np.array(drawn.experts)[silence.any(axis=0)].tolist())
    names = ", ".join(silent[:3]) + " and others" * (len(silent) > 3)
    what = "yet" if not late else "any question about the items added later"
    raise NotIdentified(
        f"{names} {'has' if len(silent) == 1 else 'have'} not answered {what} "
        f"({np.count_nonzero(answered)} of {len(drawn)} questions answered): what "
        f"{'was answered' if late else 'the others answered'} is no random part of the items"
    )


def _common_share(queues: Queues) -> float:
    """Share of every queue that all experts have reached; 1 if so few are left that they count as missing."""
    left = queues.asked - queues.reached
    most = FEW_OPEN * queues.asked.sum()
    if left.sum() <= most and (left <= np.maximum(0.1 * queues.asked, most / 2)).all():
        return 1.0
    put = queues.asked > 0
    return float((queues.reached[put] / queues.asked[put]).min())


def _round_share(share: float, queues: Queues, drawn: QuestionColumns) -> IntArray:
    """Number of questions of every queue, rounded up or down by chance; shape of `queues.asked`.

    So experts with few questions count for no more than their part. The draw depends on the expert alone.
    """
    chance = [derive_seed(0, "rounded", name) / 2**64 for name in drawn.experts]
    chances = np.resize(np.array(chance), len(queues.asked))
    ends: IntArray = np.floor(share * queues.asked + chances - 1e-9).astype(np.int64)
    return ends
