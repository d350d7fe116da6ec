"""A model's accuracy with judges' probabilities as side information.

The judges' opinions and the model's own prediction give every item a working distribution of its true option
(`option_logit`), whose parameters are learned from experts' answers about the items of the other folds
(cross-fitting, as in `oversight.harness.estimate.routed.doubly_robust`). It enters the score interval of
`oversight.harness.estimate.intervals.tilting`, where E U = 0 for every distribution made without the item's
own answer: a judge that is wrong, reversed or constant costs width, never validity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.combinations import POOL, refuse
from oversight.harness.estimate.core import check_level
from oversight.harness.estimate.judged.judge_features import JudgeOpinion
from oversight.harness.estimate.judged.working import working_distribution
from oversight.harness.estimate.routed import RoutedSample, check_predicted, routed_accuracy
from oversight.harness.types import Estimate


def judged_accuracy(
    predicted: IntArray,
    data: RoutedSample,
    judges: Sequence[JudgeOpinion],
    *,
    level: float = 0.95,
    cluster: IntArray | None = None,
    weight: FloatArray | None = None,
) -> Estimate:
    """Accuracy of one model from one question an item, or about items drawn of a pool.

    Parameters
    ----------
    predicted
        Shape (N,): −1 for unreadable, which is wrong and counts.
    data
        Answers; where items were drawn of a pool (`sampled`), the estimate is of the whole pool, and items
        that were not drawn may have propensities of 0, for chances that are not known (`tilt_items`).
    judges
        What judges say of the same items.
    cluster, weight
        Shape (N,): number of the item's cluster, and how many items each stands for (`routed_accuracy`).

    Raises
    ------
    EstimateError
        If there is no item, or a prediction is not one of its options.
    NotIdentified
        If items have several questions, these answers cannot tell the accuracy of these predictions, or a
        pool has clusters.
    """
    check_level(level)
    check_predicted(predicted, data)
    if np.bincount(data.item).max(initial=0) > 1:
        raise NotIdentified("items have several questions, and a judge is used with one")
    if data.sampled and cluster is not None:
        refuse("estimate", {"judges", POOL, "clusters"})
    if not data.item.size or not (predicted >= 0).any():
        raise NotIdentified("no answered item has a readable prediction")
    working = working_distribution(predicted, data, judges, cluster=cluster)
    made = routed_accuracy(predicted, data, level=level, cluster=cluster, working=working, weight=weight)
    return replace(made, estimator="judged")
