"""What judges are worth: how many times as many answers would say as much without them.

It is a ratio of variances, each the sum of squared deviations of the outcomes g at the estimate: of the same
answers without judges, over with them. Items drawn of a pool are weighted, without judges, as if as many had
been drawn with equal chances. The logarithm of the ratio has the larger of two standard errors: that of the
infinitesimal jackknife over items (clusters), each of which contributes its share of the one sum less its
share of the other, and that of the jackknife over ten groups of them, in which what judges say is learned
anew (Efron 1982, The Jackknife, the Bootstrap and Other Resampling Plans).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.intervals import tilted_outcomes
from oversight.harness.estimate.judged.judge_features import JudgeOpinion
from oversight.harness.estimate.judged.working import split_items_evenly, working_distribution
from oversight.harness.estimate.routed import RoutedSample, accuracy_target, t_quantile, tilt_sample

LEAST_KINDS = 5
"""Answers about items of either kind, right and wrong, from which on what a judge saved can be told."""
_GROUPS = 10
_LARGEST = 30_000
"""Items up to which groups are left out in turn; of more, what is learned hardly varies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeWorth:
    """How many times as many answers would say as much without judges, with the ends of an interval."""

    ratio: float
    low: float
    high: float


def measure_worth(
    predicted: IntArray,
    data: RoutedSample,
    judges: Sequence[JudgeOpinion],
    *,
    level: float = 0.95,
    cluster: IntArray | None = None,
) -> JudgeWorth | None:
    """What judges were worth to one model; None where nothing varies. Parameters as of `judged_accuracy`."""
    plain, judged = _variances(predicted, data, judges, cluster)
    if min(plain.sum(), judged.sum()) <= 0:
        return None
    ratio = float(plain.sum() / judged.sum())
    shares = plain / plain.sum() - judged / judged.sum()
    se, units = float(np.sqrt((shares**2).sum())), np.count_nonzero(plain + judged)
    if len(predicted) <= _LARGEST:
        left = _leave_groups_out(predicted, data, judges, cluster)
        se = max(se, float(np.sqrt((len(left) - 1) * left.var())) if len(left) else 0.0)
        units = min(units, len(left))
    half = t_quantile(level, max(1, units - 1)) * se
    return JudgeWorth(ratio=ratio, low=ratio * float(np.exp(-half)), high=ratio * float(np.exp(half)))


def _leave_groups_out(
    predicted: IntArray, data: RoutedSample, judges: Sequence[JudgeOpinion], cluster: IntArray | None
) -> FloatArray:
    """Logarithms of the ratio without each group of items; without those in which nothing varies."""
    group = split_items_evenly(data, cluster, _GROUPS, 1)
    found = []
    for left_out in range(_GROUPS):
        kept = np.flatnonzero(group != left_out)
        of = None if cluster is None else np.unique(cluster[kept], return_inverse=True)[1].astype(np.int64)
        try:
            plain, judged = _variances(
                predicted[kept], data.take(kept), [judge.take(kept) for judge in judges], of
            )
        except EstimateError:
            continue
        if min(plain.sum(), judged.sum()) > 0:
            found.append(float(np.log(plain.sum() / judged.sum())))
    return np.array(found)


def _variances(
    predicted: IntArray, data: RoutedSample, judges: Sequence[JudgeOpinion], cluster: IntArray | None
) -> tuple[FloatArray, FloatArray]:
    """What every item, or cluster, adds to the variance without judges and with them."""
    readable = np.flatnonzero(predicted >= 0)
    target = accuracy_target(predicted, data.propensities.shape[1])
    working = working_distribution(predicted, data, judges, cluster=cluster)
    rows = tilt_sample(target, readable, data, working=working)
    of = None if cluster is None else cluster[readable]
    judged = _square(rows.weight * tilted_outcomes(rows), of)
    return _square_plain(target, readable, data, cluster), judged


def _square(deviation: FloatArray, cluster: IntArray | None) -> FloatArray:
    """What every item, or cluster, adds to the variance of a sum of deviations."""
    sums: FloatArray = deviation if cluster is None else np.bincount(cluster, deviation).astype(np.float64)
    squares: FloatArray = sums**2
    return squares


def _square_plain(
    target: FloatArray, readable: IntArray, data: RoutedSample, cluster: IntArray | None
) -> FloatArray:
    """The same without judges, had the answered items been drawn with equal chances."""
    drawn = readable[data.by_item[0][readable] >= 0]
    rho = data.propensities.sum(axis=1, keepdims=True)
    even = np.divide(data.propensities, rho, out=np.zeros_like(data.propensities), where=rho > 0)
    rows = tilt_sample(target, drawn, replace(data, propensities=even))
    weight = 1 / rho[drawn, 0] / (1 / rho[drawn]).sum()
    deviation = tilted_outcomes(replace(rows, weight=weight)) * np.sqrt(weight / len(drawn))
    if cluster is not None:
        return _square(deviation, cluster[drawn])
    found = np.zeros(len(target))
    found[drawn] = _square(deviation, None)
    return found[readable]
