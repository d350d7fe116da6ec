"""A stand-in population of items and models, for planning before there are predictions.

Models are right together and wrong together: model m is right where √r·u + √(1−r)·e_m falls below
its quantile, u a difficulty all share, so any two have tetrachoric correlation r; wrong models fall
for the item's one tempting wrong option with probability d each, else err uniformly. Defaults are
those of 20 language models on ten-option MMLU-Pro (12,032 questions, TIGER-AI-Lab's published
per-item results): median r .59 (tenth to ninetieth percentile .48–.65), and two wrong models name
the same wrong option 35 % of the time, which d = .5 gives. A stand-in never enters an estimate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import check_options
from oversight.harness.estimate.routed import optimal_constant

CORRELATION = 0.59
TEMPTATION = 0.5


def check_accuracy(A: float, K: int) -> None:
    """Require K ≥ 2 and an accuracy in (0, 1), where every variance formula is finite."""
    check_options(K)
    if not 0 < A < 1:
        raise EstimateError(f"the guess of the accuracy must lie in (0, 1), is {A}")


def synthesise_population(
    n: int,
    K: int,
    accuracy: Sequence[float],
    rng: np.random.Generator,
    *,
    correlation: float = CORRELATION,
    temptation: float = TEMPTATION,
) -> tuple[IntArray, IntArray]:
    """Truth, shape (n,), and predictions, shape (n, M), of M models of given accuracies.

    Raises
    ------
    EstimateError
        If K < 2, an accuracy lies outside (0, 1), or r or d outside [0, 1].
    """
    for A in accuracy:
        check_accuracy(A, K)
    if not (0 <= correlation <= 1 and 0 <= temptation <= 1):
        raise EstimateError(f"correlation and temptation must lie in [0, 1]: {correlation}, {temptation}")
    models = len(accuracy)
    common, own = rng.standard_normal((n, 1)), rng.standard_normal((n, models))
    latent = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    right = latent < ndtri(np.asarray(accuracy))
    truth = rng.integers(K, size=n)
    lure = 1 + rng.integers(K - 1, size=(n, 1))
    slip = 1 + rng.integers(K - 1, size=(n, models))
    offset = np.where(rng.random((n, models)) < temptation, lure, slip)
    predicted: IntArray = np.where(right, truth[:, None], (truth[:, None] + offset) % K)
    return truth, predicted


def population_variance(
    c: FloatArray,
    propensities: FloatArray,
    posterior: FloatArray,
    truth: IntArray,
    rates: tuple[float, float],
) -> float:
    """Var(g) of one item of a population whose truth is known, over item, draw and answer.

    E[g²] = E Σ_k π_k [(Σ_j c_j p_j + w_k (1{y=k} − p_k))² + w_k² Var(b̃_k | y)], plus the undrawn
    part (1 − Σπ)(Σ_j c_j p_j)², minus θ²; w_k = (c_k − C*)/π_k and b̃ the error-corrected answer with
    Var(b̃ | y=k) = s(1 − s)/J², Var(b̃ | y≠k) = t(1 − t)/J² for the experts' `rates` (s, t). All
    matrices have shape (N, K).
    """
    s, t = rates
    constant = optimal_constant(c, propensities, posterior, np.ones(c.shape, dtype=np.bool_))
    gap = c - constant[:, None]
    weight = np.divide(gap, propensities, out=np.zeros_like(propensities), where=propensities > 0)
    base = (c * posterior).sum(axis=1)
    true = np.arange(c.shape[1]) == truth[:, None]
    g = base[:, None] + weight * (true - posterior)
    noise = np.where(true, s * (1 - s), t * (1 - t)) / (s + t - 1) ** 2
    square = (propensities * (g**2 + weight**2 * noise)).sum(axis=1)
    square += (1 - propensities.sum(axis=1)) * base**2
    theta = float(c[np.arange(len(c)), truth].mean())
    return float(square.mean()) - theta**2
