"""The efficient estimator for answers asked with known probabilities.

A target is a linear functional θ = E Σ_k c_k(x)·1{y = k} of the unknown true option y: an accuracy
(c_k = 1{k = ŷ}), a difference of two, any utility. Options were asked about with known inclusion
probabilities π_k(x). Per item,

    g = Σ_j c_j p_j + Σ_{asked k} (c_k − C)(b_k − p_k) / π_k                             (G)

with answers b_k = 1{y = k}, a working posterior p (Σ_j p_j = 1) and any C(x). Then E[g | x] = θ(x)
for *every* p and C. Derivation: E Σ_{asked} (c_k − C)(b_k − p_k)/π_k = Σ_k (c_k − C)(P(y=k) − p_k),
and C drops out because Σ_k (P(y=k) − p_k) = 0. Among unbiased functions of (k, b) the projection of
the complete-data function has the least variance and is (G) with C* below, so (G) is semiparametrically
efficient where p is the true posterior; elsewhere p costs variance, never bias.
C = 0 is the augmented inverse-probability estimator of Robins, Rotnitzky & Zhao (1994, JASA 89);
p = C = 0 is Horvitz & Thompson (1952, JASA 47). Uniform π with p_ŷ = A and the rest flat has exactly
the information of the likelihood of "Scalable Oversight via Partitioned Human Supervision", Eq. 9;
a wholly flat p costs about as much again, which cross-fitting mends.

Equation (G) is unbiased for every p that was not made from the same item's answers, and efficient
for the true one. So items are put into folds; each model's accuracy is estimated on the other folds,
and p on a fold is what votes of such accuracies say (cross-fitting: Schick 1986, Ann. Stat. 14;
Chernozhukov et al. 2018, Econom. J. 21). For one model p_ŷ = Â and the rest is flat, with which
uniform routing attains the information of the likelihood.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oversight.harness.arrays import AnyIntArray, FloatArray
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.routed.pool_kinds import PoolKinds
from oversight.harness.estimate.routed.propensities import vote_posterior
from oversight.harness.estimate.routed.routed_sample import RoutedSample, accuracy_target, flat_posterior

_LEAST = 20
_FLAT = 0.05
"""Share of the working distribution from votes that is left flat."""


def optimal_constant(
    c: FloatArray, propensities: FloatArray, posterior: FloatArray, valid: NDArray[np.bool_]
) -> FloatArray:
    """C* = Σ_k (c_k s_k/π_k) / Σ_k (s_k/π_k), s_k = p_k(1 − p_k): the C of least variance, shape (N,).

    All arguments have shape (N, K); ``valid`` marks the options of each item.
    Derivation: with one question, Var(g | x) = Σ_k (c_k − C)² s_k/π_k, a weighted sum of squares
    around C. An option that is never asked about (π_k = 0) must have c_k = C, which then fixes C.

    Raises
    ------
    NotIdentified
        If options that are never asked about differ in c: no number of such answers tells θ.
    """
    never = valid & (propensities <= 0)
    fixed = _fix_constant(c, never) if never.any() else None
    pi = np.where(propensities > 0, propensities, np.inf)
    s = posterior * (1 - posterior)
    # Where the posterior is certain every weight is 0; any C is unbiased, so weigh by 1/π alone.
    s = np.where((s / pi).sum(axis=1, keepdims=True) > 0, s, 1.0) * valid
    weight = s / pi
    total = weight.sum(axis=1)
    free: FloatArray = np.divide((c * weight).sum(axis=1), total, out=np.zeros(len(c)), where=total > 0)
    if fixed is None:
        return free
    constant: FloatArray = np.where(never.any(axis=1), fixed, free)
    return constant


def _fix_constant(c: FloatArray, never: NDArray[np.bool_]) -> FloatArray:
    """The c of every item's options that are never asked about, −∞ without one; raises where they differ."""
    high = np.where(never, c, -np.inf).max(axis=1)
    low = np.where(never, c, np.inf).min(axis=1)
    bad = np.flatnonzero(high - low > 1e-12)
    if bad.size:
        row = int(bad[0])
        options = ", ".join(str(k) for k in np.flatnonzero(never[row]))
        raise NotIdentified(
            f"row {row} (and {bad.size - 1} more): the options {options} have propensity 0, but the "
            "target tells them apart; these answers were asked for other predictions and cannot score these"
        )
    fixed: FloatArray = high
    return fixed


