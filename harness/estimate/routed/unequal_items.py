"""A model's accuracy from items that were drawn of a pool with unequal, recorded chances.

Every item weighs as much as it stands for (`harness.columns.weigh_draws`), over the sum of all: U(θ) of
`harness.estimate.intervals.tilting` is then Σ_i w_i (g_i − θ)/Σ_i w_i, a ratio of two unbiased sums (Hájek
1971, in: Foundations of Statistical Inference), and Student's t has as many degrees of freedom as the
weights leave effective items, (Σw)²/Σw². Chances have a floor, so that no item weighs more than a few of
average weight.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.arrays import BoolArray, FloatArray, IntArray
from harness.errors import NotIdentified
from harness.estimate.core import check_level
from harness.estimate.intervals import TiltedRows, count_effective, tilt_items, tilted_score
from harness.estimate.routed.means import tilted_accuracy
from harness.estimate.routed.routed_sample import (
    RoutedSample,
    accuracy_target,
    check_predicted,
)
from harness.types import Estimate


def unequal_accuracy(
    predicted: IntArray,
    data: RoutedSample,
    weight: FloatArray,
    *,
    level: float = 0.95,
    cluster: IntArray | None = None,
    working: FloatArray | None = None,
) -> Estimate:
    """Accuracy on the pool from one question an item, or none where the prediction is unreadable.

    Parameters
    ----------
    predicted
        Shape (N,): −1 for unreadable, which is wrong and counts.
    data
        Answers about the N drawn items.
    weight
        Shape (N,), above 0: how many items of the pool each of them stands for.
    working
        Shape (N, K): what is known of each item beside its answer, see `tilt_items`.

    Raises
    ------
    EstimateError
        If there is no item, or a prediction is not one of its options.
    NotIdentified
        If items have several questions or share clusters, or these answers cannot tell the accuracy of these
        predictions.
    """
    check_level(level)
    check_predicted(predicted, data)
    n, readable = len(predicted), predicted >= 0
    target = accuracy_target(predicted, data.propensities.shape[1])
    rows = weigh_items(target, readable, data, weight, cluster, working)
    inner = tilted_score(rows, level, df=count_effective(weight))
    found = tilted_accuracy(
        inner, np.ones(n, np.bool_), estimator="routed", counts=data.counts, level=level, cluster=None
    )
    return replace(found, n=replace(found.n, unreadable=int(np.count_nonzero(~readable))))


def weigh_items(
    target: FloatArray,
    matters: BoolArray,
    data: RoutedSample,
    weight: FloatArray,
    cluster: IntArray | None,
    working: FloatArray | None = None,
) -> TiltedRows:
    """Rows of N items of one question each, by their weights; of those that do not matter no answer counts.

    Parameters
    ----------
    target, matters
        Shape (N, K) and (N,): c of every option, and whether the item's answer is needed.
    data, weight, cluster, working
        As in `unequal_accuracy`.

    Raises
    ------
    NotIdentified
        If items that matter have several questions or none, share clusters, or answers cannot tell.
    """
    n = len(weight)
    if cluster is not None:
        raise NotIdentified("items were drawn with unequal chances and share clusters; take one of these")
    asked, yes = np.full(n, -1), np.zeros(n)
    asked[data.item], yes[data.item] = data.asked, data.answer
    several = np.bincount(data.item, minlength=n)[matters] != 1
    if several.any():
        raise NotIdentified(
            f"{np.count_nonzero(several)} items drawn with unequal chances have several answers, or none"
        )
    asked[~matters] = -1
    rows = tilt_items(target, data.propensities, data.n_options, asked, yes, working=working)
    return replace(rows, weight=weight / weight.sum())
