"""Studies of a stand-in population, drawn and analysed as real ones: half-widths and test statistics.

A formula plans the mean of a half-width, and takes every interval as a normal one. Real intervals are exact
or tilted scores and vary from study to study.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, ndtri, xlogy

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate.comparison import Comparison, mcnemar, paired_difference, sign_test
from oversight.harness.estimate.core import BinomialSample, blaker
from oversight.harness.estimate.estimators import make_point
from oversight.harness.estimate.intervals import make_interval
from oversight.harness.estimate.planning.synthetic_population import synthesise_population
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
from oversight.harness.registry import name_protocol
from oversight.harness.types import Estimate, Interval

COMPLEMENTARY, UNIFORM, SHARED = "uniform, complementary only", "uniform", "shared"
TARGETED, SEQUENTIAL = map(name_protocol, ("Targeted", "Sequential"))
SHARES = (TARGETED, SEQUENTIAL)
"""Protocols that settle every prediction, so that an accuracy is a binomial share."""
SIGN_TEST, PAIRED = "uniform, sign test", "uniform, paired"
DIFFER_UNIFORM, DIFFER_TARGETED = "disagreements, uniform", "disagreements, targeted"
DIFFER_SEQUENTIAL = "disagreements, sequential"
POPULATION = 20_000
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
