"""Cost of every protocol: variances, rehearsed studies and prices.

Number of questions for an interval's width, by protocol; and what a cheaper protocol saves.

Every protocol has a variance per question v, so that n questions give a half-width z√(v/n), detect
a difference (z_{1−α/2} + z_power)√(v/n), and need n = v (z/h)². Experts may err at known rates s, t
(J = s + t − 1): α = A s + (1−A)(1−t) and β = (1−t) + (1−A)J/(K−1) as in
`oversight.harness.estimate.expert_errors`.

For several models the agreement between them matters. Before there are predictions it is that of a stand-in
population. Models are right together and wrong together: model m is right where √r·u + √(1−r)·e_m falls below
its quantile, u a difficulty all share, so any two have tetrachoric correlation r; wrong models fall
for the item's one tempting wrong option with probability d each, else err uniformly. Defaults are
those of 20 language models on ten-option MMLU-Pro (12,032 questions, TIGER-AI-Lab's published
per-item results): median r .59 (tenth to ninetieth percentile .48–.65), and two wrong models name
the same wrong option 35 % of the time, which d = .5 gives. A stand-in never enters an estimate.

Studies of a stand-in population, drawn and analysed as real ones: half-widths and test statistics.

A formula plans the mean of a half-width, and takes every interval as a normal one. Real intervals are exact
or tilted scores and vary from study to study.

They tell how many questions keep a promise: a half-width that most studies reach, a power that a test has.
The formula z √(v/n) is compared with studies rehearsed on a stand-in population. Let m be the mean of their
half-widths over the formula's, and q the quantile of 80 %. With n questions the half-width is at most

    z √(v/n) (m + (q − m) √(n₀/n))

in 80 % of studies, where n₀ is the number of questions of the rehearsal. If every question settles a
prediction, q comes from the binomial law, number by number, as exact intervals of neighbouring numbers vary.
For tests with z-values of mean ζ and standard deviation σ the power is Φ((ζ √(n/n₀) − z)/σ). A promise is to
be kept although it rests on R rehearsed studies: q is the quantile of 80 % and a standard error, √(0.8 ·
0.2/R), and σ is enlarged by σ/√(2R).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, ndtri, xlogy

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import (
    BinomialSample,
    blaker,
    check_least,
    check_level,
    check_options,
    check_unit,
    z_value,
)
from oversight.harness.estimate.estimators import make_point
from oversight.harness.estimate.expert_errors import youden
from oversight.harness.estimate.intervals import make_interval
from oversight.harness.estimate.paired import Comparison, mcnemar, paired_difference, sign_test
from oversight.harness.estimate.routed_means import routed_accuracy
from oversight.harness.estimate.routed_sample import (
    RoutedSample,
    accuracy_target,
    difference_target,
    disagreement,
    draw_options,
    flat_posterior,
    optimal_constant,
    propensities_for,
    questions_asked,
    shared_propensities,
    vote_posterior,
)
from oversight.harness.registry import name_protocol
from oversight.harness.types import Displayable, Estimate, HtmlTable, Interval

CORRELATION = 0.59
TEMPTATION = 0.5


def check_accuracy(A: float, K: int) -> None:
    """Check that K ≥ 2 and the accuracy lies in (0, 1), where every variance is finite."""
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

    Examples
    --------
    >>> truth, predicted = synthesise_population(10_000, 4, [0.8, 0.6], np.random.default_rng(1))
    >>> (predicted == truth[:, None]).mean(axis=0).round(2).tolist()
    [0.8, 0.61]
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


PARTITIONED, TARGETED, SEQUENTIAL = map(name_protocol, ("Partitioned", "Targeted", "Sequential"))
COMPLEMENTARY, UNIFORM, SHARED = "uniform, complementary only", "uniform", "shared"
SIGN_TEST, PAIRED = "uniform, sign test", "uniform, paired"
DIFFER_UNIFORM, DIFFER_TARGETED = "disagreements, uniform", "disagreements, targeted"
DIFFER_SEQUENTIAL = "disagreements, sequential"
POPULATION = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePlan:
    """Price of one protocol.

    Attributes
    ----------
    protocol
        The questions, in words.
    variance
        v, the variance per question.
    questions
        Number of questions to experts.
    half_width
        Half-width that at least 80 % of such studies do not exceed. For a comparison, the difference that
        is detected.
    saving
        Number of questions of the reference protocol divided by this protocol's.
    half_width_expected
        Mean half-width of such studies. None for a comparison.
    """

    protocol: str
    variance: float
    questions: int
    half_width: float
    saving: float
    half_width_expected: float | None = None


def uniform_design_variance(K: int, A: float, s: float = 1.0, t: float = 1.0) -> float:
    """Likelihood under uniform routing: 1/v = J²/(K α(1−α)) + J²/(K(K−1) β(1−β)).

    Error-free: 1/v = (KA + K − 2)/(K A (1−A)(A + K − 2)). Derivation: a question is a hit with
    probability 1/K; ∂α/∂A = J, ∂β/∂A = −J/(K − 1); add the two binomial informations.
    """
    check_accuracy(A, K)
    J = youden(s, t)
    alpha, beta = A * s + (1 - A) * (1 - t), (1 - t) + (1 - A) * J / (K - 1)
    return K / (J**2 / (alpha * (1 - alpha)) + J**2 / ((K - 1) * beta * (1 - beta)))


def complementary_design_variance(K: int, A: float, s: float = 1.0, t: float = 1.0) -> float:
    """No-answers alone, per *question*: v = u(1 − u) K² P(no)/J², u = P(hit | no).

    Error-free: (1 − A)(A + K − 2)·K/(K − 1), Eq. 3 of "Towards Scalable Oversight via Partitioned Human
    Supervision" times the K/(K − 1) questions per no. Derivation: u = (t − A J)/(K P(no)) is linear
    in A and a binomial share of n·P(no) no-answers, P(no) = 1 − [s + (K − 1)(1 − t)]/K.
    """
    check_accuracy(A, K)
    J = youden(s, t)
    no = 1 - (s + (K - 1) * (1 - t)) / K
    u = (t - A * J) / (K * no)
    return u * (1 - u) * K**2 * no / J**2


def targeted_design_variance(A: float, s: float = 1.0, t: float = 1.0) -> float:
    """The expert of the predicted option: v = α(1 − α)/J²; error-free A(1 − A), which is optimal."""
    alpha = A * s + (1 - A) * (1 - t)
    return alpha * (1 - alpha) / youden(s, t) ** 2


def check_sought(half_width: float | None, questions: int | None) -> None:
    """Raise an error for both a half-width and a number of questions, or for values out of range."""
    if half_width is not None and questions is not None:
        raise EstimateError(f"give half_width ({half_width}) or questions ({questions}), not both")
    if half_width is not None and not 0 < half_width < 1:
        raise EstimateError(f"half_width must lie in (0, 1), is {half_width}")
    if questions is not None:
        check_least("questions", questions, 1)


def accuracy_variances(
    K: int, A: float, *, models: int = 1, sensitivity: float = 1.0, specificity: float = 1.0
) -> dict[str, float]:
    """Variance per question of each model's accuracy, by protocol, the same questions serving all.

    Uniform routing serves any number of models. One model: targeted. Several: propensities
    ∝ √(n_k s_k) with a tenth uniform and the votes as posterior, and sequential resolution, whose v is
    A(1 − A) times the questions per item; it resolves nothing exactly when experts err, and is left
    out then.
    """
    s, t = sensitivity, specificity
    variances = {
        COMPLEMENTARY: complementary_design_variance(K, A, s, t),
        UNIFORM: uniform_design_variance(K, A, s, t),
    }
    if models < 1:
        raise EstimateError(f"models must be at least 1, is {models}")
    if models == 1:
        return variances | {TARGETED: targeted_design_variance(A, s, t)}
    truth, predicted = _population(K, A, models)
    votes = vote_posterior(predicted, K, K, accuracy=np.full(models, max(A, 1 / K + 0.01)))
    pi = shared_propensities(predicted, K, K, posterior=votes)
    targets = (accuracy_target(column, K) for column in predicted.T)
    each = [population_variance(c, pi, votes, truth, (s, t)) for c in targets]
    variances[SHARED] = float(np.mean(each))
    if s == t == 1:
        cost = questions_asked(predicted, votes, truth).mean()
        variances[SEQUENTIAL] = A * (1 - A) * float(cost)
    return variances


def difference_variances(
    K: int, A: float, *, sensitivity: float = 1.0, specificity: float = 1.0
) -> dict[str, float]:
    """Variance per question of the difference of two models with about accuracy A, by protocol.

    Agreeing items are free in the disagreement protocols: with a share w of disagreements, n questions come
    from N = n/w items. "Targeted" asks about one of the two predicted options, by a coin, with the votes as
    posterior; "sequential" asks until both models' correctness is known.
    """
    s, t = sensitivity, specificity
    truth, predicted = _population(K, A, 2)
    flat = flat_posterior(np.full(len(truth), K), K)
    differ = disagreement(predicted)
    c = difference_target(predicted[:, 0], predicted[:, 1], K)
    w = float(differ.mean())
    refutable = (predicted != truth[:, None]) & differ[:, None]
    # One label refutes a model with probability 1/(K − 1) if it errs and the models differ.
    wrong = t * refutable.mean() + (1 - s) * (w - refutable.mean())
    variances = {SIGN_TEST: 2 * K * float(wrong) / youden(s, t) ** 2}
    votes = vote_posterior(predicted, K, K, accuracy=[A, A])
    variances[PAIRED] = population_variance(c, flat, votes, truth, (s, t))
    uniform = flat * differ[:, None]
    variances[DIFFER_UNIFORM] = w * population_variance(c, uniform, votes, truth, (s, t))
    variances[DIFFER_TARGETED] = w * population_variance(c, np.abs(c) / 2, votes, truth, (s, t))
    if s == t == 1:
        cost = questions_asked(predicted, votes, truth)[differ].mean()
        right = predicted == truth[:, None]
        variances[DIFFER_SEQUENTIAL] = w * float(cost) * float((right[:, 0] != right[:, 1]).mean())
    return variances


@lru_cache(maxsize=16)
def _population(K: int, A: float, models: int) -> tuple[IntArray, IntArray]:
    return synthesise_population(POPULATION, K, [A] * models, np.random.default_rng(0))


_MIXTURE = 1.6
"""Loss of bets spread over two decades against the best bet, in logs."""


def outcomes_to_settle(
    mean: float, square: float, *, level: float = 0.95, power: float = 0.8, looks: bool = True
) -> float:
    """Number of outcomes that decide on which side of the bar such a mean is, with this power.

    With outcomes x_i of mean b + m, m ≠ 0, and second moment q around the bar b, the best bet λ = m/q lets
    the log of the wealth of `oversight.harness.estimate.gate` grow by m²/(2q) an outcome, with standard
    deviation |m|/√q. It must reach log(1/α) + c, c what the mixture over bets costs. With power β

        √n |m|/√q = z_β + √(z_β² + 2 (log(1/α) + c)),

    and with an interval of fixed size z_{(1 + level)/2} + z_β. If b + m is an estimate, the forecast is as
    uncertain as this estimate, most of all near the bar.

    Parameters
    ----------
    mean, square
        Mean and mean square of the outcomes minus the bar.
    looks
        Whether bets are evaluated at any time; otherwise one interval of fixed size.
    """
    check_level(level)
    if mean == 0 or not square > 0:
        return math.inf
    z = float(ndtri(power))
    need = z + (math.sqrt(z * z + 2 * (_MIXTURE - math.log1p(-level))) if looks else z_value(level))
    return need**2 * square / mean**2


SHARES = (TARGETED, SEQUENTIAL)
"""Protocols that settle every prediction, so that an accuracy is a binomial share."""
_RARE = 1e-4
"""Chance below which a number of right predictions is passed over."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedPopulation:
    """A population of items with truth, shape (N,), and models' predictions, shape (N, M)."""

    K: int
    truth: IntArray
    predicted: IntArray

    def take(self, items: IntArray) -> SimulatedPopulation:
        """Select some of the items."""
        return SimulatedPopulation(K=self.K, truth=self.truth[items], predicted=self.predicted[items])

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
        """Shape (N, M): 1 if a model is right."""
        right: IntArray = (self.predicted == self.truth[:, None]).astype(np.int64)
        return right


