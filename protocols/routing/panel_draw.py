"""Several annotators per item: who rates what, drawn before any rating, with its propensity.

`RandomPanel` gives every item to n annotators drawn uniformly; `BalancedPanel` builds incomplete
blocks, in which loads differ by at most one and pairs of annotators meet about equally often. Either way the
draw looks at no rating and no prediction, so that what is missing is missing at random, and the
agreement of an item's annotators estimates that of the pool (`harness.panel.superhuman.ceiling`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from harness import BadInput, derive_seed, name_protocol
from harness.types import Assignment, Item, ProtocolStatement
from protocols.routing.roster import ANY_CLASS, Roster
from protocols.routing.rule import question_id


@dataclass(frozen=True, slots=True)
class RandomPanel:
    """Every item to n annotators, drawn uniformly without replacement.

    An item's draw depends on the seed and its id alone: items added later change no earlier one.
    Loads vary as draws do.

    Parameters
    ----------
    annotators
        Names, at least n.
    n
        Annotators per item, ≥ 2.
    seed
        Of all draws.
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
        check_annotators(self.annotators, self.n)

    @classmethod
    def from_roster(cls, roster: Roster, n: int, *, seed: int = 0) -> RandomPanel:
        """All experts present who may judge any class."""
        return cls(annotators_present(roster), n, seed)

    def route(self, items: Sequence[Item]) -> list[Assignment]:
        """Draw; propensity n/annotators each."""
        made = []
        for item in items:
            rng = np.random.default_rng(derive_seed(self.seed, self.name, item.id))
            drawn = rng.choice(len(self.annotators), size=self.n, replace=False)
            made += [self._assign(item, self.annotators[int(a)]) for a in drawn]
        return made

    def _assign(self, item: Item, annotator: str) -> Assignment:
        return assign(self.name, self.seed, item, annotator, self.n / len(self.annotators))


@dataclass(frozen=True, slots=True)
class BalancedPanel:
    """Incomplete blocks: equal loads (± 1), pairs that meet about equally often.

    The items, in an order drawn by the seed, take the groups of n annotators one after the other; at
    each step the group is drawn among those of least load, and of these, of least meetings. Marginally
    every annotator gets an item with probability n/annotators, by symmetry, as names are shuffled too.
    The plan is one draw: route all items at once.

    Parameters
    ----------
    annotators, n, seed
        As in `RandomPanel`.
    """

    annotators: tuple[str, ...]
    n: int
    seed: int = 0
    name: str = name_protocol("BalancedPanel")
    statement: ClassVar = ProtocolStatement(
        estimator="ratings",
        assumptions=(
            "annotators were given to items by a balanced plan drawn before any rating",
            "annotators rate alone; a missing rating is unrelated to the label",
        ),
        needs=frozenset({"annotators"}),
        answers=frozenset({"accuracy", "difference", "later models"}),
    )

    def __post_init__(self) -> None:
        check_annotators(self.annotators, self.n)

    @classmethod
    def from_roster(cls, roster: Roster, n: int, *, seed: int = 0) -> BalancedPanel:
        """All experts present who may judge any class."""
        return cls(annotators_present(roster), n, seed)

    def route(self, items: Sequence[Item]) -> list[Assignment]:
        """Draw the plan; assignments come in the order of the items."""
        rng = np.random.default_rng(derive_seed(self.seed, self.name))
        names = [self.annotators[int(a)] for a in rng.permutation(len(self.annotators))]
        chosen: dict[str, tuple[int, ...]] = {}
        load = np.zeros(len(names), dtype=np.int64)
        met = np.zeros((len(names), len(names)), dtype=np.int64)
        for j in rng.permutation(len(items)):
            group = _next_group(load, met, self.n, rng)
            chosen[items[int(j)].id] = group
            load[list(group)] += 1
            for a, b in combinations(group, 2):
                met[a, b] += 1
                met[b, a] += 1
        share = self.n / len(names)
        return [assign(self.name, self.seed, i, names[a], share) for i in items for a in chosen[i.id]]


def _next_group(
    load: np.ndarray[tuple[int], np.dtype[np.int64]],
    met: np.ndarray[tuple[int, int], np.dtype[np.int64]],
    n: int,
    rng: np.random.Generator,
) -> tuple[int, ...]:
    """One annotator after the other: least load, then fewest meetings with those chosen, then a draw."""
    group: list[int] = []
    for _ in range(n):
        meetings = met[:, group].sum(axis=1)
        order = np.lexsort((rng.random(len(load)), meetings, load))
        group.append(next(int(a) for a in order if int(a) not in group))
    return tuple(sorted(group))


def assign(name: str, seed: int, item: Item, annotator: str, propensity: float) -> Assignment:
    """One assignment with its stable id."""
    key = question_id(f"{name}\x1f{annotator}", seed, item.id, 0)
    return Assignment(key, item.id, annotator, propensity, name, seed)


def check_annotators(annotators: Sequence[str], n: int) -> None:
    """Refuse a panel that cannot be.

    Raises
    ------
    BadInput
        If a name is used twice, n is below 2, or there are fewer than n annotators.
    """
    for j, name in enumerate(annotators):
        if name in annotators[:j]:
            raise BadInput(f"the annotator {name!r} is named twice")
    if n < 2:
        raise BadInput(f"n must be at least 2 annotators per item, is {n}: one agrees with nobody")
    if len(annotators) < n:
        raise BadInput(f"n = {n} annotators per item are asked for, there are {len(annotators)}")


def annotators_present(roster: Roster) -> tuple[str, ...]:
    """Names of the experts present who may judge any class (``classes = ["*"]``)."""
    return tuple(e.name for e in roster.experts if not e.absent and ANY_CLASS in e.classes)
