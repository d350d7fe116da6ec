"""The items of a study by place, names of them as codes, and the pool they were drawn from.

Which items of a larger pool were drawn to be asked about, and in which stratum each of them lies.

`weigh_draws` says what drawn items stand for if one draw after another took some of a pool. The b-th draw
takes n_b of the N_b items that remain, with chances ρ_i that may depend on all answers before it. Each draw
alone gives an unbiased sum over the pool (what was drawn before counts as it is, what is drawn as 1/ρ_i),
and a mean of these sums with weights λ_b that no answer enters is unbiased, too. λ_b is such that even
draws give every item the weight N/n (the weights of Farquhar, Gal & Rainforth 2021, ICLR, for one item at a
time).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray


class ItemIndex:
    """Items by place, from 0; columns over one index belong together.

    Parameters
    ----------
    size
        Number of items, N.
    read_ids
        Returns their N ids in order; called when the first is needed, as most work needs none.
    """

    def __init__(self, size: int, read_ids: Callable[[], Sequence[str]]) -> None:
        self.size = size
        self._read_ids = read_ids

    @classmethod
    def of(cls, ids: Sequence[str]) -> ItemIndex:
        """The index of ids that are known."""
        return cls(len(ids), lambda: ids)

    @cached_property
    def ids(self) -> Sequence[str]:
        """Id of every item."""
        return self._read_ids()

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Place of every id."""
        return {name: place for place, name in enumerate(self.ids)}

    def find(self, ids: Iterable[str]) -> IntArray:
        """Places of ids; −1 for an unknown one."""
        places = self.places
        return np.array([places.get(name, -1) for name in ids], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemValues:
    """Names of items.

    Attributes
    ----------
    code
        Shape (N,): place of the item's name in `names`, −1 for an item without one.
    names
        In alphabetical order.
    """

    code: IntArray
    names: Sequence[str]

    @classmethod
    def of(cls, values: Mapping[str, str], index: ItemIndex) -> ItemValues:
        """Names by id as codes by place; those of other items are left out."""
        found = [values.get(name) for name in index.ids]
        names = sorted({name for name in found if name is not None})
        places: dict[str | None, int] = {name: place for place, name in enumerate(names)}
        return cls(code=np.array([places.get(name, -1) for name in found], dtype=np.int64), names=names)

    def by_id(self, index: ItemIndex) -> dict[str, str]:
        """Names by id, of the items that have one."""
        codes = zip(index.ids, self.code.tolist(), strict=True)
        return {name: self.names[code] for name, code in codes if code >= 0}


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemPool:
    """Items drawn from a pool: each with the same probability, in proportion within strata, or with weights.

    Without weights the mean of anything over the drawn items is an unbiased estimate of its mean over the
    pool; strata that tell it apart make it more exact than as many items drawn at random.

    Attributes
    ----------
    stratum
        Shape (N,): number of the stratum of every drawn item, −1 for an item that was not drawn.
    size
        Number of items of the pool.
    weight
        Shape (N,): how many items of the pool every drawn item stands for, at least 1, 0 for an item that was
        not drawn; None where all stand for equally many (`weigh_draws`).
    chance, batch
        Shape (N,): probability with which a drawn item was drawn of what remained, NaN where all were equal,
        and number of its draw, 0 for an item that was not drawn; None of weights that came without draws.
    """

    stratum: IntArray
    size: int
    weight: FloatArray | None = None
    chance: FloatArray | None = None
    batch: IntArray | None = None

    @cached_property
    def drawn(self) -> BoolArray:
        """Items that were drawn, shape (N,)."""
        return np.asarray(self.stratum >= 0)

    @cached_property
    def number(self) -> int:
        """How many items were drawn."""
        return int(np.count_nonzero(self.drawn))


def share_of_draw(number: int, before: int, remaining: int, pool: int) -> float:
    """λ of a draw of `number` of the `remaining` items among all up to it; `before` were drawn before."""
    return pool * number / ((before + number) * remaining)


def weigh_draws(chance: FloatArray, batch: IntArray, pool: int) -> FloatArray:
    """How many items of the pool every drawn one stands for, shape (n,).

    At least 1 where every draw kept chances up to its `share_of_draw`.

    Parameters
    ----------
    chance, batch
        Shape (n,): probability with which the item was drawn of what remained, NaN where all were equal, and
        number of the draw, from 1.
    pool
        Items of the pool.
    """
    weight, before = np.ones(len(chance)), 0
    for number in np.unique(batch).tolist():
        now, earlier = batch == number, batch < number
        size, remaining = int(np.count_nonzero(now)), pool - before
        share = share_of_draw(size, before, remaining, pool)
        weight[earlier] = (1 - share) * weight[earlier] + share
        each = np.where(np.isnan(chance[now]), size / remaining, chance[now])
        weight[now] = np.maximum(1.0, share / each)
        before += size
    return weight