@lru_cache(maxsize=32)
def stand_in(K: int, accuracies: tuple[float, ...]) -> SimulatedPopulation:
    """A population of 20,000 items with exactly these accuracies; the same at every call."""
    rng = np.random.default_rng(0)
    truth, predicted = synthesise_population(POPULATION, K, accuracies, rng)
    for own, accuracy in zip(predicted.T, accuracies, strict=True):
        right = own == truth
        excess = int(right.sum()) - round(accuracy * POPULATION)
        changed = rng.permutation(np.flatnonzero(right == (excess > 0)))[: abs(excess)]
        slip = 1 + rng.integers(K - 1, size=changed.size) if excess > 0 else 0
        own[changed] = (truth[changed] + slip) % K
    return SimulatedPopulation(K=K, truth=truth, predicted=predicted)


def rehearse_widths(
    protocol: str, population: SimulatedPopulation, items: int, studies: int, *, level: float
) -> FloatArray:
    """Half-widths of the first model's accuracy in simulated studies, shape (studies,)."""
    return np.array(
        [_half_width(protocol, study, rng, level) for study, rng in _sample(population, items, studies)]
    )


def rehearse_tests(
    protocol: str, population: SimulatedPopulation, items: int, studies: int
) -> tuple[float, float]:
    """Mean and standard deviation of z, the standardised lead of the first model over the second.

    z is the normal quantile of a two-sided p-value, with the sign of the difference. It is almost linear in
    the estimated difference, whose mean is the population's: that takes the luck of the draw out of the mean.
    """
    found = [_COMPARE[protocol](study, rng) for study, rng in _sample(population, items, studies)]
    p, off = np.array([(max(one.p_value, 1e-300), one.difference) for one in found]).T
    z = np.sign(off) * -ndtri(p / 2)
    first, second = population.correct.mean(axis=0)
    slope = float(np.cov(z, off)[0, 1] / max(off.var(ddof=1), 1e-12))
    return float(z.mean()) - slope * float(off.mean() - (first - second)), float(z.std(ddof=1))


