"""The order in which a person's questions are asked."""

from __future__ import annotations

from collections.abc import Iterable

from oversight.harness import derive_seed
from oversight.harness.types import Question
from oversight.protocols.routing.study_rule import Pending


def order_queue(asked: Iterable[Pending]) -> list[Pending]:
    """Sort a person's questions into the order of asking.

    Questions are sorted by their stored places. Entries without a place, such as a panel's assignments,
    come first in an order given by a hash.
    """
    return sorted(asked, key=_turn)


def _turn(asked: Pending) -> tuple[int, int, str]:
    place = asked.place if isinstance(asked, Question) else None
    if place is None:
        return 0, derive_seed(asked.seed, "order", asked.expert, asked.id), asked.id
    return 1, place, asked.id
