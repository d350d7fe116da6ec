"""Studies of a stand-in population, drawn and analysed as real ones: half-widths and test statistics.

A formula plans the mean of a half-width, and takes every interval as a normal one. Real intervals are exact
or tilted scores and vary from study to study.

They tell how many questions keep a promise: a half-width that most studies reach, a power that a test has.
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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, ndtri, xlogy

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate.comparison import Comparison, mcnemar, paired_difference, sign_test
from oversight.harness.estimate.core import BinomialSample, blaker, z_value
from oversight.harness.estimate.estimators import make_point
from oversight.harness.estimate.intervals import make_interval
from oversight.harness.estimate.planning.sample_size import (
    COMPLEMENTARY,
    DIFFER_SEQUENTIAL,
    DIFFER_TARGETED,
    DIFFER_UNIFORM,
    PAIRED,
    POPULATION,
    SEQUENTIAL,
    SHARED,
    SIGN_TEST,
    TARGETED,
    synthesise_population,
)
from oversight.harness.estimate.routed import (
    RoutedSample,
    difference_target,
    disagreement,
    draw_options,
    flat_posterior,
    propensities_for,
    questions_asked,
    routed_accuracy,
    vote_posterior,
)
from oversight.harness.types import Estimate, Interval

SHARES = (TARGETED, SEQUENTIAL)
"""Protocols that settle every prediction, so that an accuracy is a binomial share."""
_RARE = 1e-4
"""Chance below which a number of right predictions is passed over."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StandIn:
    """A population of items with truth, shape (N,), and models' predictions, shape (N, M)."""

    K: int
    truth: IntArray
    predicted: IntArray

    def take(self, items: IntArray) -> StandIn:
        """Some of the items."""
        return StandIn(K=self.K, truth=self.truth[items], predicted=self.predicted[items])

    def ask(self, propensities: FloatArray, rng: np.random.Generator) -> RoutedSample:
        """Answers to one question per item, drawn with these propensities of shape (N, K)."""
        option = draw_options(propensities, rng)
        rows = np.flatnonzero(option >= 0)
        right = (option[rows] == self.truth[rows]).astype(np.float64)
        return RoutedSample(rows, option[rows], right, propensities)

    @property
    def number(self) -> IntArray:
        """K of every item."""
        return np.full(len(self.truth), self.K)

    @property
    def flat(self) -> FloatArray:
        """Uniform propensities."""
        return flat_posterior(self.number, self.K)

    @property
    def correct(self) -> IntArray:
        """Shape (N, M): 1 where a model is right."""
        right: IntArray = (self.predicted == self.truth[:, None]).astype(np.int64)
        return right


@lru_cache(maxsize=32)
def stand_in(K: int, accuracies: tuple[float, ...]) -> StandIn:
    """A population of 20,000 items on which models have just these accuracies; the same at every call."""
    rng = np.random.default_rng(0)
    truth, predicted = synthesise_population(POPULATION, K, accuracies, rng)
    for own, accuracy in zip(predicted.T, accuracies, strict=True):
        right = own == truth
        excess = int(right.sum()) - round(accuracy * POPULATION)
        changed = rng.permutation(np.flatnonzero(right == (excess > 0)))[: abs(excess)]
        slip = 1 + rng.integers(K - 1, size=changed.size) if excess > 0 else 0
        own[changed] = (truth[changed] + slip) % K
    return StandIn(K=K, truth=truth, predicted=predicted)


def rehearse_widths(
    protocol: str, population: StandIn, items: int, studies: int, *, level: float
) -> FloatArray:
    """Half-widths of the first model's accuracy in simulated studies, shape (studies,)."""
    return np.array(
        [_half_width(protocol, study, rng, level) for study, rng in _sample(population, items, studies)]
    )


def rehearse_tests(protocol: str, population: StandIn, items: int, studies: int) -> tuple[float, float]:
    """Mean and standard deviation of z, how far the first model comes out above the second.

    z is the normal quantile of a two-sided p-value, with the sign of the difference. It is almost linear in
    the estimated difference, whose mean is the population's: that takes the luck of the draw out of the mean.
    """
    found = [_COMPARE[protocol](study, rng) for study, rng in _sample(population, items, studies)]
    p, off = np.array([(max(one.p_value, 1e-300), one.difference) for one in found]).T
    z = np.sign(off) * -ndtri(p / 2)
    first, second = population.correct.mean(axis=0)
    slope = float(np.cov(z, off)[0, 1] / max(off.var(ddof=1), 1e-12))
    return float(z.mean()) - slope * float(off.mean() - (first - second)), float(z.std(ddof=1))


