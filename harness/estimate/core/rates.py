"""A share of successes with its exact interval, and the change of one between two independent samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from oversight.harness.estimate.core.binomial import clopper_pearson


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Successes of so many, and the Clopper–Pearson interval of their probability."""

    successes: int
    of: int
    value: float
    low: float
    high: float

    @classmethod
    def of_outcomes(cls, outcomes: Sequence[bool], level: float = 0.95) -> Self:
        """Count outcomes, one at least.

        Raises
        ------
        EstimateError
            If there is none.
        """
        x, n = sum(outcomes), len(outcomes)
        low, high = clopper_pearson(x, n, level)
        return cls(successes=x, of=n, value=x / n, low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateChange:
    """A rate in a later sample minus the same in an earlier one, with its interval."""

    value: float
    low: float
    high: float
    first: Rate
    last: Rate


def compare_rates(first: Sequence[bool], last: Sequence[bool], level: float = 0.95) -> RateChange:
    """The change from one sample to another that is independent of it.

    The ends are Newcombe's (1998, Statistics in Medicine 17, method 10) with Clopper–Pearson limits instead
    of Wilson's: d − √((p₂ − l₂)² + (u₁ − p₁)²) and d + √((u₂ − p₂)² + (p₁ − l₁)²), d = p₂ − p₁.

    Raises
    ------
    EstimateError
        If a sample is empty.
    """
    one, two = Rate.of_outcomes(first, level), Rate.of_outcomes(last, level)
    change = two.value - one.value
    low = change - math.hypot(two.value - two.low, one.high - one.value)
    high = change + math.hypot(two.high - two.value, one.value - one.low)
    return RateChange(value=change, low=max(-1.0, low), high=min(1.0, high), first=one, last=two)
