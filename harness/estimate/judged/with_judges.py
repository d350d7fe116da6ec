"""A model's accuracy with judges' probabilities as side information, and what they were worth.

The judges' opinions and the model's own prediction give every item a working distribution of its true option
(`option_logit`), whose parameters are learned from experts' answers about the items of the other folds
(cross-fitting, as in `harness.estimate.routed.doubly_robust`). It enters the score interval of
`harness.estimate.intervals.tilting`, where E U = 0 for every distribution made without the item's own answer:
a judge that is wrong, reversed or constant costs width, never validity.

What it was worth is a ratio of variances, each the sum of squared deviations of the outcomes g at the
estimate: of the same answers without the judge, over with it. Items drawn of a pool are weighted, without it,
as if as many had been drawn with equal chances. The logarithm of the ratio has the standard error of the
infinitesimal jackknife over items (clusters), each of which contributes its share of the one sum less its
share of the other (Efron 1982, The Jackknife, the Bootstrap and Other Resampling Plans).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.arrays import FloatArray, IntArray
from harness.errors import NotIdentified
from harness.estimate.core import check_level
from harness.estimate.intervals import (
    effective_size,
    scale_by_share,
    tilt_items,
    tilted_outcomes,
    tilted_score,
)
from harness.estimate.judged.judge_features import JudgeOpinion, describe_options
from harness.estimate.judged.option_logit import OptionFeatures, fit_parameters, option_probabilities
from harness.estimate.judged.pool_rows import tilt_pool
from harness.estimate.routed import (
    ROUTED_ASSUMPTIONS,
    RoutedSample,
    accuracy_target,
    check_predicted,
    flat_posterior,
    t_quantile,
)
from harness.types import Estimate, Interval

_FLAT = 0.05
"""Share of the working distribution that is left flat, so that sure judges leave room for surprise."""
_FOLDS = 5
_LEAST = 20
"""Answers from which on the parameters are learned; below, they are those of the prior."""
_MOST = 5_000
"""Answers that parameters are learned from, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeWorth:
    """How many times as many answers would say as much without judges, with the ends of an interval."""

    ratio: float
    low: float
    high: float


