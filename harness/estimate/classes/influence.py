"""What every item adds to results by class: by these two results of the same answers are correlated.

A ratio's influence is that of its linear form: of recall R of class c (1{ŷ = c} − R) 1{y = c}/P(y = c), of
F1 ((2·1{ŷ = c} − F) 1{y = c} − F·1{ŷ = c})/(P(ŷ = c) + P(y = c)), of precision h 1{ŷ = c}(1{y = c} − h)/P(ŷ
= c). The truth in them is estimated by equation (G), see `oversight.harness.estimate.routed.doubly_robust`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import ItemValues, LabelColumns, PredictionColumns
from oversight.harness.estimate.data import find_unequal
from oversight.harness.estimate.evidence import number_clusters
from oversight.harness.estimate.routed import (
    RoutedSample,
    informed,
    pseudo_outcomes,
    read_item_answers,
    routed_pool,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemTruths:
    """What answers tell of the truth of N items.

    Attributes
    ----------
    items
        Their places, shape (N,).
    data
        Answers to drawn options; None where items were resolved.
    truth
        Where items were resolved, the true option, −1 unknown; shape (N,).
    weight
        Of every item, mean 1: items of strata stand for different numbers of others.
    """

    items: IntArray
    data: RoutedSample | None
    truth: IntArray
    weight: FloatArray
    cluster: IntArray | None
    width: int

    @classmethod
    def gather(
        cls,
        models: Sequence[PredictionColumns],
        labels: LabelColumns,
        classes: int,
        strata: ItemValues | None = None,
    ) -> ItemTruths:
        """Of the items with an answer."""
        if labels.is_resolved:
            ran = np.logical_and.reduce([m.ran for m in models])
            items = np.flatnonzero(ran & labels.asked_items)
            data, truth = None, read_item_answers(labels).truth[items]
        else:
            data, predicted, items = routed_pool(labels, models)
            unequal = find_unequal(labels, np.logical_and.reduce([m.is_there for m in models]))
            data = data if unequal is None else unequal.tilt(data)
            data, truth = informed(predicted.astype(np.int64), data), np.zeros(0, np.int64)
        return cls(
            items=items,
            data=data,
            truth=truth,
            weight=_weigh(models[0], items, strata),
            cluster=number_clusters(items, labels.index, labels.cluster),
            width=classes,
        )

    def influence(self, option: IntArray, weight: FloatArray, known: FloatArray) -> FloatArray:
        """What every item adds to Σ weight·1{truth = option} + known, each of shape (study's items,).

        Raises
        ------
        NotIdentified
            If answers do not tell it.
        """
        rows, options = np.arange(len(self.items)), option[self.items]
        target = np.zeros((len(self.items), self.width))
        target[rows, np.maximum(options, 0)] = np.where(options >= 0, weight[self.items], 0.0)
        if self.data is None:
            seen = np.where(self.truth >= 0, target[rows, np.maximum(self.truth, 0)], 0.0)
        else:
            seen = pseudo_outcomes(target, self.data)
        return np.asarray(self.weight * (seen + known[self.items]), dtype=np.float64)


def _weigh(predictions: PredictionColumns, items: IntArray, strata: ItemValues | None) -> FloatArray:
    if strata is None:
        return np.ones(len(items))
    pool = np.bincount(strata.code[predictions.ran], minlength=len(strata.names))
    code = strata.code[items]
    weight: FloatArray = (pool / np.maximum(np.bincount(code, minlength=len(strata.names)), 1))[code]
    return np.asarray(weight / weight.mean(), dtype=np.float64)
