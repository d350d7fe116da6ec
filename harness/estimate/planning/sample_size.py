"""Number of questions for an interval's width, by protocol; and what a cheaper protocol saves.

Every protocol has a variance per question v, so that n questions give a half-width z√(v/n), detect
a difference (z_{1−α/2} + z_power)√(v/n), and need n = v (z/h)². Experts may err at known rates s, t
(J = s + t − 1): α = A s + (1−A)(1−t) and β = (1−t) + (1−A)J/(K−1) as in
`oversight.harness.estimate.routed.annotator_error`. For several models the agreement between them matters; it
is taken from `oversight.harness.estimate.planning.synthetic_population` until there are predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from oversight.harness.arrays import IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import check_level, z_value
from oversight.harness.estimate.planning.rehearsed_studies import SIGN_TEST
from oversight.harness.estimate.planning.synthetic_population import (
    check_accuracy,
    population_variance,
    synthesise_population,
)
from oversight.harness.estimate.routed import (
    accuracy_target,
    difference_target,
    disagreement,
    flat_posterior,
    questions_asked,
    shared_propensities,
    vote_posterior,
    youden,
)
from oversight.harness.registry import name_protocol

_POPULATION = 20_000


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

    Error-free: (1 − A)(A + K − 2)·K/(K − 1), Eq. 3 of "Scalable Oversight via Partitioned Human
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
        "uniform, complementary only": complementary_design_variance(K, A, s, t),
        "uniform": uniform_design_variance(K, A, s, t),
    }
    if models < 1:
        raise EstimateError(f"models must be at least 1, is {models}")
    if models == 1:
        return variances | {name_protocol("Targeted"): targeted_design_variance(A, s, t)}
    truth, predicted = _population(K, A, models)
    votes = vote_posterior(predicted, K, K, accuracy=np.full(models, max(A, 1 / K + 0.01)))
    pi = shared_propensities(predicted, K, K, posterior=votes)
    targets = (accuracy_target(column, K) for column in predicted.T)
    each = [population_variance(c, pi, votes, truth, (s, t)) for c in targets]
    variances["shared"] = float(np.mean(each))
    if s == t == 1:
        cost = questions_asked(predicted, votes, truth).mean()
        variances[name_protocol("Sequential")] = A * (1 - A) * float(cost)
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
    variances["uniform, paired"] = population_variance(c, flat, votes, truth, (s, t))
    uniform = flat * differ[:, None]
    variances["disagreements, uniform"] = w * population_variance(c, uniform, votes, truth, (s, t))
    variances["disagreements, targeted"] = w * population_variance(c, np.abs(c) / 2, votes, truth, (s, t))
    if s == t == 1:
        cost = questions_asked(predicted, votes, truth)[differ].mean()
        right = predicted == truth[:, None]
        variances["disagreements, sequential"] = w * float(cost) * float((right[:, 0] != right[:, 1]).mean())
    return variances


@lru_cache(maxsize=16)
def _population(K: int, A: float, models: int) -> tuple[IntArray, IntArray]:
    return synthesise_population(_POPULATION, K, [A] * models, np.random.default_rng(0))
