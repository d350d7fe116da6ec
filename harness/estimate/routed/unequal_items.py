"""A model's accuracy from items that were drawn of a pool with unequal, recorded chances.

Every item weighs as much as it stands for (`oversight.harness.columns.weigh_draws`), over the sum of all:
U(θ) of `oversight.harness.estimate.intervals.tilting` is then Σ_i w_i (g_i − θ)/Σ_i w_i, a ratio of two
unbiased sums (Hájek 1971, in: Foundations of Statistical Inference), and Student's t has as many degrees of
freedom as the weights leave effective items, (Σw)²/Σw². Chances have a floor, so that no item weighs more
than a few of average weight. Where some predictions are unreadable, it is that of the readable ones times
their share (`scale_by_share`), which is one of the effective items.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.core import check_level, count_effective
from oversight.harness.estimate.intervals import (
    TiltedRows,
    scale_by_share,
    tilt_items,
    tilted_score,
)
from oversight.harness.estimate.routed.means import ROUTED_ASSUMPTIONS
from oversight.harness.estimate.routed.routed_sample import (
    RoutedSample,
    accuracy_target,
    check_predicted,
)
from oversight.harness.types import Estimate, Interval


def unequal_accuracy(
    predicted: IntArray,
    data: RoutedSample,
    weight: FloatArray,
    *,
    level: float = 0.95,
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
        If items have several questions, or these answers cannot tell the accuracy of these predictions.
    """
    check_level(level)
    check_predicted(predicted, data)
    readable = predicted >= 0
    target = accuracy_target(predicted, data.propensities.shape[1])
    if not readable.any():
        raise NotIdentified("no answered item has a readable prediction")
    rows = weigh_items(target, readable, data, weight, working)
    inner = tilted_score(rows, level, df=max(1.0, count_effective(weight[readable])))
    value, low, high, se = inner.value, inner.low, inner.high, inner.se
    if not readable.all():
        share, size = float(weight[readable].sum() / weight.sum()), count_effective(weight)
        se = float(np.sqrt((share * se) ** 2 + value**2 * share * (1 - share) / size))
        value, low, high = scale_by_share(share, size, value, low, high, level)
    return Estimate.from_interval(
        value=value,
        se=se,
        interval=Interval(
            low=max(0.0, low),
            high=high,
            level=level,
            method="tilted-score",
            steps=() if readable.all() else ("share",),
        ),
        estimator="routed",
        n=replace(data.counts, unreadable=int(np.count_nonzero(~readable))),
        assumptions=ROUTED_ASSUMPTIONS,
    )


def weigh_items(
    target: FloatArray,
    matters: BoolArray,
    data: RoutedSample,
    weight: FloatArray,
    working: FloatArray | None = None,
) -> TiltedRows:
    """Rows of those of N items with one question each that matter, by their weights, which are together 1.

    Parameters
    ----------
    target, matters
        Shape (N, K) and (N,): c of every option, and whether the item's answer is needed.
    data, weight, working
        As in `unequal_accuracy`.

    Raises
    ------
    NotIdentified
        If items that matter have several questions or none, or answers cannot tell.
    """
    several = np.bincount(data.item, minlength=len(weight))[matters] != 1
    if several.any():
        raise NotIdentified(
            f"{np.count_nonzero(several)} items drawn with unequal chances have several answers, or none"
        )
    asked, yes = np.full(len(weight), -1), np.zeros(len(weight))
    asked[data.item], yes[data.item] = data.asked, data.answer
    rows = tilt_items(
        target[matters],
        data.propensities[matters],
        data.n_options[matters],
        asked[matters],
        yes[matters],
        working=None if working is None else working[matters],
    )
    return replace(rows, weight=weight[matters] / weight[matters].sum())
