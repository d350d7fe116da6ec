"""Which option to ask about, and of which items: propensities fixed before any answer.

A yes/no question about option k of an item costs one expert answer. What a question is worth
depends on the models' predictions, which cost no expert: that is what these functions use.
Predictions have shape (N, M), one column a model, −1 for unreadable.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.routed.routed_sample import accuracy_target, flat_posterior


def targeted_propensities(predicted: ArrayLike, width: int) -> FloatArray:
    """π_ŷ = 1: always ask the expert of the predicted option. Shape (N, width).

    For one model no routing does better. Derivation: 1/V* = t/s_ŷ + (1 − t)/(Σ_{j≠ŷ} √s_j)² is
    linear in t = π_ŷ, and s_ŷ = Var(Σ_{j≠ŷ} 1{y=j}) ≤ (Σ_{j≠ŷ} √s_j)², so t = 1 is best (with
    equality only at K = 2). Unreadable predictions are wrong whatever the truth: their row is 0.
    """
    return accuracy_target(predicted, width)


def predicted_counts(predicted: ArrayLike, width: int) -> FloatArray:
    """n_k: how many models predict option k of each item; shape (N, width)."""
    columns = np.asarray(predicted, dtype=np.int64)
    if columns.ndim != 2 or columns.shape[1] == 0:
        raise EstimateError(f"predicted must have shape (N, M >= 1), has {columns.shape}")
    counts: FloatArray = np.sum([accuracy_target(column, width) for column in columns.T], axis=0)
    return counts


def shared_propensities(
    predicted: ArrayLike,
    n_options: ArrayLike,
    width: int,
    *,
    posterior: FloatArray | None = None,
    epsilon: float = 0.1,
) -> FloatArray:
    """π_k = (1 − ε) √(n_k s_k)/Σ_j √(n_j s_j) + ε/K: one question that serves several models.

    Derivation: with C = 0 the models' summed variance is Σ_k n_k s_k/π_k, least at π_k ∝ √(n_k s_k)
    (Cauchy–Schwarz), s_k = p_k(1 − p_k). The share ε goes uniformly over the item's K options, so
    that the answers also serve models that come later, and bounds 1/π by K/ε.

    Parameters
    ----------
    predicted
        Shape (N, M).
    n_options
        Shape (N,) or a number: K of each item.
    posterior
        Shape (N, width); flat if not given, then π_k ∝ √n_k.
    epsilon
        In [0, 1]. At 0, options nobody predicts are never asked about.

    Raises
    ------
    EstimateError
        If epsilon is out of range. An item no model gives a readable answer to is asked uniformly
        with the whole share (or not at all at ε = 0).
    """
    if not 0 <= epsilon <= 1:
        raise EstimateError(f"epsilon must lie in [0, 1], is {epsilon}")
    counts = predicted_counts(predicted, width)
    flat = flat_posterior(np.broadcast_to(np.asarray(n_options, dtype=np.int64), len(counts)), width)
    p = flat if posterior is None else posterior
    # A certain posterior would give weight 0 to what is predicted, hence unbounded 1/π.
    s = np.maximum(p * (1 - p), 1e-4)
    weight = np.sqrt(counts * s)
    total = weight.sum(axis=1, keepdims=True)
    rest = flat if epsilon > 0 else np.zeros_like(flat)
    shares = np.divide(weight, total, out=rest.copy(), where=total > 0)
    pi: FloatArray = (1 - epsilon) * shares + epsilon * flat
    return pi


def propensities_for(
    predicted: ArrayLike,
    n_options: ArrayLike,
    width: int,
    *,
    epsilon: float = 0.1,
    posterior: FloatArray | None = None,
) -> FloatArray:
    """π of targeted routing for the models in ``predicted``, shape (N, M): of one, or shared by several.

    Parameters as of `shared_propensities`; the posterior is by default that of the models' votes.
    """
    columns = np.asarray(predicted, dtype=np.int64)
    if columns.shape[1] == 1:
        return targeted_propensities(columns[:, 0], width)
    if posterior is None:
        posterior = vote_posterior(columns, n_options, width)
    return shared_propensities(columns, n_options, width, posterior=posterior, epsilon=epsilon)


def vote_posterior(
    predicted: ArrayLike,
    n_options: ArrayLike,
    width: int,
    *,
    accuracy: ArrayLike | None = None,
    temper: float | None = None,
) -> FloatArray:
    """p_k ∝ [Π_m (A_m (K−1)/(1−A_m))^{1{ŷ_m = k}}]^τ: what the models' votes say of the truth.

    The posterior of models that err independently and uniformly, raised to a power τ ≤ 1 because
    models err together: τ = 1 for one model, and 1/√M by default for M. As a working posterior it
    need not be right, and orders the options. Derivation: Bayes' rule with a flat prior.

    Parameters
    ----------
    predicted
        Shape (N, M), −1 counts for nothing.
    accuracy
        Shape (M,), guesses, cut to [.01, .99]; default ½ each (a little more at K = 2). Below 1/K a
        vote speaks against its option.
    temper
        τ in (0, 1].
    """
    columns = np.asarray(predicted, dtype=np.int64)
    models = columns.shape[1]
    tau = 1 / np.sqrt(models) if temper is None else temper
    if not 0 < tau <= 1:
        raise EstimateError(f"temper must lie in (0, 1], is {tau}")
    k = np.broadcast_to(np.asarray(n_options, dtype=np.int64), len(columns))
    guesses = np.full(models, 0.5) if accuracy is None else np.asarray(accuracy, dtype=np.float64)
    log_odds = np.zeros((len(columns), width))
    for model in range(models):
        least = 0.01 if accuracy is not None else 1 / k + 0.01
        guess = np.clip(guesses[model], least, 0.99)
        gain = np.log(guess * (k - 1) / (1 - guess))
        log_odds += accuracy_target(columns[:, model], width) * gain[:, None]
    valid = np.arange(width) < k[:, None]
    weight = np.where(valid, np.exp(tau * (log_odds - log_odds.max(axis=1, keepdims=True))), 0.0)
    posterior: FloatArray = weight / weight.sum(axis=1, keepdims=True)
    return posterior


def neyman_rates(variance: FloatArray, cost: FloatArray, budget: float, *, floor: float = 0.02) -> FloatArray:
    """ρ(x) ∝ √(V(x)/cost(x)), within [floor, 1], with Σ ρ·cost = budget; shape (N,).

    Derivation: the variance of an item-sampled mean is Σ V_i/ρ_i /N² up to a constant; Lagrange's
    condition under Σ ρ_i cost_i = budget gives the proportionality (Neyman 1934, JRSS 97, with
    costs). The floor keeps every item possible, which unbiasedness needs.

    Parameters
    ----------
    variance
        Shape (N,), ≥ 0: what is uncertain about the item, e.g. the mean of p_ŷ(1 − p_ŷ).
    cost
        Shape (N,), > 0: expected number of questions; items of cost 0 get ρ = 1.
    budget
        Expected number of questions in all.

    Raises
    ------
    EstimateError
        If the budget cannot pay for the floor, or an argument is out of range.
    """
    if not 0 < floor <= 1:
        raise EstimateError(f"floor must lie in (0, 1], is {floor}")
    for name, values in (("variance", variance), ("cost", cost)):
        for row in np.flatnonzero(~(values >= 0)):
            raise EstimateError(f"{name}[{row}] must be at least 0, is {values[row]}")
    least, most = floor * float(cost.sum()), float(cost.sum())
    if budget < least:
        raise EstimateError(f"budget must be at least {least:.1f} (floor {floor}), is {budget}")
    free = cost > 0
    if budget >= most or not free.any():
        return np.ones(len(cost))
    score = np.sqrt(np.divide(variance, cost, out=np.ones(len(cost)), where=free))
    score = np.maximum(score, 1e-12)
    low, high = 0.0, 1.0 / float(score[free].min())
    for _ in range(200):
        scale = (low + high) / 2
        spent = float((np.clip(scale * score, floor, 1) * cost).sum())
        low, high = (scale, high) if spent < budget else (low, scale)
    return np.where(free, np.clip(high * score, floor, 1), 1.0)


def draw_options(propensities: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw one option per item with its propensities; −1 (ask nothing) with what is left of 1.

    Shape (N,). Raises `EstimateError` if a row sums to more than 1.
    """
    cumulative = np.cumsum(propensities, axis=1)
    for row in np.flatnonzero(cumulative[:, -1] > 1 + 1e-9):
        raise EstimateError(f"propensities[{row}] must sum to at most 1, sum to {cumulative[row, -1]}")
    total = np.where(np.abs(cumulative[:, -1] - 1) < 1e-9, np.inf, cumulative[:, -1])
    u = rng.random(len(propensities))
    option = (u[:, None] >= cumulative).sum(axis=1)
    last = propensities.shape[1] - 1 - np.argmax(propensities[:, ::-1] > 0, axis=1)
    return np.where(u < total, np.minimum(option, last), -1)


def disagreement(predicted: ArrayLike) -> NDArray[np.bool_]:
    """Items on which not all models predict the same option; elsewhere every difference is 0.

    Shape (N,). Two unreadable predictions agree: both are wrong.
    """
    columns = np.asarray(predicted, dtype=np.int64)
    differ: NDArray[np.bool_] = (columns != columns[:, :1]).any(axis=1)
    return differ
