"""Number of questions that a study needs, by protocol, from formulas and from simulated studies.

**Formula.** Every protocol has a variance v per question: n questions give the half-width z√(v/n), can detect
a difference of (z_{1−α/2} + z_power)√(v/n), and n = v (z/h)² questions give the half-width h. Experts may err
at known rates s, t (J = s + t − 1): α = A s + (1−A)(1−t) and β = (1−t) + (1−A)J/(K−1), as in
`oversight.harness.estimate.expert_errors`.

**Simulated population.** The variance for several models depends on their agreement. Without predictions the
agreement is that of a simulated population, whose models tend to be right and wrong on the same items. Model
m is right if √r·u + √(1−r)·e_m is below the normal quantile of its accuracy, where u is a difficulty that all
models share. So any two models have the tetrachoric correlation r. A wrong model names the item's one
tempting wrong option with probability d, and errs uniformly otherwise. The defaults are those of 20 language
models on MMLU-Pro with ten options (12,032 questions, TIGER-AI-Lab's published per-item results): median r
.59 (tenth to ninetieth percentile .48–.65); two wrong models name the same wrong option on 35 % of the items,
as for d = .5. A simulated population never enters an estimate.

**Simulated studies.** The formula plans the mean half-width and assumes normal intervals. Real intervals are
exact or invert a score test, and their widths vary from study to study. So studies of the simulated
population are drawn and analysed like real ones. Let m be the mean ratio of their half-widths to the
formula's, q the 80 % quantile of this ratio, and n₀ the number of questions of a simulated study. With n
questions the half-width is at most

    z √(v/n) (m + (q − m) √(n₀/n))

in 80 % of studies. If every question decides a prediction, q comes from the binomial distribution for each
number of questions, because exact intervals vary between neighbouring numbers. If the z-values of simulated
tests have mean ζ and standard deviation σ, the power is Φ((ζ √(n/n₀) − z)/σ). To allow for a finite number R
of simulated studies, q is the quantile at 0.8 + √(0.8 · 0.2/R), one standard error above 80 %, and σ is
enlarged by σ/√(2R).

**Clusters.** M items of a cluster with the intraclass correlation R count as M/(1 + (M − 1)R) independent
items. The variance is estimated from the clusters, with about ν = clusters − 1 degrees of freedom. So every
half-width is multiplied by t_ν/z, and the half-width that 80 % of studies do not exceed also by √(q_ν/ν),
where q_ν is the 80 % quantile of χ² with ν degrees of freedom (`ClusterDesign`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtri, gammaln, ndtri, stdtrit, xlogy

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import (
    FEWEST_EFFECTIVE,
    BinomialSample,
    blaker,
    check_count,
    check_least,
    check_level,
    check_options,
    check_unit,
    find_edge,
    is_number,
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
from oversight.harness.types import Displayable, Estimate, HtmlTable, Interval, level_text

CORRELATION = 0.59
TEMPTATION = 0.5


def check_accuracy(A: float, K: int) -> None:
    """Check that K ≥ 2 and that the accuracy lies in (0, 1), because variances at 0 and 1 are degenerate."""
    check_options(K)
    if not (is_number(A) and 0 < A < 1):
        raise EstimateError(f"the guess of the accuracy must lie in (0, 1), is {A!r}")


def synthesise_population(
    n: int,
    K: int,
    accuracy: Sequence[float],
    rng: np.random.Generator,
    *,
    correlation: float = CORRELATION,
    temptation: float = TEMPTATION,
) -> tuple[IntArray, IntArray]:
    """Simulate n items with K options, and the predictions of M models of given accuracies.

    Parameters
    ----------
    n, K
        Number of items, and number of options of every item.
    accuracy
        Expected accuracy of every model, in (0, 1).
    rng
        Random generator.
    correlation, temptation
        r and d of the simulated population (see the module), in [0, 1].

    Returns
    -------
    array, array
        True options, shape (n,), and predicted options, shape (n, M).

    Raises
    ------
    EstimateError
        If K < 2, or an accuracy, r or d is out of range.

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
    """Compute the variance of the outcome g of equation (G) in a population with known truth.

    Item, drawn option and answer are random.

    Var(g) = E[g²] − θ² with
    E[g²] = E Σ_k π_k [(Σ_j c_j p_j + w_k (1{y=k} − p_k))² + w_k² Var(b̃_k | y)] + E (1 − Σπ)(Σ_j c_j p_j)².
    The last term is for items without a question. Here w_k = (c_k − C*)/π_k, and b̃ is the error-corrected
    answer with Var(b̃ | y=k) = s(1 − s)/J² and Var(b̃ | y≠k) = t(1 − t)/J², where (s, t) are the experts'
    `rates`: sensitivity and specificity. All matrices have shape (N, K).
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
    """Number of questions that one protocol needs, and the precision that it reaches.

    Attributes
    ----------
    protocol
        Name of the protocol.
    variance
        Variance per question, v.
    questions
        Number of questions to experts.
    half_width
        Half-width that at least 80 % of studies with this plan do not exceed. For a comparison, the
        difference that is detected with the planned power.
    saving
        Number of questions that the reference protocol needs, divided by the number that this protocol needs.
        The reference is uniform draws for an accuracy, and the sign test for a difference.
    half_width_expected
        Mean half-width of studies with this plan; None for a comparison.
    """

    protocol: str
    variance: float
    questions: int
    half_width: float
    saving: float
    half_width_expected: float | None = None


def uniform_design_variance(K: int, A: float, s: float = 1.0, t: float = 1.0) -> float:
    """Return the variance v per question of the ML estimate if options are drawn uniformly.

    1/v = J²/(K α(1−α)) + J²/(K(K−1) β(1−β)), with J, α and β of the module docstring. `s` and `t` are the
    experts' sensitivity and specificity.

    Without errors, 1/v = (KA + K − 2)/(K A (1−A)(A + K − 2)). Derivation: a question is about the prediction
    with probability 1/K; ∂α/∂A = J, ∂β/∂A = −J/(K − 1); add the Fisher informations of the two binomials.
    """
    check_accuracy(A, K)
    J = youden(s, t)
    alpha, beta = A * s + (1 - A) * (1 - t), (1 - t) + (1 - A) * J / (K - 1)
    return K / (J**2 / (alpha * (1 - alpha)) + J**2 / ((K - 1) * beta * (1 - beta)))


def complementary_design_variance(K: int, A: float, s: float = 1.0, t: float = 1.0) -> float:
    """Return the variance v per question (not per "no") if only "no" answers are used.

    v = u(1 − u) K² P(no)/J², where u = P(question was about the prediction | no). Without errors, v = (1 −
    A)(A + K − 2)·K/(K − 1): Eq. 3 of "Towards Scalable Oversight via Partitioned Human Supervision" times the
    K/(K − 1) questions per "no". Derivation: u = (t − A J)/(K P(no)) is linear in A, and is estimated by a
    share of n·P(no) answers, where P(no) = 1 − [s + (K − 1)(1 − t)]/K.
    """
    check_accuracy(A, K)
    J = youden(s, t)
    no = 1 - (s + (K - 1) * (1 - t)) / K
    u = (t - A * J) / (K * no)
    return u * (1 - u) * K**2 * no / J**2


def targeted_design_variance(A: float, s: float = 1.0, t: float = 1.0) -> float:
    """Return the variance v per question if questions are about the prediction.

    v = α(1 − α)/J² (symbols as in the module docstring). Without errors, v = A(1 − A), which is optimal.
    """
    alpha = A * s + (1 - A) * (1 - t)
    return alpha * (1 - alpha) / youden(s, t) ** 2


def check_sought(half_width: float | None, questions: int | None) -> None:
    """Raise an error if a value is out of range, or both a half-width and questions are given."""
    if half_width is not None and questions is not None:
        raise EstimateError(f"give half_width ({half_width}) or questions ({questions}), not both")
    if half_width is not None and not (is_number(half_width) and 0 < half_width < 1):
        raise EstimateError(f"half_width must lie in (0, 1), is {half_width!r}")
    if questions is not None:
        check_least("questions", questions, 1)


def accuracy_variances(
    K: int, A: float, *, models: int = 1, sensitivity: float = 1.0, specificity: float = 1.0
) -> dict[str, float]:
    """Return, by protocol, the variance per question of each model's accuracy if all models share questions.

    Uniform protocols are included for any number of models. For one model, targeted questions are added. For
    several models, shared questions (`shared_propensities` with ε = 0.1 and the votes' posterior) and
    sequential resolution are added. For sequential resolution, v = A(1 − A) times the questions per item.
    Sequential resolution is left out if experts err, because it then does not determine correctness exactly.
    """
    s, t = sensitivity, specificity
    variances = {
        COMPLEMENTARY: complementary_design_variance(K, A, s, t),
        UNIFORM: uniform_design_variance(K, A, s, t),
    }
    check_least("models", models, 1)
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
    """Return, by protocol, the variance per question of the difference of two models with accuracies near A.

    Disagreement protocols ask no question about items on which the models agree. So if the models disagree on
    a share w of the items, n questions cover N = n/w items. "Targeted" asks about one of the two predicted
    options, with probability ½ each, and uses the votes' posterior. "Sequential" asks until it is known for
    both models whether they are right.
    """
    s, t = sensitivity, specificity
    truth, predicted = _population(K, A, 2)
    flat = flat_posterior(np.full(len(truth), K), K)
    differ = disagreement(predicted)
    c = difference_target(predicted[:, 0], predicted[:, 1], K)
    w = float(differ.mean())
    refutable = (predicted != truth[:, None]) & differ[:, None]
    # probability that the models differ and an expert says no to a prediction, averaged over both models
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
"""Loss in log wealth by mixing bets over two orders of magnitude, compared with the best bet."""


def outcomes_to_settle(
    mean: float, square: float, *, level: float = 0.95, power: float = 0.8, looks: bool = True
) -> float:
    """Return the number of outcomes needed to decide whether their mean is above or below a bar.

    Let outcomes x_i have mean b + m, m ≠ 0, and second moment q around the bar b. With the best bet λ = m/q,
    the log wealth of `oversight.harness.estimate.gate` grows by m²/(2q) per outcome, with standard deviation
    |m|/√q. It must reach log(1/α) + c, where c is the loss by mixing over bets. With power β,

        √n |m|/√q = z_β + √(z_β² + 2 (log(1/α) + c)).

    With one interval at a fixed sample size, the right side is z_{(1 + level)/2} + z_β. If m is an estimate,
    the result is as uncertain as that estimate, especially near the bar.

    Parameters
    ----------
    mean, square
        Mean m and mean square q of the outcomes minus the bar.
    level
        Confidence level, 1 − α.
    power
        Probability of a decision after the returned number of outcomes, β.
    looks
        Whether the answers are evaluated sequentially, by bets; otherwise once, by one interval.

    Returns
    -------
    float
        Number of outcomes; infinite if `mean` is 0.
    """
    check_level(level)
    if mean == 0 or not square > 0:
        return math.inf
    z = float(ndtri(power))
    need = z + (math.sqrt(z * z + 2 * (_MIXTURE - math.log1p(-level))) if looks else z_value(level))
    return need**2 * square / mean**2


SHARES = (TARGETED, SEQUENTIAL)
"""Protocols that determine the correctness of every prediction, so an accuracy is a binomial share."""
_RARE = 1e-4
"""Numbers of right predictions with a smaller probability are ignored."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedPopulation:
    """A population of N items with known truth.

    Attributes
    ----------
    K
        Number of options of every item.
    truth
        Shape (N,): true options.
    predicted
        Shape (N, M): options predicted by M models.
    """

    K: int
    truth: IntArray
    predicted: IntArray

    def take(self, items: IntArray) -> SimulatedPopulation:
        """Select the items at these positions; an item may occur several times."""
        return SimulatedPopulation(K=self.K, truth=self.truth[items], predicted=self.predicted[items])

    def ask(self, propensities: FloatArray, rng: np.random.Generator) -> RoutedSample:
        """Draw one question per item with propensities of shape (N, K), and answer it without error."""
        option = draw_options(propensities, rng)
        rows = np.flatnonzero(option >= 0)
        right = (option[rows] == self.truth[rows]).astype(np.float64)
        return RoutedSample(rows, option[rows], right, propensities)

    @property
    def number(self) -> IntArray:
        """Number of options of every item, shape (N,)."""
        return np.full(len(self.truth), self.K)

    @property
    def flat(self) -> FloatArray:
        """Uniform propensities, shape (N, K)."""
        return flat_posterior(self.number, self.K)

    @property
    def correct(self) -> IntArray:
        """Correctness of every prediction, shape (N, M): 1 if right, 0 if wrong."""
        right: IntArray = (self.predicted == self.truth[:, None]).astype(np.int64)
        return right


@lru_cache(maxsize=32)
def stand_in(K: int, accuracies: tuple[float, ...]) -> SimulatedPopulation:
    """Simulate models with exactly the given accuracies on 20,000 items; every call gives the same result."""
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
    """Simulate studies; return half-widths of intervals of the first model's accuracy, shape (studies,)."""
    return np.array(
        [_half_width(protocol, study, rng, level) for study, rng in _sample(population, items, studies)]
    )


def rehearse_tests(
    protocol: str, population: SimulatedPopulation, items: int, studies: int
) -> tuple[float, float]:
    """Simulate tests of the first model against the second; return the mean and standard deviation of z.

    z is the normal quantile of a two-sided p-value, with the sign of the difference. z is almost linear in
    the estimated difference, whose expectation is known: the population's difference. So the difference
    serves as a control variate, which reduces the simulation error of the mean.
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
    """Return the mean half-width of the exact binomial interval, and its quantile at probability `share`.

    Mean and quantile refer to studies of n items with an expected accuracy of `accuracy`.
    """
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
    """Return the mean number of questions that a protocol asks per item of the population."""
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
    """Simulated half-widths of one protocol, relative to the formula's half-width.

    Attributes
    ----------
    scale
        z √v: the formula's half-width times √n.
    mean, high
        Ratio of a simulated half-width to the formula's half-width: its mean over studies, and the value that
        a share `REACHED` of studies does not exceed.
    asked
        Number of questions per simulated study.
    """

    scale: float
    mean: float
    high: float
    asked: float

    def expect(self, questions: float) -> float:
        """Return the mean half-width with this number of questions."""
        return self.scale * self.mean / math.sqrt(questions)

    def reach(self, questions: float) -> float:
        """Return the half-width that at least a share `REACHED` of studies does not exceed."""
        more = (self.high - self.mean) * math.sqrt(self.asked / questions)
        return self.scale * (self.mean + more) / math.sqrt(questions)

    def questions_for(self, half_width: float) -> int:
        """Return the number of questions n at which `reach` equals `half_width`.

        It is found from a quadratic equation in 1/√n.
        """
        b, c = self.mean, half_width / self.scale
        a = max(0.0, self.high - self.mean) * math.sqrt(self.asked)
        return math.ceil(((b + math.sqrt(b * b + 4 * a * c)) / (2 * c)) ** 2 - 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedProtocol:
    """A protocol whose studies are simulated.

    Attributes
    ----------
    name
        Name of the protocol.
    variance
        Variance per question, v.
    free
        Variance per question if experts never err, as in the simulation.
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
        """Return the number of questions for `half_width`, and the simulated half-widths at this number.

        If `questions` is given, the result is that number and the half-widths simulated for it.
        """
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
        """Simulate studies in which experts never err, and return their half-widths.

        A simulated study is as informative as `questions` questions to experts who err, except that it has at
        most 2,000 items.
        """
        each, errors = questions_per_item(self.name, population, accuracy), self.variance / self.free
        items = math.floor(min(_MANY, max(_FEW, questions / errors / each)) + 1e-9)
        z, asked = z_value(level), items * each
        formula = z * math.sqrt(self.free / asked)
        if self.name in SHARES:
            mean, high = share_widths(items, accuracy, level, REACHED)
        else:
            seen = rehearse_widths(self.name, population, items, _WIDTHS, level=level)
            mean, careful = float(seen.mean()), REACHED + math.sqrt(REACHED * (1 - REACHED) / _WIDTHS)
            # the empirical quantile alone is noisy, and the normal quantile is too low for skewed half-widths
            normal = mean + float(ndtri(careful)) * float(seen.std(ddof=1))
            high = max(normal, float(np.quantile(seen, careful)))
        return WidthPromise(
            scale=z * math.sqrt(self.variance),
            mean=mean / formula,
            high=high / formula,
            asked=asked * errors,
        )

    def plan_test(self, K: int, accuracy: float, aim: PlannedTest, difference: float) -> int:
        """Return the number of questions that detect `difference` with the planned power."""
        questions = self.free * (aim.distance / difference) ** 2
        for _ in range(_ROUNDS):
            before = questions
            questions *= self._stretch(K, accuracy, aim, difference, questions) ** 2
            if questions > _MANY or abs(questions / before - 1) < 0.1:
                break
        return math.ceil(questions * self.variance / self.free)

    def plan_difference(self, K: int, accuracy: float, aim: PlannedTest, questions: int) -> float:
        """Return the smallest difference (at most 1) that this number of questions detects as planned."""
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
        """Return the factor by which to multiply the difference, or √questions, to reach the planned power.

        The power is that of simulated tests.

        At most `_MOST_TESTED` items are simulated per study. If more are planned, a larger difference of the
        same standardised size is simulated.
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
    """Simulate two models, the better one first.

    One model has the accuracy `accuracy`. The accuracy of the other model is nearer to ½ by `difference`.
    """
    better = accuracy if accuracy >= 0.5 else accuracy + difference
    return stand_in(K, (round(better, 5), round(better - difference, 5)))


@lru_cache(maxsize=256)
def log_spread(name: str, K: int, accuracy: float, models: int, items: int, level: float) -> float:
    """Return log(h / m) for the mean half-width m and the half-width h that 80 % of studies do not exceed."""
    seen = RehearsedProtocol(name=name, variance=1.0, free=1.0)
    kept = seen.rehearse(stand_in(K, (accuracy,) * models), accuracy, level, items)
    return math.log(kept.high / kept.mean)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTest:
    """Confidence level of the interval of a difference, and power of its test, both in (0, 1)."""

    level: float
    power: float

    @property
    def distance(self) -> float:
        """Distance from 0, in standard errors, of a difference that the test detects with the planned power.

        It is z_{(1 + level)/2} + z_power.
        """
        return z_value(self.level) + float(ndtri(self.power))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QuestionPlan(Displayable):
    """Number of questions and precision for each protocol.

    Attributes
    ----------
    accuracy, difference
        Plans for the accuracy of a model, and for the difference of two models. In a plan for a difference,
        `half_width` is the difference that is detected.
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
        """Name the protocol that needs the fewest questions for an accuracy, and the one for a difference."""
        lines = []
        for title, plans in (("accuracy", self.accuracy), ("difference of 2 models", self.difference)):
            best = min(plans, key=lambda plan: (plan.questions, plan.half_width))
            lines.append(
                f"{title}, best of {len(plans)} protocols: {best.protocol}, {best.questions:,} questions, "
                f"±{100 * best.half_width:.1f} points"
            )
        return "\n".join(lines)

    def records(self) -> list[dict[str, Any]]:
        """Return one row per protocol and quantity (accuracy, difference)."""
        both = {"accuracy": self.accuracy, "difference": self.difference}
        return [{"of": name} | asdict(plan) for name, plans in both.items() for plan in plans]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the HTML for a notebook."""
        tables = (
            (f"Accuracy, {level_text(self.level)}", "half-width in 80 %", self.accuracy),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDesign:
    """Clusters of a planned study.

    Attributes
    ----------
    size, intraclass
        Number M of items per cluster, at least 1, and their intraclass correlation R in [0, 1].
    level
        Confidence level of intervals.

    Examples
    --------
    >>> alone, ten = (ClusterDesign(size=size, intraclass=0.3, level=0.95) for size in (1, 10))
    >>> alone.count_questions(100, "reach"), ten.count_questions(100, "reach")
    (100, 459)
    """

    size: float
    intraclass: float
    level: float

    @property
    def effect(self) -> float:
        """Number of clustered items that count as one independent item: 1 + (M − 1)R."""
        return 1 + (self.size - 1) * self.intraclass

    def __post_init__(self) -> None:
        check_least("cluster_size", self.size, 1)
        check_unit("intraclass", self.intraclass)

    def widen(self, questions: float, how: str) -> float:
        """Return the factor by which a half-width grows because the clusters' variance is estimated.

        `how` is ``"reach"`` for the half-width that a share `REACHED` of studies does not exceed, and
        ``"expect"`` for the mean half-width.
        """
        if self.size == 1:
            return 1.0
        df = questions / self.size - 1
        student = float(stdtrit(df, (1 + self.level) / 2)) / z_value(self.level)
        return student * math.sqrt(float(chdtri(df, 1 - REACHED)) / df) if how == "reach" else student

    def count_independent(self, questions: int) -> int:
        """Return how many independent items are as informative as `questions` clustered ones, at least 1.

        Raises
        ------
        EstimateError
            If the questions are in fewer than `FEWEST_EFFECTIVE` clusters.
        """
        if self.size > 1 and questions < FEWEST_EFFECTIVE * self.size:
            raise EstimateError(
                f"{questions} questions in clusters of {self.size:g} are {questions / self.size:.1f} "
                f"clusters, but an interval needs at least {FEWEST_EFFECTIVE:g}"
            )
        return max(1, round(questions / self.effect))

    def count_questions(self, independent: float, how: str) -> int:
        """Return how many clustered questions give the half-width of `independent` unclustered questions.

        An interval needs at least `FEWEST_EFFECTIVE` clusters, so the result is at least the number of
        questions in that many clusters.
        """
        least = max(independent * self.effect, FEWEST_EFFECTIVE * self.size * (self.size > 1))
        most = least * self.widen(least, how) ** 2
        found = find_edge(lambda n: n >= least * self.widen(n, how) ** 2, most, least)
        return math.ceil(found - 1e-9)


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
    """Compute, by protocol, the number of questions for `half_width`, or the half-width for `questions`.

    Parameters
    ----------
    options, accuracy
        Number of options of an item, and assumed accuracy of the models, in (0, 1).
    models
        Number of models measured with the same questions.
    half_width, questions
        Give one of the two: the half-width that at least 80 % of studies must not exceed (default 0.03, that
        is 3 points), or the affordable number of questions.
    level, power
        Confidence level of intervals; and power of the test for a difference of `half_width` between a model
        of this accuracy and one with an accuracy nearer to ½.
    sensitivity, specificity
        Experts' P(yes | the option is true) and P(no | the option is false), as if known exactly. If gold
        items estimate them, intervals are wider than planned.
    cluster_size, intraclass
        Number M of items per cluster, and their intraclass correlation R (see the module).

    Notes
    -----
    Studies are simulated on a population (`synthesise_population`) whose experts never err and whose items
    are independent. Experts' errors and clusters enter only as factors on variances and half-widths.

    Raises
    ------
    EstimateError
        If an argument is out of range, `questions` are in fewer than 4 clusters, or `sensitivity` +
        `specificity` ≤ 1, because the answers then carry no information.

    Examples
    --------
    >>> prices = plan(2, 0.8, questions=200)
    >>> {row.protocol: round(row.half_width, 3) for row in prices.accuracy}
    {'uniform, complementary only': 0.088, 'uniform': 0.06, 'targeted': 0.059}
    """
    check_level(level)
    if not (is_number(power) and 0 < power < 1):
        raise EstimateError(f"power must lie in (0, 1), is {power!r}")
    check_sought(half_width, questions)
    check_count("options", options)
    aim = PlannedTest(level=level, power=power)
    clusters = ClusterDesign(size=cluster_size, intraclass=intraclass, level=level)
    rates = {"sensitivity": sensitivity, "specificity": specificity}
    single = accuracy_variances(options, accuracy, models=models, **rates)
    pair = difference_variances(options, accuracy, **rates)
    free = accuracy_variances(options, accuracy, models=models) | difference_variances(options, accuracy)
    asked = None if questions is None else clusters.count_independent(questions)
    width = 0.03 if half_width is None else half_width
    accurate, different = list[SamplePlan](), list[SamplePlan]()
    population = stand_in(options, (accuracy,) * models)
    for name, variance in (single | pair).items():
        protocol = RehearsedProtocol(name=name, variance=variance, free=free[name])
        expected = None
        if name in pair:
            needed = asked or protocol.plan_test(options, accuracy, aim, width)
            off = width if asked is None else protocol.plan_difference(options, accuracy, aim, asked)
            how = "expect"
        else:
            needed, kept = protocol.promise_width(
                population, accuracy, level, half_width=width, questions=asked
            )
            off = width if asked is None else kept.reach(needed)
            how = "reach"
        spent = questions or clusters.count_questions(needed, how)
        if asked is not None:
            off = min(1.0, off * clusters.widen(spent, how))
        if how == "reach":
            expected = min(off, kept.expect(spent / clusters.effect) * clusters.widen(spent, "expect"))
        row = SamplePlan(
            protocol=name,
            variance=variance,
            questions=spent,
            half_width=off,
            saving=1.0,
            half_width_expected=expected,
        )
        (different if name in pair else accurate).append(row)
    accuracies = _compare_prices(accurate, UNIFORM, by_width=asked is not None)
    differences = _compare_prices(different, SIGN_TEST, by_width=asked is not None)
    return QuestionPlan(accuracy=accuracies, difference=differences, level=level)


def _compare_prices(plans: Sequence[SamplePlan], reference: str, *, by_width: bool) -> tuple[SamplePlan, ...]:
    """Set every plan's `saving`, relative to the plan of protocol `reference`.

    The saving is the reference's number of questions divided by the plan's. If `by_width`, it is the ratio of
    their squared half-widths instead.
    """
    (base,) = (plan for plan in plans if plan.protocol == reference)
    return tuple(
        replace(
            plan,
            saving=(base.half_width / plan.half_width) ** 2 if by_width else base.questions / plan.questions,
        )
        for plan in plans
    )