def _sample(
    population: SimulatedPopulation, items: int, studies: int
) -> Iterator[tuple[SimulatedPopulation, np.random.Generator]]:
    for number in range(studies):
        rng = np.random.default_rng([items, number])
        yield population.take(rng.integers(POPULATION, size=items)), rng


def _half_width(protocol: str, study: SimulatedPopulation, rng: np.random.Generator, level: float) -> float:
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
    """Mean half-width of a binomial share of n items, and the one that the given share of studies reaches."""
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


def _compare_refused(study: SimulatedPopulation, rng: np.random.Generator) -> Comparison:
    data = study.ask(study.flat, rng)
    no = data.answer == 0
    first, second = study.predicted[data.item[no]].T
    return sign_test(first, second, data.asked[no], study.K)


def _compare_resolved(study: SimulatedPopulation, _: np.random.Generator) -> Comparison:
    first, second = study.correct.T
    return mcnemar(first, second, questions=len(first))


def _compare_drawn(
    study: SimulatedPopulation, rng: np.random.Generator, propensities: FloatArray
) -> Comparison:
    first, second = study.predicted.T
    return paired_difference(first, second, study.ask(propensities, rng))


def _split_evenly(study: SimulatedPopulation) -> FloatArray:
    first, second = study.predicted.T
    return np.abs(difference_target(first, second, study.K)) / 2


