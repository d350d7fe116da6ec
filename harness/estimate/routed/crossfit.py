"""A working posterior from the answers themselves, without an item's own answers touching its p.

Equation (G) is unbiased for every p that was not made from the same item's answers, and efficient
for the true one. So items are put into folds; each model's accuracy is estimated on the other folds,
and p on a fold is what votes of such accuracies say (cross-fitting: Schick 1986, Ann. Stat. 14;
Chernozhukov et al. 2018, Econom. J. 21). For one model p_ŷ = Â and the rest is flat, with which
uniform routing attains the information of the likelihood.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from harness.arrays import FloatArray
from harness.errors import EstimateError, NotIdentified
from harness.estimate.routed.doubly_robust import pseudo_outcomes
from harness.estimate.routed.propensities import vote_posterior
from harness.estimate.routed.routed_sample import RoutedSample, accuracy_target, flat_posterior

_LEAST = 20


def crossfitted_posterior(
    predicted: ArrayLike, data: RoutedSample, *, folds: int = 5, seed: int = 0
) -> FloatArray:
    """Posterior p, shape (N, K), from the votes of models whose accuracies other folds tell.

    Parameters
    ----------
    predicted
        Shape (N, M), −1 for unreadable.
    data
        The answers; its own posterior is not used.
    folds
        At least 2. With fewer than 20 items the posterior stays flat: there is nothing to learn.
    seed
        Seed of the split.

    Raises
    ------
    EstimateError
        If folds < 2.
    """
    if folds < 2:
        raise EstimateError(f"folds must be at least 2, is {folds}")
    columns = np.asarray(predicted, dtype=np.int64)
    n, width = data.propensities.shape
    flat = flat_posterior(data.n_options, width)
    if n < _LEAST:
        return flat
    plain = replace(data, posterior=flat)
    g = np.stack([_outcomes(columns[:, m], plain) for m in range(columns.shape[1])], axis=1)
    fold = np.random.default_rng(seed).permutation(n) % folds
    posterior = np.empty_like(flat)
    for part in range(folds):
        here = fold == part
        # A guess of 1 would say that no answer can surprise; a hundredth is left to surprise.
        accuracy = np.clip(g[~here].mean(axis=0), 0.01, 0.99)
        posterior[here] = vote_posterior(columns[here], data.n_options[here], width, accuracy=accuracy)
    return posterior


def informed(predicted: ArrayLike, data: RoutedSample) -> RoutedSample:
    """The same data with a cross-fitted posterior, unless it came with one that is not flat."""
    if not np.array_equal(data.posterior, flat_posterior(data.n_options, data.propensities.shape[1])):
        return data
    return replace(data, posterior=crossfitted_posterior(predicted, data))


def _outcomes(predicted: ArrayLike, data: RoutedSample) -> FloatArray:
    """Outcomes g of one model; ½ throughout where its accuracy alone cannot be told."""
    try:
        return pseudo_outcomes(accuracy_target(predicted, data.propensities.shape[1]), data)
    except NotIdentified:
        return np.full(len(data.propensities), 0.5)
