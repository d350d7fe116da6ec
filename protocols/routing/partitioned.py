"""Partitioned supervision: draw one option uniformly and ask its expert "is it this one?".

The protocol of "Towards Scalable Oversight via Partitioned Human Supervision", section 2 and Appendix B:
the option is drawn uniformly from all K. So if the answer is no, the asked option is uniform over the K−1
wrong options (Eq. 1). If the answer is yes, the item is an ordinary labelled item from the same distribution.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from oversight.harness import BadInput, derive_seeds, name_protocol
from oversight.harness.config import Study
from oversight.harness.estimate import UNIFORM_ASSUMPTIONS, UNIFORM_CHECKS, decode
from oversight.harness.store import split_into_batches
from oversight.harness.types import (
    Item,
    ProtocolStatement,
    Question,
    draw_place,
    question_ids,
)
from oversight.protocols.routing.roster import Roster, read_roster
from oversight.protocols.routing.routing_protocol import Predictions, QuestionFields

_Drawn = tuple[str, int, str, int, int]
"""Item, option, expert, number of options asked about (m), and number of options (K)."""


@dataclass(frozen=True, slots=True)
class Partitioned:
    """Draws m options per item uniformly (by default one), and asks an expert about each of them.

    Parameters
    ----------
    roster
        The experts.
    seed
        Seed of all draws.
    options_per_item
        Number m ≥ 1 of options to ask about per item, drawn without replacement. An item with fewer than m
        options gets one question per option.
    """

    roster: Roster
    seed: int = 0
    options_per_item: int = 1
    name: str = name_protocol("Partitioned")
    statement: ClassVar = ProtocolStatement(
        estimator="likelihood",
        assumptions=UNIFORM_ASSUMPTIONS,
        checks=UNIFORM_CHECKS,
        answers=frozenset({"accuracy", "difference", "later models"}),
    )

    def __post_init__(self) -> None:
        if self.options_per_item < 1:
            raise BadInput(f"options_per_item must be at least 1, is {self.options_per_item}")

    @classmethod
    def from_roster(cls, path: str | Path, *, seed: int = 0, options_per_item: int = 1) -> Partitioned:
        """Create the protocol from a roster file."""
        return cls(read_roster(path), seed, options_per_item)

    @classmethod
    def from_study(cls, study: Study, roster: Roster, _predictions: Predictions) -> Self:
        """Create the rule from study.toml; predictions are not used."""
        return cls(roster, study.study.seed, study.experts.options_per_item)

    def route(self, items: Sequence[Item]) -> list[Question]:
        """Draw m options per item and an expert for each.

        The propensity of an asked option is m/K, the probability that it is among the m drawn. If several
        experts judge a class, an expert with capacity left is drawn, which does not change the propensity of
        the option.

        Raises
        ------
        BadInput
            If nobody can judge a drawn option, or all experts who can are at capacity.
        """
        free = FreeExperts(self.roster)
        portions = split_into_batches(items)
        return [Question(*q) for portion in portions for q in self.route_portion(portion, free)]

    def route_portion(self, items: Sequence[Item], free: FreeExperts) -> list[QuestionFields]:
        """Draw the questions of a portion of items; `free` already counts questions of earlier portions."""
        seeds = derive_seeds(self.seed, last=[item.id for item in items])
        name, seed, drawn = self.name, self.seed, list(self._draw(items, seeds, free))
        ids = question_ids(name, seed, ((item, option) for item, option, *_ in drawn))
        return [
            (each, item, option, expert, k, name, m / k, seed, (), draw_place(each))
            for each, (item, option, expert, m, k) in zip(ids, drawn, strict=True)
        ]

    def _draw(self, items: Sequence[Item], seeds: Sequence[int], free: FreeExperts) -> Iterator[_Drawn]:
        for item, seed in zip(items, seeds, strict=True):
            rng, k = np.random.default_rng(seed), len(item.options)
            m = min(self.options_per_item, k)
            for option in rng.choice(k, m, replace=False).tolist():
                yield item.id, option, free.draw(item, option, rng.integers), m, k

    decode = staticmethod(decode)


class FreeExperts:
    """Remaining capacity of the experts of a roster.

    Parameters
    ----------
    roster
        The experts.
    load
        Number of questions of each expert so far; `draw` updates it.
    """

    def __init__(self, roster: Roster, load: Counter[str] | None = None) -> None:
        self._load = Counter[str]() if load is None else load
        self._able = lru_cache(maxsize=4096)(roster.for_class)

    def draw(self, item: Item, option: int, below: Callable[[int], Any], but: Collection[str] = ()) -> str:
        """Draw the expert to ask about an option, among present experts with remaining capacity.

        `below(n)` draws an integer from 0 to n − 1. Experts in `but` are drawn only if nobody else is
        available.

        Raises
        ------
        BadInput
            If no expert is available. No other option is drawn instead, because that would change
            propensities.
        """
        class_name = item.options[option]
        able = self._able(class_name)
        if not able:
            raise BadInput(f"item {item.id!r}: no expert judges the option {class_name!r}")
        load = self._load
        free = [e for e in able if e.capacity is None or load[e.name] < e.capacity]
        if not free:
            raise BadInput(
                f"item {item.id!r}: all experts for {class_name!r} are at capacity "
                f"({', '.join(f'{e.name} {e.capacity}' for e in able)}); raise a capacity or route fewer "
                "items"
            )
        free = [e for e in free if e.name not in but] or free
        expert = free[int(below(len(free)))].name
        load[expert] += 1
        return expert
