"""Fallible experts: corrections, what is immune to which error, refusal where data cannot tell."""

from __future__ import annotations

import numpy as np
import pytest

from oversight.harness import EstimateError, NotIdentified
from oversight.harness.estimate import (
    GoldCounts,
    RoutedSample,
    accuracy_target,
    clopper_pearson,
    corrected_accuracy,
    hui_walter_accuracy,
    immune_accuracy,
)
from oversight.harness.estimate.estimators.hui_walter import cell_jacobian, cell_probabilities, hui_walter_fit
from oversight.harness.estimate.routed.annotator_error import corrected_answers, youden

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


@pytest.mark.parametrize(("s", "t"), [(0.7, 1.0), (0.4, 1.0)])
def test_missed_yes_leaves_the_share_of_hits_among_yes_alone(s: float, t: float) -> None:
    A, K, n = 0.8, 5, 10**6
    hit = n // K
    yes_hits, yes_misses = round(hit * A * s), round((n - hit) * (1 - A) / (K - 1) * s)
    estimate = immune_accuracy(yes_hits, yes_hits + yes_misses, 0, 0, K, immune_to="missed")
    assert estimate.value == pytest.approx(A, abs=1e-4)


def test_false_yes_leaves_the_share_of_hits_among_no_alone() -> None:
    A, K, n, t = 0.8, 5, 10**6, 0.7
    hit = n // K
    no_hits, no_misses = round(hit * (1 - A) * t), round((n - hit) * (1 - (1 - A) / (K - 1)) * t)
    estimate = immune_accuracy(0, 0, no_hits, no_hits + no_misses, K, immune_to="false_yes")
    assert estimate.value == pytest.approx(A, abs=1e-4)
    assert estimate.low < A < estimate.high


def test_uniform_data_alone_are_refused() -> None:
    with pytest.raises(NotIdentified, match="two numbers for the three unknowns"):
        immune_accuracy(10, 20, 3, 60, 4, immune_to="neither")
    with pytest.raises(EstimateError, match=r"yes_hits must be at most yes = 20, is 21"):
        immune_accuracy(21, 20, 3, 60, 4, immune_to="missed")


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


def test_cells_are_distributions_and_the_jacobian_is_their_slope() -> None:
    x = (0.7, 0.9, 0.95)
    assert cell_probabilities(*x, 5).sum(axis=1) == pytest.approx([1, 1])
    for j in range(3):
        up = [value + 1e-6 * (i == j) for i, value in enumerate(x)]
        down = [value - 1e-6 * (i == j) for i, value in enumerate(x)]
        slope = (
            cell_probabilities(up[0], up[1], up[2], 5) - cell_probabilities(down[0], down[1], down[2], 5)
        ) / 2e-6
        assert cell_jacobian(*x, 5)[j] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("truth", [(0.8, 0.9, 0.95), (0.6, 0.85, 0.99), (0.95, 0.97, 0.9)])
def test_two_experts_recover_all_three_unknowns(truth: tuple[float, float, float]) -> None:
    cells = np.round(cell_probabilities(*truth, 5) * 10**6).astype(int).tolist()
    assert hui_walter_fit(cells[0], cells[1], 5) == pytest.approx(truth, abs=1e-3)
    estimate = hui_walter_accuracy(cells[0], cells[1], 5)
    assert estimate.low < truth[0] < estimate.high


def test_one_population_is_refused() -> None:
    with pytest.raises(NotIdentified, match="no misses"):
        hui_walter_accuracy([50, 10, 40], [0, 0, 0], 5)
    with pytest.raises(NotIdentified, match="do not depend on the truth"):
        hui_walter_accuracy([250, 500, 250], [1000, 2000, 1000], 5)
    with pytest.raises(EstimateError, match=r"hits\[0\]"):
        hui_walter_accuracy([-1, 1, 1], [1, 1, 1], 5)
    with pytest.raises(EstimateError, match="3 counts"):
        hui_walter_accuracy([1, 1], [1, 1, 1], 5)
    with pytest.raises(EstimateError, match="K must be"):
        hui_walter_accuracy([1, 1, 1], [1, 1, 1], 1)
