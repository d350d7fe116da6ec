"""The independent units of a mean over items: the items themselves, or clusters of them.

Let a cluster drawn have m items, M at most, whose values in [0, 1] add up to S, and θ = E S/E m be their
mean over items. For a bound u, W = (S − u m)/M + u lies in [0, 1], however the items of a cluster depend
on each other, and E W ≤ u is θ ≤ u. So the inequality of Chernoff and Hoeffding for means of independent
values in [0, 1] applies to W, whose mean over clusters is u + (θ̂ − u) m̄/M. With m = M = 1 it is that for
items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import IntArray
from oversight.harness.estimate import chernoff_high, chernoff_low, find_root


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """How many units were drawn, and `fullness`, the mean number of their items over the largest."""

    number: int
    fullness: float = 1.0

    def at_most(self, mean: float, bound: float) -> float:
        """Bound of the p-value of "θ is at most `bound`", given the mean over the items."""
        return chernoff_high(self._over_units(mean, bound), self.number, bound)

    def at_least(self, mean: float, bound: float) -> float:
        """Bound of the p-value of "θ is at least `bound`"."""
        return chernoff_low(self._over_units(mean, bound), self.number, bound)

    def highest(self, mean: float, alpha: float) -> float:
        """Upper confidence bound of θ: the bound at which that p-value falls to α."""
        if mean >= 1:
            return 1.0
        return find_root(lambda bound: self.at_least(mean, bound) - alpha, mean, 1.0)

    def lowest(self, mean: float, alpha: float) -> float:
        """Lower confidence bound of θ likewise."""
        return 1 - self.highest(1 - mean, alpha)

    def _over_units(self, mean: float, bound: float) -> float:
        return mean if self.fullness == 1 else bound + (mean - bound) * self.fullness


def count_units(unit: IntArray) -> Units:
    """Units of items, given the number of every item's own; shape (N,)."""
    _, sizes = np.unique(unit, return_counts=True)
    return Units(number=len(sizes), fullness=float(sizes.mean() / sizes.max()))
