"""How many items, and so questions, a half-width takes, from variances that depend on their number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import FloatArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import find_root, z_value
from oversight.harness.estimate.judged import split_items_evenly
from oversight.harness.estimate.planning.pilot_answers import PilotAnswers
from oversight.harness.estimate.planning.side_variances import (
    NONE,
    ItemVariance,
    SideVariances,
    side_variances,
)
from oversight.harness.estimate.routed import t_quantile

_GROUPS, _LEAST_GROUPS = 10, 8
"""Groups, and how many of them must tell."""
_STEPS = 8
_LARGEST = 5_000
"""Items of a pilot from which groups are left out in turn; of more, what is learned hardly varies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What is sought: the questions for a half-width, or the half-width that so many questions give.

    Attributes
    ----------
    half_width, questions
        One of them.
    level
        Confidence level.
    answered
        Share of the questions that experts answer.
    """

    half_width: float | None
    questions: int | None
    level: float
    answered: float = 1.0

    def find(self, variance: ItemVariance, cost: float, mean: float) -> float:
        """Questions, or the half-width, for this variance per item, at so many questions an item."""
        wanted, level = self.half_width, self.level
        if wanted is None:
            return half_of(variance, (self.questions or 1) * self.answered / cost, mean, level)
        most = 4.0
        while half_of(variance, most, mean, level) > wanted:
            most *= 4
        items = find_root(lambda n: half_of(variance, n, mean, level) - wanted, most / 4, most)
        return items * cost / self.answered

    def find_all(self, found: SideVariances, mean: float) -> dict[str, float]:
        """The same of everything that is made use of."""
        return {side: self.find(variance, found.cost, mean) for side, variance in found.of.items()}


def half_of(variance: ItemVariance, items: float, mean: float, level: float) -> float:
    """Half of the interval whose ends are the means m with (m − A)² = t² v(m)/n, within [0, 1].

    Of a share without side information, and in comparisons, z √(v/n).
    """
    if variance.means is None:
        return z_value(level) * math.sqrt(variance.at(items) / items)
    width, z = 0.0, t_quantile(level, max(1.0, items))
    for side, most in ((-1, mean), (1, 1 - mean)):
        off = 0.0
        for _ in range(_STEPS):
            off = min(most, z * math.sqrt(variance.at(items, mean + side * off) / items))
        width += off
    return width / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRatio:
    """What is sought with side information, over the same without, and the ends of an interval.

    Without any it is 1, and the interval that of what the pilot's answers tell beside the accuracy.
    """

    value: float
    low: float
    high: float


def find_ratios(
    pilot: PilotAnswers, found: Mapping[str, float], aim: Aim, mean: float, pool: int | None
) -> dict[str, FoundRatio]:
    """Ratios to what is found without, with the jackknife over ten groups of items, all learned anew.

    Of more than 5,000 items the groups are of a sample of so many. What too few groups tell is left out.
    """
    n = len(pilot.option)
    kept = np.arange(n) if n <= _LARGEST else np.random.default_rng(0).permutation(n)[:_LARGEST]
    part = pilot if n <= _LARGEST else pilot.take(kept)
    group = split_items_evenly(part.data, None, _GROUPS, 1)
    left = dict[str, list[float]]()
    for one in range(_GROUPS):
        try:
            without = aim.find_all(
                side_variances(part.take(np.flatnonzero(group != one)), mean, pool=pool), mean
            )
        except EstimateError:
            continue
        for side, value in without.items():
            left.setdefault(side, []).append(math.log(value / (1 if side == NONE else without[NONE])))
    return {
        side: _with_ends(value / found[NONE], np.array(left[side]), aim.level, len(kept) / n)
        for side, value in found.items()
        if len(left.get(side, ())) >= _LEAST_GROUPS
    }


def _with_ends(value: float, logs: FloatArray, level: float, share: float) -> FoundRatio:
    """An interval by the jackknife of the logarithm."""
    half = t_quantile(level, logs.size - 1) * math.sqrt((logs.size - 1) * float(logs.var()) * share)
    return FoundRatio(value=value, low=value * math.exp(-half), high=value * math.exp(half))