def _sample(population: StandIn, items: int, studies: int) -> Iterator[tuple[StandIn, np.random.Generator]]:
    for number in range(studies):
        rng = np.random.default_rng([items, number])
        yield population.take(rng.integers(POPULATION, size=items)), rng


def _half_width(protocol: str, study: StandIn, rng: np.random.Generator, level: float) -> float:
    own = study.predicted[:, 0]
    if protocol == SHARED:
        data = study.ask(propensities_for(study.predicted, study.number, study.K), rng)
        found: Interval | Estimate = routed_accuracy(own, data, level=level)
    else:
        data = study.ask(study.flat, rng)
        yes, hit = data.answer > 0, data.asked == own
        ordinary = BinomialSample(2, int(yes.sum()), int((yes & hit).sum()))
        refused = BinomialSample(study.K, int((~yes).sum()), int((~yes & ~hit).sum()))
        name = "comp" if protocol == COMPLEMENTARY else "ml"
        found = make_interval(make_point(name, ordinary, (refused,)), level=level)
    return (found.high - found.low) / 2


def share_widths(n: int, accuracy: float, level: float, share: float) -> tuple[float, float]:
    """Mean half-width of a binomial share of n items, and the one that this share of studies reaches."""
    number = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(number + 1) - gammaln(n - number + 1)
    chance = np.exp(ways + xlogy(number, accuracy) + xlogy(n - number, 1 - accuracy))
    likely = np.flatnonzero(chance > _RARE)
    half = np.array([_half_of_share(int(right), n, level) for right in number[likely]])
    order = np.argsort(half)
    enough = int(np.searchsorted(np.cumsum(chance[likely][order]), share))
    return float(np.average(half, weights=chance[likely])), float(half[order][min(enough, half.size - 1)])


@lru_cache(maxsize=8192)
def _half_of_share(right: int, n: int, level: float) -> float:
    low, high = blaker(right, n, level)
    return (high - low) / 2


def _compare_refused(study: StandIn, rng: np.random.Generator) -> Comparison:
    data = study.ask(study.flat, rng)
    no = data.answer == 0
    first, second = study.predicted[data.item[no]].T
    return sign_test(first, second, data.asked[no], study.K)


def _compare_resolved(study: StandIn, _: np.random.Generator) -> Comparison:
    first, second = study.correct.T
    return mcnemar(first, second, questions=len(first))


def _compare_drawn(study: StandIn, rng: np.random.Generator, propensities: FloatArray) -> Comparison:
    first, second = study.predicted.T
    return paired_difference(first, second, study.ask(propensities, rng))


def _split_evenly(study: StandIn) -> FloatArray:
    first, second = study.predicted.T
    return np.abs(difference_target(first, second, study.K)) / 2


_COMPARE: Mapping[str, Callable[[StandIn, np.random.Generator], Comparison]] = {
    SIGN_TEST: _compare_refused,
    PAIRED: lambda study, rng: _compare_drawn(study, rng, study.flat),
    DIFFER_UNIFORM: lambda study, rng: _compare_drawn(
        study, rng, study.flat * disagreement(study.predicted)[:, None]
    ),
    DIFFER_TARGETED: lambda study, rng: _compare_drawn(study, rng, _split_evenly(study)),
    DIFFER_SEQUENTIAL: _compare_resolved,
}


def questions_per_item(protocol: str, population: StandIn, accuracy: float) -> float:
    """Mean number of questions that a protocol asks about an item of the population."""
    share = 1.0
    if protocol in (DIFFER_UNIFORM, DIFFER_TARGETED, DIFFER_SEQUENTIAL):
        differ = disagreement(population.predicted)
        share, population = float(differ.mean()), population.take(np.flatnonzero(differ))
    if protocol not in (SEQUENTIAL, DIFFER_SEQUENTIAL):
        return share
    models = population.predicted.shape[1]
    votes = vote_posterior(
        population.predicted, population.K, population.K, accuracy=np.full(models, accuracy)
    )
    return share * float(questions_asked(population.predicted, votes, population.truth).mean())


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
