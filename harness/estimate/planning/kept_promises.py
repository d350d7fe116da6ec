"""How many questions keep a promise: a half-width that most studies reach, a power that a test has.

The formula z √(v/n) is compared with studies rehearsed on a stand-in population. Let m be the mean of their
half-widths over the formula's, and q the quantile of 80 %. With n questions the half-width is at most

    z √(v/n) (m + (q − m) √(n₀/n))

in 80 % of studies, where n₀ is the number of questions of the rehearsal. Where every question settles a
prediction, q comes from the binomial law, number by number, as exact intervals of neighbouring numbers vary.
For tests with z-values of mean ζ and standard deviation σ the power is Φ((ζ √(n/n₀) − z)/σ). A promise is to
be kept although it rests on R rehearsed studies: q is the quantile of 80 % and a standard error,
√(0.8 · 0.2/R), and σ is enlarged by σ/√(2R).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from oversight.harness.estimate.core import z_value
from oversight.harness.estimate.planning.rehearsed_studies import (
    SHARES,
    StandIn,
    questions_per_item,
    rehearse_tests,
    rehearse_widths,
    share_widths,
    stand_in,
)

REACHED = 0.8
"""Share of studies whose half-width must be at most the planned one."""
_WIDTHS, _TESTS = 64, 120
_ROUNDS, _FEW, _MANY = 4, 10, 2_000
_MOST_TESTED = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthPromise:
    """Half-widths of one protocol, over those of the formula.

    Attributes
    ----------
    scale
        z √v: the formula's half-width times √n.
    mean, high
        Their mean, and what at least `REACHED` of them do not exceed.
    asked
        Questions of the rehearsal.
    """

    scale: float
    mean: float
    high: float
    asked: float

    def expect(self, questions: float) -> float:
        """Mean half-width."""
        return self.scale * self.mean / math.sqrt(questions)

    def reach(self, questions: float) -> float:
        """Half-width that at least `REACHED` of the studies do not exceed."""
        more = (self.high - self.mean) * math.sqrt(self.asked / questions)
        return self.scale * (self.mean + more) / math.sqrt(questions)

    def questions_for(self, half_width: float) -> int:
        """Questions with which `reach` is this half-width: the root of a quadratic in 1/√n."""
        b, c = self.mean, half_width / self.scale
        a = max(0.0, self.high - self.mean) * math.sqrt(self.asked)
        return math.ceil(((b + math.sqrt(b * b + 4 * a * c)) / (2 * c)) ** 2 - 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedProtocol:
    """A protocol to rehearse.

    Attributes
    ----------
    name
        Of the protocol.
    variance
        v, the variance per question.
    free
        The same if experts never err, which rehearsed experts do not.
    """

    name: str
    variance: float
    free: float

    def promise_width(
        self,
        population: StandIn,
        accuracy: float,
        level: float,
        *,
        half_width: float,
        questions: int | None = None,
    ) -> tuple[int, WidthPromise]:
        """Questions, without a number as many as the half-width takes, and what they reach."""
        asked = float(questions or self.variance * (z_value(level) / half_width) ** 2)
        for _ in range(_ROUNDS):
            kept = self.rehearse(population, accuracy, level, asked)
            if questions is not None:
                return questions, kept
            before, asked = asked, kept.questions_for(half_width)
            if min(before, asked) > _MANY or abs(asked / before - 1) < 0.02:
                break
        while asked < _MANY and self.name in SHARES:
            kept = self.rehearse(population, accuracy, level, asked)
            if kept.reach(asked) <= half_width:
                break
            asked += max(1, asked // 100)
        return int(asked), kept

    def rehearse(self, population: StandIn, accuracy: float, level: float, questions: float) -> WidthPromise:
        """Studies with as much information as a number of questions, of at most 2,000 items each."""
        each, errors = questions_per_item(self.name, population, accuracy), self.variance / self.free
        items = math.floor(min(_MANY, max(_FEW, questions / errors / each)) + 1e-9)
        z, asked = z_value(level), items * each
        formula = z * math.sqrt(self.free / asked)
        if self.name in SHARES:
            mean, high = share_widths(items, accuracy, level, REACHED)
        else:
            seen = rehearse_widths(self.name, population, items, _WIDTHS, level=level)
            mean, careful = float(seen.mean()), REACHED + math.sqrt(REACHED * (1 - REACHED) / _WIDTHS)
            # the quantile alone is noisy, and the normal one too low where half-widths are skewed
            normal = mean + float(ndtri(careful)) * float(seen.std(ddof=1))
            high = max(normal, float(np.quantile(seen, careful)))
        return WidthPromise(
            scale=z * math.sqrt(self.variance),
            mean=mean / formula,
            high=high / formula,
            asked=asked * errors,
        )

    def plan_test(self, K: int, accuracy: float, aim: PlannedTest, difference: float) -> int:
        """Questions that find this difference with the planned power."""
        questions = self.free * (aim.distance / difference) ** 2
        for _ in range(_ROUNDS):
            before = questions
            questions *= self._stretch(K, accuracy, aim, difference, questions) ** 2
            if questions > _MANY or abs(questions / before - 1) < 0.1:
                break
        return math.ceil(questions * self.variance / self.free)

    def plan_difference(self, K: int, accuracy: float, aim: PlannedTest, questions: int) -> float:
        """Smallest difference that a number of questions detects with the planned power, at most 1."""
        asked = questions * self.free / self.variance
        found = aim.distance * math.sqrt(self.free / asked)
        for _ in range(_ROUNDS):
            tried = round(min(1.0, max(1e-4, found)), 4)
            found = tried * self._stretch(K, accuracy, aim, tried, asked)
            if found >= 1 or abs(found / tried - 1) < 0.05:
                break
        return min(1.0, found)

    def _stretch(
        self, K: int, accuracy: float, aim: PlannedTest, difference: float, questions: float
    ) -> float:
        """Times by which z-values, in proportion to difference and √questions, fall short of the power.

        Where more questions are planned than are rehearsed, a larger difference is rehearsed that stands out
        as much.
        """
        most = max(accuracy, 1 - accuracy) - 0.01
        each = questions_per_item(self.name, _stand_in_pair(K, accuracy, min(difference, most)), accuracy)
        items = round(min(_MOST_TESTED, max(_FEW, questions / each)))
        asked = items * each
        tried = min(most, max(difference, aim.distance * math.sqrt(self.free / asked)))
        population = _stand_in_pair(K, accuracy, tried)
        mean, spread = rehearse_tests(self.name, population, items, _TESTS)
        most_spread = spread * (1 + 1 / math.sqrt(2 * _TESTS))
        needed = z_value(aim.level) + float(ndtri(aim.power)) * most_spread
        return needed / (max(0.1, mean) * difference / tried * math.sqrt(questions / asked))


def _stand_in_pair(K: int, accuracy: float, difference: float) -> StandIn:
    """The better of two models first; one of them has the accuracy, the other one is nearer to one half."""
    better = accuracy if accuracy >= 0.5 else accuracy + difference
    return stand_in(K, (round(better, 5), round(better - difference, 5)))


@lru_cache(maxsize=256)
def log_spread(name: str, K: int, accuracy: float, models: int, items: int, level: float) -> float:
    """Logarithm of the half-width that 80 % of studies reach, divided by the mean half-width."""
    seen = RehearsedProtocol(name=name, variance=1.0, free=1.0)
    kept = seen.rehearse(stand_in(K, (accuracy,) * models), accuracy, level, items)
    return math.log(kept.high / kept.mean)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTest:
    """Level of the interval of a difference, and the power of its test."""

    level: float
    power: float

    @property
    def distance(self) -> float:
        """z_{(1 + level)/2} + z_power: how many standard errors such a difference is away from 0."""
        return z_value(self.level) + float(ndtri(self.power))
