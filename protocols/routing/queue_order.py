"""The order in which one person is asked: random, and what is put again comes after it was put first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness import derive_seed
from harness.store import ControlKind
from harness.types import Question
from protocols.routing.study_rule import Pending


def order_queue(asked: Sequence[Pending], seed: int) -> list[Pending]:
    """All that is put to one person, shuffled; of two places for one question, the repeat has the later.

    Which questions are repeated was drawn without a look at what they ask, so that any first part of a
    queue is still a random part of all its questions.
    """
    queue = [asked[int(j)] for j in np.random.default_rng(seed).permutation(len(asked))]
    first: dict[tuple[str, int], int] = {}
    for place, one in enumerate(queue):
        if isinstance(one, Question):
            known = first.setdefault((one.item_id, one.option), place)
            if known != place and queue[known].protocol == ControlKind.REPEAT:
                queue[known], queue[place] = one, queue[known]
    return queue


def order_behind(expert: str, asked: Sequence[Pending], first: int = 0) -> list[Pending]:
    """What is put to one person behind the first places, which are taken, in the order that is drawn for it.

    The same questions in the same order and as many places taken always give the same queue.
    """
    names = ("order", expert, str(first)) if first else ("order", expert)
    return order_queue(asked, derive_seed(asked[0].seed, *names))
