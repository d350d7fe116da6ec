"""Draw several annotators per item before any rating, with their propensities.

`RandomPanel` assigns every item to n annotators drawn uniformly. `BalancedPanel` builds incomplete blocks:
annotators' numbers of items differ by at most one, and all pairs of annotators share about equally many
items. The draw depends on no rating and no prediction, so missing ratings are missing at random, and the
agreement of an item's annotators estimates the agreement of all annotators
(`oversight.harness.panel.ceiling`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from oversight.harness import BadInput, IntArray, check_names, derive_seed, name_protocol
from oversight.harness.types import Assignment, Item, ProtocolStatement, question_id
from oversight.protocols.routing.roster import ANY_CLASS, Roster


@dataclass(frozen=True, slots=True)
class RandomPanel:
    """Every item is assigned to n annotators, drawn uniformly without replacement.

    The draw for an item depends only on the seed and on the item's id, so items added later change no earlier
    draw. The number of items per annotator varies at random.

    Parameters
    ----------
    annotators
        At least n names.
    n
        Annotators per item, ≥ 2.
    seed
        Seed of all draws.

    Raises
    ------
    BadInput
        If a name occurs twice, n is below 2, or there are fewer than n annotators.
    """

    annotators: tuple[str, ...]
    n: int
    seed: int = 0
    name: str = name_protocol("RandomPanel")
    statement: ClassVar = ProtocolStatement(
        estimator="ratings",
        assumptions=(
            "an item's annotators were drawn uniformly, before any rating",
            "annotators rate alone; a missing rating is unrelated to the label",
        ),
        needs=frozenset({"annotators"}),
        answers=frozenset({"accuracy", "difference", "later models"}),
    )

    def __post_init__(self) -> None:
        check_names("annotators", self.annotators)
        for j, name in enumerate(self.annotators):
            if name in self.annotators[:j]:
                raise BadInput(f"the annotator {name!r} is named twice")
        if self.n < 2:
            raise BadInput(f"n must be at least 2 annotators per item, is {self.n}: agreement needs two")
        if len(self.annotators) < self.n:
            raise BadInput(
                f"n = {self.n} annotators per item are requested, but there are only {len(self.annotators)}"
            )

    @classmethod
    def from_roster(cls, roster: Roster, n: int, *, seed: int = 0) -> Self:
        """Create the rule with all present experts who can judge all classes (``classes = ["*"]``)."""
        present = (e.name for e in roster.experts if not e.absent and ANY_CLASS in e.classes)
        return cls(tuple(present), n, seed)

    def route(self, items: Sequence[Item]) -> list[Assignment]:
        """Draw the assignments. Each has the propensity n divided by the number of all annotators."""
        made = []
        for item in items:
            rng = np.random.default_rng(derive_seed(self.seed, self.name, item.id))
            drawn = rng.choice(len(self.annotators), size=self.n, replace=False)
            made += [self.assign(item, self.annotators[int(a)]) for a in drawn]
        return made

    def assign(self, item: Item, annotator: str) -> Assignment:
        """Make an assignment with its stable id."""
        key = question_id(f"{self.name}\x1f{annotator}", self.seed, item.id, 0)
        share = self.n / len(self.annotators)
        return Assignment(key, item.id, annotator, share, self.name, self.seed)


@dataclass(frozen=True, slots=True)
class BalancedPanel(RandomPanel):
    """Incomplete blocks: annotators have equally many items (± 1); pairs share roughly equally many items.

    Items are assigned in random order. The n annotators of an item are chosen one after the other, each among
    the annotators with the fewest items. Ties go to the annotator who shared the fewest items with those
    already chosen. Remaining ties are broken at random. Names are shuffled too, so every annotator gets an
    item with the same probability. The plan is a single draw, so route all items at once.

    Parameters
    ----------
    annotators, n, seed
        As in `RandomPanel`.
    """

    name: str = name_protocol("BalancedPanel")
    statement: ClassVar = replace(
        RandomPanel.statement,
        assumptions=(
            "annotators were given to items by a balanced plan drawn before any rating",
            "annotators rate alone; a missing rating is unrelated to the label",
        ),
    )

    def route(self, items: Sequence[Item]) -> list[Assignment]:
        """Draw all assignments at once, and return them in item order."""
        rng = np.random.default_rng(derive_seed(self.seed, self.name))
        names = [self.annotators[int(a)] for a in rng.permutation(len(self.annotators))]
        chosen: dict[str, tuple[int, ...]] = {}
        load = np.zeros(len(names), dtype=np.int64)
        met = np.zeros((len(names), len(names)), dtype=np.int64)
        for j in rng.permutation(len(items)):
            group = _next_group(load, met, self.n, rng)
            chosen[items[int(j)].id] = group
            load[list(group)] += 1
            met[np.ix_(group, group)] += 1
        return [self.assign(item, names[a]) for item in items for a in chosen[item.id]]


def _next_group(load: IntArray, met: IntArray, n: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Choose n annotators for an item, one after the other.

    Each annotator is chosen among those with the fewest items. Ties go to the annotator who shared the fewest
    items with the annotators chosen before. Remaining ties are broken at random.
    """
    group: list[int] = []
    for _ in range(n):
        meetings = met[:, group].sum(axis=1)
        order = np.lexsort((rng.random(len(load)), meetings, load))
        group.append(next(int(a) for a in order if int(a) not in group))
    return tuple(sorted(group))
