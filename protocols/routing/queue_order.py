"""The order in which one person is asked."""

from __future__ import annotations

from collections.abc import Iterable

from oversight.harness import derive_seed
from oversight.harness.types import Question
from oversight.protocols.routing.study_rule import Pending


def order_queue(asked: Iterable[Pending]) -> list[Pending]:
    """Sort what is put to one person into the order in which it is handed out.

    Questions follow their stored places. What has no place, such as a panel's assignments, comes first in an
    order that a hash decides.
    """
    return sorted(asked, key=_turn)


def _turn(asked: Pending) -> tuple[int, int, str]:
    place = asked.place if isinstance(asked, Question) else None
    if place is None:
        return 0, derive_seed(asked.seed, "order", asked.expert, asked.id), asked.id
    return 1, place, asked.id
