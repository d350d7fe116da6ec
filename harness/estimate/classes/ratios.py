"""Recall and F1 of a class as ratios of parts that have intervals of their own.

Of all items a share P is predicted to be of the class. Among these a share h is of it (the precision),
among the others a share m. With A = P h and B = (1 − P) m,

    recall = A/(A + B),    F1 = 2A/(P + A + B)

so that a ratio r is the root of a linear form, D(r) = α P h − β (1 − P) m − γ P, with (α, β, γ) = (1 − r,
r, 0) for recall and (2 − r, r, r) for F1. Given the predictions h and m are means over different items, and
each is the accuracy of a constant answer there. The interval is the set of r for which the interval of D(r)
holds 0: Fieller's set (1954, JRSS B 16), with the limits of D(r) made by squaring and adding how far those
of its parts are from their estimates (Zou & Donner 2008, Stat. Med. 27) instead of by normal approximation.
So it needs no large sample, and ends at 0 or 1 where nothing refutes that. In clusters h, m and P need not
be independent, and distances are added without squaring, which holds whatever goes together there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

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