_COMPARE: Mapping[str, Callable[[SimulatedPopulation, np.random.Generator], Comparison]] = {
    SIGN_TEST: _compare_refused,
    PAIRED: lambda study, rng: _compare_drawn(study, rng, study.flat),
    DIFFER_UNIFORM: lambda study, rng: _compare_drawn(
        study, rng, study.flat * disagreement(study.predicted)[:, None]
    ),
    DIFFER_TARGETED: lambda study, rng: _compare_drawn(study, rng, _split_evenly(study)),
    DIFFER_SEQUENTIAL: _compare_resolved,
}


def questions_per_item(protocol: str, population: SimulatedPopulation, accuracy: float) -> float:
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
    """Half-widths of one protocol, divided by those of the formula.

    Attributes
    ----------
    scale
        z √v: the formula's half-width times √n.
    mean, high
        Their mean, and the value that at least `REACHED` of them do not exceed.
    asked
        Number of questions of the rehearsal.
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
        """Number of questions at which `reach` is this half-width: the root of a quadratic in 1/√n."""
        b, c = self.mean, half_width / self.scale
        a = max(0.0, self.high - self.mean) * math.sqrt(self.asked)
        return math.ceil(((b + math.sqrt(b * b + 4 * a * c)) / (2 * c)) ** 2 - 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedProtocol:
    """A protocol to rehearse.

    Attributes
    ----------
    name
        Name of the protocol.
    variance
        v, the variance per question.
    free
        The same without experts' errors, which rehearsed experts do not make.
    """

    name: str
    variance: float
    free: float

    def promise_width(
        self,
        population: SimulatedPopulation,
        accuracy: float,
        level: float,
        *,
        half_width: float,
        questions: int | None = None,
    ) -> tuple[int, WidthPromise]:
        """Questions (by default those for the half-width), and the half-width that they reach."""
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

    def rehearse(
        self, population: SimulatedPopulation, accuracy: float, level: float, questions: float
    ) -> WidthPromise:
        """Simulated studies with the information of a number of questions, at most 2,000 items each."""
        each, errors = questions_per_item(self.name, population, accuracy), self.variance / self.free
        items = math.floor(min(_MANY, max(_FEW, questions / errors / each)) + 1e-9)
        z, asked = z_value(level), items * each
        formula = z * math.sqrt(self.free / asked)
        if self.name in SHARES:
            mean, high = share_widths(items, accuracy, level, REACHED)
        else:
            seen = rehearse_widths(self.name, population, items, _WIDTHS, level=level)
            mean, careful = float(seen.mean()), REACHED + math.sqrt(REACHED * (1 - REACHED) / _WIDTHS)
            # the quantile alone is noisy, and the normal one is too low for skewed half-widths
            normal = mean + float(ndtri(careful)) * float(seen.std(ddof=1))
            high = max(normal, float(np.quantile(seen, careful)))
        return WidthPromise(
            scale=z * math.sqrt(self.variance),
            mean=mean / formula,
            high=high / formula,
            asked=asked * errors,
        )

    def plan_test(self, K: int, accuracy: float, aim: PlannedTest, difference: float) -> int:
        """Number of questions that detect this difference with the planned power."""
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
        """Factor by which z-values, relative to difference and √questions, fall short of the power.

        If more questions are planned than are rehearsed, a larger difference with the same standardised
        size is rehearsed.
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


