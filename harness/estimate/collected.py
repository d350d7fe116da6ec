"""The part of a collection that may be estimated from while questions are open.

Experts answer at different speeds. While only the cardiologist has answered, every answer is about
cardiology; the answers so far are no random part of the questions drawn. The same share of every expert's
questions is one, if what an expert has answered of them is. So each expert's answers are cut down to the
share that the slowest has reached, by a hash of the question, and a study in which somebody has answered
nothing says nothing yet. A few open questions (a share of `FEW_OPEN`, if no expert has left open more than a
tenth of his own or half of that share of all) are treated like abstentions and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from harness.arrays import BoolArray, IntArray
from harness.columns import LabelColumns, QuestionColumns, mark
from harness.errors import NotIdentified
from harness.estimate.routed import FEW_OPEN
from harness.seeding import derive_seed


def collected_part(labels: LabelColumns, items: BoolArray) -> tuple[LabelColumns, tuple[str, ...]]:
    """Labels of the share that every expert has reached, and flags that say what was left out.

    Parameters
    ----------
    labels
        Where their questions are not known they are taken as complete, and so are labels of a protocol that
        asks on until an item is resolved.
    items
        Items that matter, shape (N,): those with a prediction.

    Raises
    ------
    NotIdentified
        If an expert has answered none of the questions put to him.
    """
    if labels.drawn is None or labels.statement.asks_on:
        return labels, ()
    rows = np.flatnonzero(items[labels.drawn.item])
    drawn = labels.drawn if rows.size == len(labels.drawn) else labels.drawn.take(rows)
    label = _answer_of(drawn, labels.questions)
    heard = label >= 0
    number = len(drawn.experts)
    asked = np.bincount(drawn.expert, minlength=number).tolist()
    answered = np.bincount(drawn.expert[heard], minlength=number).tolist()
    total, done = sum(asked), sum(answered)
    if done == total:
        return labels, ()
    put = [(name, asked[e], answered[e], e) for e, name in enumerate(drawn.experts) if asked[e]]
    share, slowest = min((said / n, name) for name, n, said, _ in put)
    spread = all(n - said <= max(0.1 * n, FEW_OPEN / 2 * total) for _, n, said, _ in put)
    if total - done <= FEW_OPEN * total and spread:
        flag = f"open_questions: {total - done} of {total}"
        return labels, (flag,)
    if share == 0:
        silent = sorted(name for name, _, said, _ in put if not said)
        names = ", ".join(silent[:3]) + " and others" * (len(silent) > 3)
        raise NotIdentified(
            f"{names} {'has' if len(silent) == 1 else 'have'} not answered yet "
            f"({done} of {total} questions answered): what the others answered is no random part of the items"
        )
    kept = np.zeros(len(labels), dtype=np.bool_)
    for name, n, _, e in put:
        mine = label[heard & (drawn.expert == e)]
        mine = mine[np.argsort(labels.questions.order[mine], kind="stable")]
        # rounded up or down by chance, so that experts with few questions count for no more than their part
        wanted = share * n + derive_seed(0, "rounded", name) / 2**64 - 1e-9
        kept[mine[: int(wanted)]] = True
    used = int(np.count_nonzero(kept))
    flag = (
        f"partial: {used} of {done} answers used, the {share:.0%} that every expert has reached ({slowest})"
    )
    return labels.take(np.flatnonzero(kept | ~items[labels.item])), (flag,)


def _answer_of(drawn: QuestionColumns, answered: QuestionColumns) -> IntArray:
    """Row of the label that answers each question, −1 for an open one; shape as `drawn`."""
    order = np.argsort(answered.key, kind="stable")
    keys = answered.key[order]
    # of two answers to one question the later one
    place = np.searchsorted(keys, drawn.key, side="right") - 1
    found = (place >= 0) & (keys[place] == drawn.key) if keys.size else np.zeros(len(drawn), dtype=np.bool_)
    rows: IntArray = np.where(found, order[place] if keys.size else -1, -1)
    return rows


def growing_parts(labels: LabelColumns, points: int) -> Iterator[LabelColumns]:
    """The first 1/points, 2/points, … of the labels in the order of the draw.

    Each has the design of the questions drawn up to there, as if no more had been. Where questions are
    asked until an item is resolved, the questions of an item stay together.
    """
    whole = bool(labels.statements) and labels.statement.asks_on

    def order_of(questions: QuestionColumns) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
        return questions.item_order if whole else questions.order

    order = order_of(labels.questions)
    ranked = np.argsort(order, kind="stable")
    for j in range(1, points + 1):
        n = round(len(labels) * j / points)
        if n == 0:
            continue
        if n == len(labels):
            yield labels.take(ranked)
            continue
        last = order[ranked[n - 1]]
        part = labels.take(ranked[: np.searchsorted(order[ranked], last, side="right")])
        drawn = labels.drawn
        if drawn is not None:
            drawn = drawn.take(np.flatnonzero(order_of(drawn) <= last))
        asked = labels.asked if drawn is None else mark(drawn.item, labels.index.size)
        yield replace(part, drawn=drawn, asked=asked)