def judged_accuracy(
    predicted: IntArray,
    data: RoutedSample,
    judges: Sequence[JudgeOpinion],
    *,
    level: float = 0.95,
    cluster: IntArray | None = None,
) -> tuple[Estimate, JudgeWorth | None]:
    """Accuracy of one model from one question an item, or about items drawn of a pool.

    Parameters
    ----------
    predicted
        Shape (N,): −1 for unreadable, which is wrong and counts.
    data
        Answers; where items were drawn of a pool (`sampled`), the estimate is of the whole pool, and items
        that were not drawn may have propensities of 0, for chances that are not known (`tilt_pool`).
    judges
        What judges say of the same items.
    cluster
        Shape (N,): number of the item's cluster.

    Returns
    -------
    Estimate, JudgeWorth
        None for the second where nothing varies.

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
    n, readable = len(predicted), np.flatnonzero(predicted >= 0)
    if np.bincount(data.item, minlength=n).max(initial=0) > 1:
        raise NotIdentified("items have several questions, and a judge is used with one")
    if data.sampled and cluster is not None:
        raise NotIdentified(
            "items were drawn of a pool and share clusters; a judge is used with one of these"
        )
    if not data.item.size or not readable.size:
        raise NotIdentified("no answered item has a readable prediction")
    asked, yes = np.full(n, -1), np.zeros(n)
    asked[data.item], yes[data.item] = data.asked, data.answer
    of = None if cluster is None else cluster[readable]
    common: dict[str, Any] = {
        "c": accuracy_target(predicted, data.propensities.shape[1])[readable],
        "propensities": data.propensities[readable],
        "n_options": data.n_options[readable],
        "asked": asked[readable],
        "yes": yes[readable],
        "cluster": of,
    }
    working = working_distribution(predicted, data, judges, cluster=cluster)[readable]
    rows = tilt_pool(common, working)
    answers = np.count_nonzero(asked[readable] >= 0)
    inner = tilted_score(rows, level, df=float(answers) if data.sampled else None)
    judged = _square(rows.weight * tilted_outcomes(rows), of)
    worth = _compare(_square_plain(common), judged, level)
    value, low, high, se, method = inner.value, inner.low, inner.high, inner.se, "tilted-score"
    if (m := len(readable)) < n:
        se = float(np.sqrt((m / n * se) ** 2 + value**2 * m * (n - m) / n**3))
        size = n if cluster is None else effective_size((predicted >= 0).astype(np.float64), cluster, level)
        value, low, high = scale_by_share(m / n, size, value, low, high, level)
        method += "+share"
    estimate = Estimate.from_interval(
        value=value,
        se=se,
        interval=Interval(low=max(0.0, low), high=high, level=level, method=method),
        estimator="judged",
        n=replace(data.counts, unreadable=n - m),
        assumptions=ROUTED_ASSUMPTIONS,
    )
    return estimate, worth


def working_distribution(
    predicted: IntArray,
    data: RoutedSample,
    judges: Sequence[JudgeOpinion],
    *,
    cluster: IntArray | None = None,
    seed: int = 0,
) -> FloatArray:
    """Cross-fitted probabilities of every item's options, shape (N, K), from judges and the prediction.

    A row is made without the answer about its item, or about others of its cluster; a twentieth is flat.
    """
    n, width = data.propensities.shape
    features = describe_options(predicted, judges, data.n_options)
    fold = _fold(data, cluster, n, seed)
    found = np.empty((n, width))
    for part in range(_FOLDS):
        here = np.flatnonzero(fold == part)
        others = np.flatnonzero(fold[data.item] != part)[:_MOST]
        parameters = _learn(features, data, others, width)
        found[here] = option_probabilities(features.take(here), parameters, width)
    working: FloatArray = (1 - _FLAT) * found + _FLAT * flat_posterior(data.n_options, width)
    return working


def _fold(data: RoutedSample, cluster: IntArray | None, n: int, seed: int) -> IntArray:
    """Fold of every item; items of a cluster share one, and answers spread evenly over them."""
    rng = np.random.default_rng(seed)
    if cluster is not None:
        return (rng.permutation(int(cluster.max()) + 1) % _FOLDS)[cluster]
    answered = np.zeros(n, dtype=np.bool_)
    answered[data.item] = True
    order = np.concatenate([rng.permutation(np.flatnonzero(answered == drawn)) for drawn in (True, False)])
    fold = np.empty(n, np.int64)
    fold[order] = np.arange(n) % _FOLDS
    return fold


def _learn(features: OptionFeatures, data: RoutedSample, answers: IntArray, width: int) -> FloatArray:
    if answers.size < _LEAST:
        return features.center
    return fit_parameters(features.take(data.item[answers]), data.asked[answers], data.answer[answers], width)


def _square(deviation: FloatArray, cluster: IntArray | None) -> FloatArray:
    """What every item, or cluster, adds to the variance of a sum of deviations."""
    sums: FloatArray = deviation if cluster is None else np.bincount(cluster, deviation).astype(np.float64)
    squares: FloatArray = sums**2
    return squares


def _square_plain(common: Mapping[str, Any]) -> FloatArray:
    """The same without judges, had the answered items been drawn with equal chances."""
    drawn = np.flatnonzero(common["asked"] >= 0)
    part: dict[str, Any] = {name: None if x is None else x[drawn] for name, x in common.items()}
    rho = part["propensities"].sum(axis=1, keepdims=True)
    rows = tilt_items(**(part | {"propensities": part["propensities"] / rho}))
    weight = 1 / rho[:, 0] / (1 / rho).sum()
    deviation = tilted_outcomes(replace(rows, weight=weight)) * np.sqrt(weight / len(drawn))
    if part["cluster"] is not None:
        return _square(deviation, part["cluster"])
    found = np.zeros(len(common["asked"]))
    found[drawn] = _square(deviation, None)
    return found


def _compare(plain: FloatArray, judged: FloatArray, level: float) -> JudgeWorth | None:
    """Ratio of two sums over the same items or clusters; None where one of them is 0."""
    if min(plain.sum(), judged.sum()) <= 0:
        return None
    ratio = float(plain.sum() / judged.sum())
    shares = plain / plain.sum() - judged / judged.sum()
    units = np.count_nonzero(plain + judged)
    half = t_quantile(level, max(1, units - 1)) * float(np.sqrt((shares**2).sum()))
    return JudgeWorth(ratio=ratio, low=ratio * float(np.exp(-half)), high=ratio * float(np.exp(half)))
