"""Size, power and coverage of comparisons by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from oversight.harness import FloatArray
from oversight.harness.estimate import Comparison, RoutedSample, disagreement, synthesise_population
from oversight.harness.estimate.paired import TIED, mcnemar, paired_difference, sign_test
from oversight.harness.estimate.routed_sample import difference_target
from tests.estimate.test_ranking import rank

pytestmark = pytest.mark.statistical
K, QUESTIONS = 4, 300


def one_study(method: str, accuracy: list[float], rng: np.random.Generator) -> Comparison:
    """A study of about 300 questions; disagreement protocols screen as many items as that takes."""
    n = QUESTIONS if method in {"sign", "paired"} else 1000
    truth, predicted = synthesise_population(n, K, accuracy, rng)
    a, b = predicted.T
    if method == "sign":
        k = rng.integers(K, size=n)
        no = k != truth
        return sign_test(a[no], b[no], k[no], K)
    if method == "mcnemar":
        return mcnemar(a == truth, b == truth, questions=0)
    pi: FloatArray = np.full((n, K), 1 / K)
    if method == "targeted":
        pi = np.abs(difference_target(a, b, K)) / 2
    rows = np.flatnonzero(pi.sum(axis=1))
    k = np.where(rng.random(n) < 0.5, a, b) if method == "targeted" else rng.integers(K, size=n)
    data = RoutedSample(rows, k[rows], (k == truth)[rows].astype(float), pi)
    return paired_difference(a, b, data)


@pytest.mark.parametrize("method", ["sign", "paired", "targeted", "mcnemar"])
def test_size_is_at_most_nominal_when_there_is_no_difference(method: str) -> None:
    rng = np.random.default_rng(1)
    studies = 500
    found = [one_study(method, [0.8, 0.8], rng) for _ in range(studies)]
    # Two standard errors of a 5 % share over 500 studies are two points.
    assert np.mean([c.verdict != TIED for c in found]) <= 0.07
    assert np.mean([c.low <= 0 <= c.high for c in found]) >= 0.925


@pytest.mark.parametrize(
    ("method", "least", "most"),
    [("sign", 0.12, 0.42), ("paired", 0.5, 0.85), ("targeted", 0.97, 1), ("mcnemar", 0.97, 1)],
)
def test_power_for_ten_points_grows_with_the_protocol(method: str, least: float, most: float) -> None:
    # Power for .85 against .75 with 300 questions: .26 (sign test), .69 (paired), 1.00 (disagreements only).
    rng = np.random.default_rng(2)
    studies = 250
    found = [one_study(method, [0.85, 0.75], rng) for _ in range(studies)]
    power = np.mean([c.verdict == "a" for c in found])
    assert least <= power <= most
    assert np.mean([c.low <= 0.1 <= c.high for c in found]) >= 0.91
    bias = np.mean([c.difference for c in found]) - 0.1
    assert abs(bias) < 4 * np.std([c.difference for c in found]) / np.sqrt(studies)


def test_disagreements_are_about_what_the_questions_pay_for() -> None:
    _, predicted = synthesise_population(20_000, K, [0.8, 0.75], np.random.default_rng(3))
    assert 0.26 <= disagreement(predicted).mean() <= 0.32


def test_ranking_keeps_the_familywise_error() -> None:
    rng = np.random.default_rng(4)
    names, studies = list("abcdef"), 300
    wrong, unadjusted = 0, 0
    for _ in range(studies):
        truth, predicted = synthesise_population(400, K, [0.7] * 6, rng)
        z = (predicted == truth[:, None]).astype(float)
        ranking = rank(z, names)
        wrong += any(c.verdict != TIED for c in ranking.comparisons)
        half = [(c.high - c.low) / 2 / ranking.critical for c in ranking.comparisons]
        pairs = zip(ranking.comparisons, half, strict=True)
        unadjusted += any(abs(c.difference) > 1.96 * h for c, h in pairs)
    assert wrong / studies <= 0.08
    assert unadjusted / studies >= 0.25
