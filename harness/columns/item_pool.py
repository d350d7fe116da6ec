"""Which items of a larger pool were drawn to be asked about, and in which stratum each of them lies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray


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