def _stand_in_pair(K: int, accuracy: float, difference: float) -> SimulatedPopulation:
    """Two models, the better one first; one has the accuracy, the other is nearer to one half."""
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
        """z_{(1 + level)/2} + z_power: distance of such a difference from 0 in standard errors."""
        return z_value(self.level) + float(ndtri(self.power))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QuestionPlan(Displayable):
    """Prices by protocol.

    Attributes
    ----------
    accuracy, difference
        Prices for the accuracy of a model, and for the difference of two (their half-width is then the
        detected difference).
    level
        Confidence level.

    Examples
    --------
    >>> width = {"half_width": 0.06, "half_width_expected": 0.056}
    >>> price = SamplePlan(protocol="targeted", variance=0.16, questions=200, saving=1.0, **width)
    >>> print(QuestionPlan(accuracy=(price,), difference=(price,), level=0.95))
    accuracy, best of 1 protocols: targeted, 200 questions, ±6.0 points
    difference of 2 models, best of 1 protocols: targeted, 200 questions, ±6.0 points
    """

    accuracy: tuple[SamplePlan, ...]
    difference: tuple[SamplePlan, ...]
    level: float

    picture: ClassVar[str] = "plan"

    def __str__(self) -> str:
        """The cheapest protocol for an accuracy and for a difference."""
        lines = []
        for title, plans in (("accuracy", self.accuracy), ("difference of 2 models", self.difference)):
            best = min(plans, key=lambda plan: (plan.questions, plan.half_width))
            lines.append(
                f"{title}, best of {len(plans)} protocols: {best.protocol}, {best.questions:,} questions, "
                f"±{100 * best.half_width:.1f} points"
            )
        return "\n".join(lines)

    def records(self) -> list[dict[str, Any]]:
        """One row per protocol and quantity."""
        both = {"accuracy": self.accuracy, "difference": self.difference}
        return [{"of": name} | asdict(plan) for name, plans in both.items() for plan in plans]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the HTML for a notebook."""
        tables = (
            (f"Accuracy, {self.level:.0%}", "half-width in 80 %", self.accuracy),
            ("Difference of 2 models", "difference", self.difference),
        )
        return tuple(
            HtmlTable(
                title=title,
                columns=("protocol", "questions", width, "saving"),
                rows=[
                    (p.protocol, f"{p.questions:,}", f"±{p.half_width:.3f}", f"{p.saving:.1f}×")
                    for p in plans
                ],
            )
            for title, width, plans in tables
        )


def plan(
    options: int,
    accuracy: float = 0.7,
    *,
    models: int = 1,
    half_width: float | None = None,
    questions: int | None = None,
    level: float = 0.95,
    power: float = 0.8,
    sensitivity: float = 1.0,
    specificity: float = 1.0,
    cluster_size: float = 1.0,
    intraclass: float = 0.3,
) -> QuestionPlan:
    """Return what every protocol costs: questions for an interval, or the interval for questions.

    Parameters
    ----------
    options, accuracy
        K of an item, and an assumed accuracy, in (0, 1).
    models
        Models measured with the same questions.
    half_width, questions
        Give one: the half-width that at least 80 % of studies must reach, by default 0.03 (3 points); or
        the affordable number of questions.
    level, power
        Of intervals; and the least share of studies that shall detect a difference of `half_width` between a
        model of this accuracy and one that is nearer to one half.
    sensitivity, specificity
        Experts' P(yes | it is) and P(no | it is not).
    cluster_size, intraclass
        Items per cluster and their correlation R: M items of a cluster count for M/(1 + (M − 1)R).

    Notes
    -----
    Studies are rehearsed on a stand-in population (`synthesise_population`), whose experts never err and
    whose items are independent. Experts' errors and clusters enlarge the variance, and what else they do to
    half-widths is not counted.

    Raises
    ------
    EstimateError
        If an argument is out of range, or experts with such rates carry no information.

    Examples
    --------
    >>> prices = plan(2, 0.8, questions=200)
    >>> {row.protocol: round(row.half_width, 3) for row in prices.accuracy}
    {'uniform, complementary only': 0.088, 'uniform': 0.06, 'targeted': 0.059}
    """
    check_least("cluster_size", cluster_size, 1)
    check_unit("intraclass", intraclass)
    check_level(level)
    if not 0 < power < 1:
        raise EstimateError(f"power must lie in (0, 1), is {power}")
    check_sought(half_width, questions)
    aim = PlannedTest(level=level, power=power)
    effect = 1 + (cluster_size - 1) * intraclass
    rates = {"sensitivity": sensitivity, "specificity": specificity}
    single = accuracy_variances(options, accuracy, models=models, **rates)
    pair = difference_variances(options, accuracy, **rates)
    free = accuracy_variances(options, accuracy, models=models) | difference_variances(options, accuracy)
    asked = None if questions is None else max(1, round(questions / effect))
    width = 0.03 if half_width is None else half_width
    accurate, different = list[SamplePlan](), list[SamplePlan]()
    population = stand_in(options, (accuracy,) * models)
    for name, variance in (single | pair).items():
        protocol = RehearsedProtocol(name=name, variance=variance, free=free[name])
        expected = None
        if name in pair:
            needed = asked or protocol.plan_test(options, accuracy, aim, width)
            off = width if asked is None else protocol.plan_difference(options, accuracy, aim, asked)
        else:
            needed, kept = protocol.promise_width(
                population, accuracy, level, half_width=width, questions=asked
            )
            off = width if asked is None else kept.reach(needed)
            expected = kept.expect(needed)
        row = SamplePlan(
            protocol=name,
            variance=variance,
            questions=math.ceil(needed * effect - 1e-9),
            half_width=off,
            saving=1.0,
            half_width_expected=expected,
        )
        (different if name in pair else accurate).append(row)
    accuracies = _compare_prices(accurate, UNIFORM, by_width=asked is not None)
    differences = _compare_prices(different, SIGN_TEST, by_width=asked is not None)
    return QuestionPlan(accuracy=accuracies, difference=differences, level=level)


def _compare_prices(plans: Sequence[SamplePlan], reference: str, *, by_width: bool) -> tuple[SamplePlan, ...]:
    """Divide the reference's questions by each protocol's; at equal questions, the squared widths."""
    (base,) = (plan for plan in plans if plan.protocol == reference)
    return tuple(
        replace(
            plan,
            saving=(base.half_width / plan.half_width) ** 2 if by_width else base.questions / plan.questions,
        )
        for plan in plans
    )
