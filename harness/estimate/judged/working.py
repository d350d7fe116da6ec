"""The working distribution of every item's true option, from judges and the model's own prediction.

Its parameters (`oversight.harness.estimate.judged.option_logit`) are learned from experts' answers about the
items of the other folds: cross-fitting, as in `oversight.harness.estimate.routed.doubly_robust`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate.judged.judge_features import JudgeOpinion, describe_options
from oversight.harness.estimate.judged.option_logit import (
    OptionFeatures,
    fit_parameters,
    option_probabilities,
)
from oversight.harness.estimate.routed import RoutedSample, flat_posterior

FLAT = 0.05
"""Share of the working distribution that is left flat, so that sure judges leave room for surprise."""
_FOLDS = 5
_LEAST = 20
"""Answers from which on the parameters are learned; below, they are those of the prior."""
_MOST = 5_000
"""Answers that parameters are learned from, at most."""


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
    fold = split_items_evenly(data, cluster, _FOLDS, seed)
    found = np.empty((n, width))
    for part in range(_FOLDS):
        here = np.flatnonzero(fold == part)
        others = np.flatnonzero(fold[data.item] != part)[:_MOST]
        said = data.item[others], data.asked[others], data.answer[others]
        parameters = learn_parameters(features, *said, width)
        found[here] = option_probabilities(features.take(here), parameters, width)
    working: FloatArray = (1 - FLAT) * found + FLAT * flat_posterior(data.n_options, width)
    return working


def split_items_evenly(data: RoutedSample, cluster: IntArray | None, parts: int, seed: int) -> IntArray:
    """Part of every item, shape (N,); items of a cluster share one, and answers spread evenly over them."""
    rng, n = np.random.default_rng(seed), len(data.propensities)
    if cluster is not None:
        return (rng.permutation(int(cluster.max()) + 1) % parts)[cluster]
    answered = np.zeros(n, dtype=np.bool_)
    answered[data.item] = True
    order = np.concatenate([rng.permutation(np.flatnonzero(answered == drawn)) for drawn in (True, False)])
    part = np.empty(n, np.int64)
    part[order] = np.arange(n) % parts
    return part


def learn_parameters(
    features: OptionFeatures, item: IntArray, asked: IntArray, answer: FloatArray, width: int
) -> FloatArray:
    """Parameters of `option_logit` from answers, shape (F,); those of the prior where there are few.

    Parameters
    ----------
    features
        Of all N items.
    item, asked, answer
        Shape (n,): place of the item, option asked about, 1 for yes and 0 for no.
    width
        Largest K.
    """
    if item.size < _LEAST:
        return features.center
    return fit_parameters(features.take(item), asked, answer, width)
