"""Which items with a no tell most when asked about another option, and which option that should be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.routed import accuracy_target, item_variance, neyman_rates

_FLAT = 0.1
"""Share of the draw of an option that is flat over all that are left, and share of the working posterior."""
_EVEN = 0.5
"""Added to every item's size, in means of all: no weight is far above others, and later models are scored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondRates:
    """How N items whose first answer was no are drawn, and about what they are asked.

    Attributes
    ----------
    chance
        Shape (N,): ρ, within (0, 1]; sums to the number of questions.
    shares
        Shape (N, K): q of each option that is left, 0 of all others; rows sum to 1.
    narrower
        By which factor the models' standard errors are expected to fall, if votes are right: in (0, 1].
    """

    chance: FloatArray
    shares: FloatArray
    narrower: float


def second_rates(
    predicted: IntArray,
    posterior: FloatArray,
    left: BoolArray,
    number: int,
    *,
    first: tuple[FloatArray, FloatArray],
) -> SecondRates:
    """Chances ρ ∝ the spread of what a second answer tells (Neyman), and shares q ∝ √(n_k p_k (1 − p_k)).

    Parameters
    ----------
    predicted
        Shape (N, M), −1 for unreadable; M may be 0, and every option then tells as much.
    posterior
        Shape (N, K): what the models' votes say of all options.
    left
        Shape (N, K): options that are not known to be false.
    number
        Questions to ask, at most N.
    first
        Each model's variances over all items with a first answer, shape (M,): Σ V₀ and Σ v of `two_phase`.

    Raises
    ------
    EstimateError
        If there are fewer items than questions, or an item has fewer than two options left.
    """
    n, models = predicted.shape
    if not 1 <= number <= n or (left.sum(axis=1) < 2).any():
        raise EstimateError(
            f"{number} second questions need as many items with two options left, there are {n}"
        )
    flat = left / left.sum(axis=1, keepdims=True)
    p = posterior * left
    p = (1 - _FLAT) * p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300) + _FLAT * flat
    p /= p.sum(axis=1, keepdims=True)
    targets = [accuracy_target(column, left.shape[1]) * left for column in predicted.T]
    counts = np.sum(targets, axis=0) if models else np.zeros_like(flat)
    weight = np.sqrt(counts * p * (1 - p))
    total = weight.sum(axis=1, keepdims=True)
    shares = (1 - _FLAT) * np.divide(weight, total, out=flat.copy(), where=total > 0) + _FLAT * flat
    variances = np.array([_left_variance(c, shares, p, left) for c in targets])
    size = np.sqrt(variances.sum(axis=0)) if models else np.ones(n)
    size = size + _EVEN * max(float(size.mean()), 1e-12)
    chance = neyman_rates(size**2, np.ones(n), float(number), floor=min(1e-6, number / n))
    narrower = 1.0
    if models:
        each = zip(variances, targets, *first, strict=True)
        told = [_expected(v, p, c, chance, plain, known) for v, c, plain, known in each]
        narrower = float(np.sqrt(np.mean(told)))
    return SecondRates(chance=chance * (number / chance.sum()), shares=shares, narrower=narrower)


def _left_variance(c: FloatArray, q: FloatArray, p: FloatArray, left: BoolArray) -> FloatArray:
    """Variance of what a second answer adds, shape (N,)."""
    return item_variance(c, np.where(left, q, 1.0), p)


def _expected(
    variance: FloatArray, p: FloatArray, c: FloatArray, chance: FloatArray, plain: float, known: float
) -> float:
    """Variance with second answers over that without, of one model (see `two_phase`)."""
    top = (c * p).sum(axis=1)
    left = float((top * (1 - top)).sum())
    noise = max(float((variance / chance).sum()), left)
    mixed = max(0.0, plain - known)
    share = mixed / (mixed + noise - left) if mixed > 0 else 0.0
    return min(1.0, 1 - share * mixed / max(plain, 1e-12))
