"""Fallible experts: coverage of corrected estimates, and the collapse of uncorrected ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from oversight.harness import FloatArray
from oversight.harness.estimate import (
    GoldCounts,
    RoutedSample,
    accuracy_target,
    corrected_accuracy,
    hui_walter_accuracy,
    immune_accuracy,
    synthesise_population,
)

pytestmark = pytest.mark.statistical


def say(true: NDArray[np.bool_], s: float, t: float, rng: np.random.Generator) -> FloatArray:
    """Answers of experts with sensitivity s and specificity t."""
    answers: FloatArray = (rng.random(true.shape) < np.where(true, s, 1 - t)).astype(float)
    return answers


@pytest.mark.parametrize(
    ("K", "A", "s", "t"), [(4, 0.8, 0.9, 0.95), (10, 0.9, 0.95, 0.98), (5, 0.5, 0.8, 0.9)]
)
@pytest.mark.parametrize("routing", ["targeted", "uniform"])
def test_gold_corrected_intervals_cover(routing: str, K: int, A: float, s: float, t: float) -> None:
    rng = np.random.default_rng([K, int(100 * s)])
    studies, n, gold = 400, 400, 150
    covered, values = [], []
    for _ in range(studies):
        truth, predicted = synthesise_population(n, K, [A], rng)
        targeted = routing == "targeted"
        k = predicted[:, 0] if targeted else rng.integers(K, size=n)
        pi = accuracy_target(k, K) if targeted else np.full((n, K), 1 / K)
        data = RoutedSample(np.arange(n), k, say(k == truth, s, t, rng), pi, error_free=False)
        known = GoldCounts(int(rng.binomial(gold, s)), gold, int(rng.binomial(gold, t)), gold)
        estimate = corrected_accuracy(predicted[:, 0], data, known)
        covered.append(estimate.low <= A <= estimate.high)
        values.append(estimate.value)
    assert 0.925 <= float(np.mean(covered)) <= 0.985
    assert abs(float(np.mean(values)) - A) < 0.012 + 4 * float(np.std(values)) / np.sqrt(studies)


@pytest.mark.parametrize(("immune_to", "s", "t"), [("missed", 0.7, 1.0), ("false_yes", 1.0, 0.8)])
def test_immune_estimates_cover_and_the_other_collapses(immune_to: str, s: float, t: float) -> None:
    rng = np.random.default_rng(5)
    K, A, n, studies = 5, 0.8, 600, 400
    covered, other = [], []
    for _ in range(studies):
        truth, predicted = synthesise_population(n, K, [A], rng)
        k = rng.integers(K, size=n)
        yes, hit = say(k == truth, s, t, rng) == 1, k == predicted[:, 0]
        counts = (int((yes & hit).sum()), int(yes.sum()), int((~yes & hit).sum()), int((~yes).sum()))
        estimate = immune_accuracy(*counts, K, immune_to=immune_to)
        covered.append(estimate.low <= A <= estimate.high)
        wrong = "false_yes" if immune_to == "missed" else "missed"
        other.append(immune_accuracy(*counts, K, immune_to=wrong).value)
    assert float(np.mean(covered)) >= 0.94
    assert abs(float(np.mean(other)) - A) > 0.05


@pytest.mark.parametrize(("A", "s", "t"), [(0.8, 0.9, 0.95), (0.6, 0.85, 0.97)])
def test_two_experts_per_question_cover_without_gold(A: float, s: float, t: float) -> None:
    rng = np.random.default_rng(6)
    K, studies = 4, 300
    covered = []
    for _ in range(studies):
        cells = []
        for size, prevalence in ((300, A), (300, (1 - A) / (K - 1))):
            true = rng.random(size) < prevalence
            yes = say(true, s, t, rng) + say(true, s, t, rng)
            cells.append([int((yes == count).sum()) for count in (2, 1, 0)])
        estimate = hui_walter_accuracy(cells[0], cells[1], K)
        covered.append(estimate.low <= A <= estimate.high)
    assert 0.92 <= float(np.mean(covered)) <= 0.985
