"""Items of a pool by kind: equal ones are counted, so that many models on many items cost little."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from oversight.harness.arrays import AnyIntArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import find_equal
from oversight.harness.estimate.routed.routed_sample import RoutedSample

_WORTH = 4
"""Least number of items a kind, on average, for which counting pays."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PoolKinds:
    """Kinds of items with at most one answer each: equal propensities, K, option asked about and answer.

    Attributes
    ----------
    data
        A pool with one item of every kind.
    kind
        Which of them every item of the whole pool is, shape (N,).
    """

    data: RoutedSample
    kind: IntArray

    @classmethod
    def of(cls, data: RoutedSample) -> PoolKinds | None:
        """The kinds of a pool; None where an item has several answers, or most items are their own kind."""
        n = len(data.propensities)
        if np.bincount(data.item, minlength=n).max(initial=0) > 1:
            return None
        asked, answer = data.by_item
        first, kind = find_equal(np.column_stack([data.propensities, data.n_options, asked, answer]))
        if len(first) * _WORTH > n:
            return None
        return cls(data=data.take(first), kind=kind)

    def count(self, *predicted: AnyIntArray) -> tuple[RoutedSample, tuple[IntArray, ...], IntArray]:
        """Items by kind and by what models predict of them.

        Parameters
        ----------
        predicted
            Shape (N,) each, −1 for unreadable.

        Returns
        -------
        RoutedSample, arrays, array
            A pool of C items that differ in kind or prediction, the predictions, shape (C,) each, and how
            many items of the whole pool each of them is, shape (C,).

        Raises
        ------
        EstimateError
            If a prediction is an option of no item.
        """
        width = self.data.propensities.shape[1] + 1
        code = self.kind
        for column in predicted:
            if column.min(initial=0) < -1 or column.max(initial=0) >= width - 1:
                raise EstimateError(
                    f"a prediction must lie in -1..{width - 2}, one is {np.abs(column).max()}"
                )
            code = code * width + column + 1
        space = len(self.data.propensities) * width ** len(predicted)
        if space > len(code):
            cells, number = np.unique(code, return_counts=True)
        else:
            every = np.bincount(code, minlength=space)
            cells = np.flatnonzero(every)
            number = every[cells]
        steps = [cells // width**power for power in range(len(predicted) + 1)]
        columns = [low - high * width - 1 for low, high in pairwise(steps)]
        return _repeat(self.data, steps[-1]), tuple(reversed(columns)), number


def _repeat(data: RoutedSample, rows: IntArray) -> RoutedSample:
    """A pool of some items, which may come several times, with what was asked of each and answered."""
    asked, answer = (values[rows] for values in data.by_item)
    item = np.flatnonzero(asked >= 0)
    return RoutedSample(
        item=item,
        asked=asked[item],
        answer=answer[item],
        propensities=data.propensities[rows],
        n_options=data.n_options[rows],
        sampled=data.sampled,
        error_free=data.error_free,
    )
