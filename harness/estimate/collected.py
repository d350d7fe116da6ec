"""The part of a collection that may be estimated from while questions are open.

Experts answer at different speeds. While only the cardiologist has answered, every answer is about
cardiology; the answers so far are no random part of the questions drawn. The same share of every expert's
questions is one, if what an expert has answered of them is. So each expert's answers are cut down to the
share that the slowest has reached, by a hash of the question, and a study in which somebody has answered
nothing says nothing yet. A few open questions (a share of `FEW_OPEN`, if no expert has left open more than a
tenth of his own or half of that share of all) are treated like abstentions and counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.arrays import BoolArray
from harness.columns import LabelColumns
from harness.errors import NotIdentified
from harness.estimate.routed import FEW_OPEN
from harness.seeding import derive_seed


def collected_part(
    labels: LabelColumns, items: BoolArray, *, by_arrival: bool = False
) -> tuple[LabelColumns, tuple[str, ...]]:
    """Labels of the share that every expert has reached, and flags that say what was left out.

    Parameters
    ----------
    labels
        Where their questions are not known they are taken as complete, and so are labels of a protocol that
        asks on until an item is resolved.
    items
        Items that matter, shape (N,): those with a prediction.
    by_arrival
        Cut an expert's answers in the order of their arrival, so that what is kept is kept for good as more
        arrive: a verdict at several looks needs that.

    Raises
    ------
    NotIdentified
        If an expert has answered none of the questions put to him.
    """
    if labels.drawn is None or labels.statement.asks_on:
        return labels, ()
    label, expert, experts = labels.answers, labels.drawn.expert, labels.drawn.experts
    mine = items[labels.drawn.item]
    if not mine.all():
        label, expert = label[mine], expert[mine]
    heard = label >= 0
    asked = np.bincount(expert, minlength=len(experts)).tolist()
    answered = np.bincount(expert[heard], minlength=len(experts)).tolist()
    flags = flag_open(asked, answered)
    if flags is not None:
        return labels, flags
    total, done = sum(asked), sum(answered)
    put = [(name, asked[e], answered[e], e) for e, name in enumerate(experts) if asked[e]]
    share, slowest = min((said / n, name) for name, n, said, _ in put)
    if share == 0:
        silent = sorted(name for name, _, said, _ in put if not said)
        names = ", ".join(silent[:3]) + " and others" * (len(silent) > 3)
        raise NotIdentified(
            f"{names} {'has' if len(silent) == 1 else 'have'} not answered yet "
            f"({done} of {total} questions answered): what the others answered is no random part of the items"
        )
    kept = np.zeros(len(labels), dtype=np.bool_)
    for name, n, _, e in put:
        own = label[heard & (expert == e)]
        own = np.sort(own) if by_arrival else own[np.argsort(labels.questions.order[own], kind="stable")]
        # rounded up or down by chance, so that experts with few questions count for no more than their part
        wanted = share * n + derive_seed(0, "rounded", name) / 2**64 - 1e-9
        kept[own[: int(wanted)]] = True
    used = int(np.count_nonzero(kept))
    flag = (
        f"partial: {used} of {done} answers used, the {share:.0%} that every expert has reached ({slowest})"
    )
    return labels.take(np.flatnonzero(kept | ~items[labels.item])), (flag,)


def flag_open(asked: Sequence[int], answered: Sequence[int]) -> tuple[str, ...] | None:
    """Flags of open questions, from those put to each expert and his answers; None if labels must be cut."""
    total, done = sum(asked), sum(answered)
    if done == total:
        return ()
    each = zip(asked, answered, strict=True)
    spread = all(n - said <= max(0.1 * n, FEW_OPEN / 2 * total) for n, said in each)
    flag = f"open_questions: {total - done} of {total}"
    return (flag,) if total - done <= FEW_OPEN * total and spread else None
