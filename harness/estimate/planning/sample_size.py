"""Number of questions for an interval's width, by protocol; and what a cheaper protocol saves.

Every protocol has a variance per question v, so that n questions give a half-width z√(v/n), detect
a difference (z_{1−α/2} + z_power)√(v/n), and need n = v (z/h)². Experts may err at known rates s, t
(J = s + t − 1): α = A s + (1−A)(1−t) and β = (1−t) + (1−A)J/(K−1) as in
`oversight.harness.estimate.routed.annotator_error`.

For several models the agreement between them matters. Before there are predictions it is that of a stand-in
population. Models are right together and wrong together: model m is right where √r·u + √(1−r)·e_m falls below
its quantile, u a difficulty all share, so any two have tetrachoric correlation r; wrong models fall
for the item's one tempting wrong option with probability d each, else err uniformly. Defaults are
those of 20 language models on ten-option MMLU-Pro (12,032 questions, TIGER-AI-Lab's published
per-item results): median r .59 (tenth to ninetieth percentile .48–.65), and two wrong models name
the same wrong option 35 % of the time, which d = .5 gives. A stand-in never enters an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import check_least, check_level, check_options, z_value
from oversight.harness.estimate.routed import (
    accuracy_target,
    difference_target,
    disagreement,
    flat_posterior,
    optimal_constant,
    questions_asked,
    shared_propensities,
    vote_posterior,
    youden,
)
from oversight.harness.registry import name_protocol

CORRELATION = 0.59
TEMPTATION = 0.5


def check_accuracy(A: float, K: int) -> None:
    """Require K ≥ 2 and an accuracy in (0, 1), where every variance formula is finite."""
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
    """One protocol's price.

    Attributes
    ----------
    protocol
        What is asked, in words.
    variance
        v, the variance per question.
    questions
        Questions to put to experts.
    half_width
        Half-width that at least 80 % of such studies do not exceed. For a comparison, the difference that is
        detected.
    saving
        Questions the reference protocol needs, divided by this protocol's.
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
    """The expert of the predicted option: v = α(1 − α)/J²; error-free A(1 − A), which none beats."""
    alpha = A * s + (1 - A) * (1 - t)
    return alpha * (1 - alpha) / youden(s, t) ** 2


def check_sought(half_width: float | None, questions: int | None) -> None:
    """Refuse both a half-width and a number of questions, and values out of range."""
    if half_width is not None and questions is not None:
        raise EstimateError(f"give half_width ({half_width}) or questions ({questions}), not both")
    if half_width is not None and not 0 < half_width < 1:
        raise EstimateError(f"half_width must lie in (0, 1), is {half_width}")
    if questions is not None:
        check_least("questions", questions, 1)


def power_factor(level: float, power: float) -> float:
    """(z_{1−α/2} + z_power)/z_{1−α/2}: how much larger than the half-width a detectable difference is."""
    check_level(level)
    if not 0 < power < 1:
        raise EstimateError(f"power must lie in (0, 1), is {power}")
    return 1 + float(ndtri(power)) / z_value(level)


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
    """Variance per question of the difference of two models of about accuracy A, by protocol.

    Agreeing items are free in the disagreement protocols: with a share w of disagreements, N = n/w
    items stand behind n questions. "Targeted" asks about one of the two predicted options, by a
    coin, with the votes as posterior; "sequential" asks until both models' correctness is known.
    """
    s, t = sensitivity, specificity
    truth, predicted = _population(K, A, 2)
    flat = flat_posterior(np.full(len(truth), K), K)
    differ = disagreement(predicted)
    c = difference_target(predicted[:, 0], predicted[:, 1], K)
    w = float(differ.mean())
    refutable = (predicted != truth[:, None]) & differ[:, None]
    # One label refutes either model with probability 1/(K − 1) each where it errs and they differ.
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
"""What bets that are spread over two decades lose to the best one, in logs."""


def outcomes_to_settle(
    mean: float, square: float, *, level: float = 0.95, power: float = 0.8, looks: bool = True
) -> float:
    """Number of outcomes after which such a mean is on its side of the bar with this power; inf if on it.

    With outcomes x_i of mean b + m, m ≠ 0, and second moment q around the bar b, the best bet λ = m/q lets
    the log of the wealth of `oversight.harness.estimate.gate` grow by m²/(2q) an outcome, with standard
    deviation |m|/√q. It must reach log(1/α) + c, c what the mixture over bets costs. With power β

        √n |m|/√q = z_β + √(z_β² + 2 (log(1/α) + c)),

    and with an interval of fixed size z_{(1 + level)/2} + z_β. Where b + m is but an estimate, the forecast
    is as uncertain as the estimate is, most of all near the bar.

    Parameters
    ----------
    mean, square
        Of the outcomes minus the bar.
    looks
        Whether at bets that may be looked at any time; else at one interval of fixed size.
    """
    check_level(level)
    if mean == 0 or not square > 0:
        return math.inf
    z = float(ndtri(power))
    need = z + (math.sqrt(z * z + 2 * (_MIXTURE - math.log1p(-level))) if looks else z_value(level))
    return need**2 * square / mean**2
