"""Results made of parts that have intervals of their own: ratios, means and differences.

Recall and F1 of a class are ratios. Of all items a share P is predicted to be of the class. Among these a
share h is of it (the precision), among the others a share m. With A = P h and B = (1 − P) m,

    recall = A/(A + B),    F1 = 2A/(P + A + B)

so that a ratio r is the root of a linear form, D(r) = α P h − β (1 − P) m − γ P, with (α, β, γ) = (1 − r,
r, 0) for recall and (2 − r, r, r) for F1. Given the predictions h and m are means over different items, and
each is the accuracy of a constant answer there. The interval is the set of r for which the interval of D(r)
holds 0: Fieller's set (1954, JRSS B 16), with the limits of D(r) made by squaring and adding how far those
of its parts are from their estimates (Zou & Donner 2008, Stat. Med. 27) instead of by normal approximation.
So it needs no large sample, and ends at 0 or 1 where nothing refutes that. In clusters h, m and P need not
be independent, and distances are added without squaring, which holds whatever goes together there.

Means and differences are of parts that rest on the same answers. For θ = Σ_j a_j θ_j with estimates t_j and
limits (l_j, u_j), low = t − √(Σ_jk ρ_jk x_j x_k), x_j being how far a_j t_j is from its own lower limit,
and high likewise (Zou 2007, Psychol. Methods 12). ρ is the correlation of the a_j t_j, that of their
influences: what each item adds to them. It is seen in the sample only, so it is moved to the side that
makes the interval wider: in a sum none counts as negative, and in a difference of two models one counts as
no larger than the lower end of its interval, and never as 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import find_root, z_value
from oversight.harness.estimate.intervals import share_interval

METHOD = "square-and-add"
"""As intervals made of those of their parts are named."""
_TINY = 1e-12

Weights = Callable[[float], tuple[float, float, float]]
"""(α, β, γ) at a ratio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A share of items: its estimate and the ends of its interval, low ≤ value ≤ high."""

    value: float
    low: float
    high: float

    @classmethod
    def within(cls, value: float, low: float, high: float) -> Part:
        """Of ends between which the value need not lie."""
        return cls(value=value, low=min(low, value), high=max(high, value))

    def widen(self, level: float) -> Part:
        """At least as wide as that of a share of so many items as give this width.

        Near 0 and 1 estimates are skewed, and squared and added distances are then short on one side. Their
        interval is joined with Clopper and Pearson's of the effective number of items n, by which
        (z/half)² = n/(m(1 − m)) at its middle m.
        """
        half, middle = (self.high - self.low) / 2, (self.high + self.low) / 2
        if half <= 0 or not 0 < middle < 1:
            return self
        size = middle * (1 - middle) * (z_value(level) / half) ** 2
        value = min(1.0, max(0.0, self.value))
        low, high = share_interval(value * size, size, level)
        return Part(value=self.value, low=min(low, self.low), high=max(high, self.high))


def recall_weights(ratio: float) -> tuple[float, float, float]:
    """(α, β, γ) of recall."""
    return 1 - ratio, ratio, 0.0


def f1_weights(ratio: float) -> tuple[float, float, float]:
    """(α, β, γ) of F1."""
    return 2 - ratio, ratio, ratio


def ratio_part(share: Part, hit: Part, miss: Part, weights: Weights, *, together: bool) -> Part:
    """The root of D(r) with its interval.

    Parameters
    ----------
    share, hit, miss
        P, h and m.
    together
        Whether items come in clusters, so that the parts need not be independent.

    Raises
    ------
    EstimateError
        If D is 0 throughout: no item of the class was seen.
    """

    def form(ratio: float) -> float:
        alpha, beta, gamma = weights(ratio)
        return alpha * share.value * hit.value - beta * (1 - share.value) * miss.value - gamma * share.value

    def reach(ratio: float, side: int) -> float:
        """How far the interval of D(r) reaches down (side −1) or up (1)."""
        alpha, beta, gamma = weights(ratio)
        slope = alpha * hit.value + beta * miss.value - gamma
        distances = (
            alpha * share.value * _distance(hit, side),
            beta * (1 - share.value) * _distance(miss, -side),
            abs(slope) * _distance(share, side if slope > 0 else -side),
        )
        return sum(distances) if together else math.hypot(*distances)

    at_0, at_1 = form(0.0), form(1.0)
    if at_0 - at_1 <= _TINY:
        raise EstimateError("no answer says that any item is of this class")
    value = at_0 / (at_0 - at_1)

    def lower(ratio: float) -> float:
        return form(ratio) - reach(ratio, -1)

    def upper(ratio: float) -> float:
        return form(ratio) + reach(ratio, 1)

    low = find_root(lower, 0.0, value) if value > 0 and lower(0.0) > 0 else 0.0
    high = find_root(upper, value, 1.0) if value < 1 and upper(1.0) < 0 else 1.0
    return Part.within(value, low, high)


def _distance(part: Part, side: int) -> float:
    return part.high - part.value if side > 0 else part.value - part.low


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
