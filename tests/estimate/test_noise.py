"""Fallible experts: corrections by gold, and counts of gold that are refused."""

from __future__ import annotations

import numpy as np
import pytest

from oversight.harness import EstimateError, NotIdentified
from oversight.harness.estimate import GoldCounts, RoutedSample, accuracy_target, clopper_pearson
from oversight.harness.estimate.expert_errors import corrected_accuracy, corrected_answers, youden

GOLD = GoldCounts(yes_on_true=90, n_true=100, no_on_false=190, n_false=200)


def targeted(yes: int, n: int) -> RoutedSample:
    predicted = np.zeros(n, dtype=np.int64)
    answer = (np.arange(n) < yes).astype(float)
    return RoutedSample(np.arange(n), predicted, answer, accuracy_target(predicted, 4), error_free=False)


def test_targeted_correction_is_the_closed_form() -> None:
    estimate = corrected_accuracy(np.zeros(400, dtype=np.int64), targeted(300, 400), GOLD)
    assert estimate.value == pytest.approx((0.75 + 0.95 - 1) / 0.85)
    s, t, n, n_s, n_t = 0.9, 0.95, 400, 100, 200
    A = estimate.value
    variance = (0.75 * 0.25 / n + A**2 * s * (1 - s) / n_s + (1 - A) ** 2 * t * (1 - t) / n_t) / 0.85**2
    assert estimate.se == pytest.approx(np.sqrt(variance), rel=0.05)


def test_error_free_gold_leaves_the_value_but_not_the_certainty() -> None:
    perfect = GoldCounts(5, 5, 5, 5)
    predicted = np.zeros(50, dtype=np.int64)
    estimate = corrected_accuracy(predicted, targeted(40, 50), perfect)
    assert estimate.value == pytest.approx(0.8)
    low, high = clopper_pearson(40, 50)
    assert estimate.high - estimate.low > high - low


def test_corrected_answers_have_the_right_mean() -> None:
    yes, no = corrected_answers([1, 0], 0.9, 0.8)
    assert 0.9 * yes + 0.1 * no == pytest.approx(1)
    assert 0.2 * yes + 0.8 * no == pytest.approx(0)
    with pytest.raises(NotIdentified, match="exceed 1"):
        youden(0.5, 0.5)
    with pytest.raises(EstimateError, match=r"lie in \[0, 1\]"):
        youden(1.2, 0.5)


def test_gold_counts_are_checked_and_have_exact_intervals() -> None:
    for rate, (low, high) in (
        (GOLD.sensitivity, clopper_pearson(GOLD.yes_on_true, GOLD.n_true)),
        (GOLD.specificity, clopper_pearson(GOLD.no_on_false, GOLD.n_false)),
    ):
        assert low < rate < high
    with pytest.raises(EstimateError, match="n_true must be at least 1"):
        GoldCounts(0, 0, 1, 1)
    with pytest.raises(EstimateError, match="no_on_false"):
        GoldCounts(1, 1, 3, 2)
