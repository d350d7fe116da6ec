"""The share of every queue that all experts have reached, and the questions passed over in it.

The order of a queue is drawn before any answer, so the same share of every queue, from its start, is a
random part of all questions. An expert who answers a question has reached all questions before it. A
question that is still open there was passed over, and is missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from oversight.harness.columns import read_queues
from oversight.harness.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueShare:
    """Progress of all experts in their queues.

    Attributes
    ----------
    share
        Share of every queue, from its start, that all experts have reached.
    passed
        Expert → ids of the questions that the expert passed over, in queue order.
    slowest
        Name of the expert with the smallest share; empty if all questions are answered.
    waiting
        Id of the slowest expert's next question; empty if all are answered.
    """

    share: float = 0.0
    passed: Mapping[str, tuple[str, ...]]
    slowest: str = ""
    waiting: str = ""


def share_queues(store: Store) -> QueueShare:
    """Compute the share of their original questions that all experts have reached.

    A reassigned question stays in the queue of the expert it was drawn for. Control questions and second
    questions are ignored.
    """
    order = store.columns.read_order()
    if not order.experts:
        return QueueShare(passed={})
    is_open = np.array([name is not None for name in order.open_ids])
    queues = read_queues(order.expert, order.place, ~is_open, len(order.experts))
    passed = defaultdict[str, list[tuple[int, str]]](list)
    for row in np.flatnonzero(queues.passed).tolist():
        passed[order.experts[order.expert[row]]].append((int(queues.rank[row]), order.open_ids[row] or ""))
    share = queues.reached / queues.asked
    slowest = int(np.argmin(share))
    next_one = np.flatnonzero((order.expert == slowest) & (queues.rank == queues.reached[slowest]))
    return QueueShare(
        share=float(share[slowest]),
        passed={name: tuple(name for _, name in sorted(rows)) for name, rows in sorted(passed.items())},
        slowest=order.experts[slowest] if is_open.any() else "",
        waiting=(order.open_ids[next_one[0]] or "") if next_one.size else "",
    )
