"""Means and differences of quantities that have intervals of their own and rest on the same answers.

For θ = Σ_j a_j θ_j with estimates t_j and limits (l_j, u_j), low = t − √(Σ_jk ρ_jk x_j x_k), x_j being how
far a_j t_j is from its own lower limit, and high likewise (Zou 2007, Psychol. Methods 12). ρ is the
correlation of the a_j t_j, that of their influences: what each item adds to them. It is seen in the sample
only, so it is moved to the side that makes the interval wider: in a sum none counts as negative, and in a
difference of two models one counts as no larger than the lower end of its interval, and never as 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate.classes.ratios import Part

_MOST = 0.95
"""Largest correlation that a difference makes use of: models that were never seen to differ may differ."""
_DEVIATIONS = 2.0
_FEW = 4


def correlate(influence: FloatArray, cluster: IntArray | None) -> FloatArray:
    """Correlations of M estimates from influences of shape (N, M), weighted; NaN where one does not vary."""
    centred = influence - influence.mean(axis=0)
    if cluster is not None:
        centred = np.stack([np.bincount(cluster, column) for column in centred.T], axis=1)
    spread = np.sqrt((centred**2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: FloatArray = (centred.T @ centred) / np.outer(spread, spread)
    return found


def sum_part(parts: Sequence[tuple[float, Part]], correlation: FloatArray) -> Part:
    """Σ a_j θ_j from (a_j, part) and the correlations of the a_j t_j, of which NaN counts as 1."""
    rho = np.clip(np.nan_to_num(correlation, nan=1.0), 0.0, 1.0)
    np.fill_diagonal(rho, 1.0)
    value = sum(a * p.value for a, p in parts)
    below = np.array([a * (p.value - (p.low if a > 0 else p.high)) for a, p in parts])
    above = np.array([a * ((p.high if a > 0 else p.low) - p.value) for a, p in parts])
    low, high = (math.sqrt(float(x @ rho @ x)) for x in (below, above))
    return Part(value=value, low=value - low, high=value + high)


def difference_part(first: Part, second: Part, correlation: float) -> Part:
    """First less second, in [−1, 1], with a correlation of `cautious_correlation`."""

    def half(x: float, y: float) -> float:
        return math.sqrt(max(0.0, x * x + y * y - 2 * correlation * x * y))

    value = first.value - second.value
    low = value - half(first.value - first.low, second.high - second.value)
    high = value + half(first.high - first.value, second.value - second.low)
    return Part(value=value, low=max(-1.0, low), high=min(1.0, high))


def cautious_correlation(first: FloatArray, second: FloatArray, cluster: IntArray | None) -> float:
    """Lower end of the correlation of two estimates, from their influences of shape (N,).

    By Fisher's z with as many items as count: (Σ ψ²)²/Σ ψ⁴, of rare large influences few. Results of the same
    answers mostly go together, so that less than 0 is assumed only where it is seen.
    """
    both = np.stack([first, second], axis=1)
    seen = float(correlate(both, cluster)[0, 1])
    if math.isnan(seen):
        return 0.0
    if cluster is not None:
        both = np.stack([np.bincount(cluster, column) for column in both.T], axis=1)
    square = both**2
    size = float((square.sum(axis=0) ** 2 / np.maximum((square**2).sum(axis=0), 1e-300)).min())
    low = -1.0
    if size > _FEW:
        low = math.tanh(math.atanh(min(0.999, max(-0.999, seen))) - _DEVIATIONS / math.sqrt(size - 3))
    return min(_MOST, max(low, min(0.0, seen)))