def question_weights(c: FloatArray, data: RoutedSample) -> FloatArray:
    """(c_k − C*)/π_k of every answered question, shape (n,): how g depends on the answer."""
    constant = optimal_constant(c, data.propensities, data.posterior, data.valid)
    gap: FloatArray = c[data.item, data.asked] - constant[data.item]
    return gap / data.propensities[data.item, data.asked]


def pseudo_outcomes(c: FloatArray, data: RoutedSample) -> FloatArray:
    """Per-item g of equation (G) with C*, shape (N,); its mean estimates θ without bias.

    Items that were not drawn (``sampled``), or need no question because c is constant, have g = Σ c_j p_j.
    """
    prior = data.posterior[data.item, data.asked]
    correction = question_weights(c, data) * (data.answer - prior)
    g: FloatArray = (c * data.posterior).sum(axis=1)
    return g + np.bincount(data.item, correction, minlength=len(c))


def item_variance(c: FloatArray, propensities: FloatArray, posterior: FloatArray) -> FloatArray:
    """Var(g | x) = Σ_k (c_k − C*)² s_k/π_k of one question per item, shape (N,); for planning.

    For an accuracy this is [π_ŷ/s_ŷ + 1/Σ_{j≠ŷ}(s_j/π_j)]⁻¹. Raises `NotIdentified` as
    `optimal_constant` does.
    """
    constant = optimal_constant(c, propensities, posterior, np.ones(c.shape, dtype=np.bool_))
    pi = np.where(propensities > 0, propensities, np.inf)
    variance: FloatArray = ((c - constant[:, None]) ** 2 * posterior * (1 - posterior) / pi).sum(axis=1)
    return variance


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
    columns = np.asarray(predicted)
    n, width = data.propensities.shape
    flat = flat_posterior(data.n_options, width)
    if n < _LEAST:
        return flat
    plain = replace(data, posterior=flat)
    fold = np.random.default_rng(seed).permutation(n) % folds
    seen = _fold_means(columns, plain, fold, folds)
    posterior = np.empty_like(flat)
    for part in range(folds):
        here = fold == part
        # A guess of 1 would say that no answer can surprise; a hundredth is left to surprise.
        accuracy = np.clip(seen[part], 0.01, 0.99)
        posterior[here] = vote_posterior(columns[here], data.n_options[here], width, accuracy=accuracy)
    return posterior


def weigh_votes(predicted: ArrayLike, data: RoutedSample) -> FloatArray:
    """Working distribution of every item's true option from models' votes, shape (N, K).

    The cross-fitted posterior (`crossfitted_posterior`, same parameters), a twentieth of it made flat, so
    that votes which agree leave room for surprise.
    """
    posterior = crossfitted_posterior(predicted, data)
    flat = flat_posterior(data.n_options, data.propensities.shape[1])
    return (1 - _FLAT) * posterior + _FLAT * flat


def informed(predicted: ArrayLike, data: RoutedSample) -> RoutedSample:
    """The same data with a cross-fitted posterior, unless it came with one that is not flat."""
    if not np.array_equal(data.posterior, flat_posterior(data.n_options, data.propensities.shape[1])):
        return data
    return replace(data, posterior=crossfitted_posterior(predicted, data))


def _fold_means(predicted: AnyIntArray, data: RoutedSample, fold: AnyIntArray, folds: int) -> FloatArray:
    """Mean g of every model on the items outside of each fold, shape (folds, M)."""
    kinds = PoolKinds.of(data)
    table = None if kinds is None else _tabulate(kinds.data)
    means = np.empty((folds, predicted.shape[1]))
    for m, column in enumerate(predicted.T):
        g = _outcomes(column, data) if kinds is None or table is None else table[kinds.kind, column + 1]
        sums, sizes = np.bincount(fold, g, minlength=folds), np.bincount(fold, minlength=folds)
        means[:, m] = (sums.sum() - sums) / (sizes.sum() - sizes)
    return means


def _tabulate(data: RoutedSample) -> FloatArray | None:
    """Outcome g of every item by its prediction, from −1 for unreadable; None where some cannot be told."""
    if (data.valid & (data.propensities <= 0)).any():
        return None
    rows, width = data.propensities.shape
    options = (np.full(rows, option) for option in range(-1, width))
    return np.stack([pseudo_outcomes(accuracy_target(o, width), data) for o in options], axis=1)


def _outcomes(predicted: ArrayLike, data: RoutedSample) -> FloatArray:
    """Outcomes g of one model; ½ throughout where its accuracy alone cannot be told."""
    try:
        return pseudo_outcomes(accuracy_target(predicted, data.propensities.shape[1]), data)
    except NotIdentified:
        return np.full(len(data.propensities), 0.5)
