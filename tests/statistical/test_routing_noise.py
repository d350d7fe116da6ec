"""Fallible experts: coverage of corrected estimates, and the collapse of uncorrected ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from oversight.harness import FloatArray, NotIdentified
from oversight.harness.estimate import GoldCounts, RoutedSample, accuracy_target, synthesise_population
from oversight.harness.estimate.expert_errors import ErrorRanges, bounded_accuracy, corrected_accuracy

pytestmark = [pytest.mark.statistical, pytest.mark.slow]


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


def test_two_experts_per_question_cover_without_gold() -> None:
    rng = np.random.default_rng(6)
    K, A, s, t, studies, n = 4, 0.8, 0.9, 0.95, 60, 600
    covered = []
    for _ in range(studies):
        truth, predicted = synthesise_population(n, K, [A], rng)
        k = np.where(np.arange(n) % 2, predicted[:, 0], (predicted[:, 0] + rng.integers(1, K, size=n)) % K)
        first, second = say(k == truth, s, t, rng), say(k == truth, s, t, rng).astype(np.int64)
        data = RoutedSample(np.arange(n), k, first, np.full((n, K), 1 / K), error_free=False)
        try:
            estimate = bounded_accuracy(predicted[:, 0], data, second, ErrorRanges())
        except NotIdentified:  # a check of the experts can fail by chance
            continue
        covered.append(estimate.low <= A <= estimate.high)
    assert len(covered) > 0.9 * studies
    assert float(np.mean(covered)) > 0.95 - 2.6 * np.sqrt(0.95 * 0.05 / studies)
