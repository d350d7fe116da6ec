"""Accuracy where experts err and no gold tells how often: second experts, and ranges of the rates."""

from __future__ import annotations

import numpy as np
import pytest

from oversight.harness import EstimateError, IntArray, NotIdentified
from oversight.harness.estimate import RoutedSample
from oversight.harness.estimate.expert_errors import ErrorRanges, bounded_accuracy

K = 4


def collect(
    doubles: dict[tuple[bool, int, int], int], singles: dict[tuple[bool, int], int]
) -> tuple[IntArray, RoutedSample, IntArray]:
    """Predictions and answers with these counts of (about the prediction, first said, second said)."""
    rows = [(hit, a, b) for (hit, a, b), n in doubles.items() for _ in range(n)]
    rows += [(hit, a, -1) for (hit, a), n in singles.items() for _ in range(n)]
    n = len(rows)
    data = RoutedSample(
        item=np.arange(n),
        asked=np.array([0 if hit else 1 for hit, _, _ in rows]),
        answer=np.array([float(a) for _, a, _ in rows]),
        propensities=np.full((n, K), 1 / K),
        n_options=np.full(n, K),
        error_free=False,
    )
    return np.zeros(n, np.int64), data, np.array([b for _, _, b in rows])


def expected(A: float, s: float, t: float, n: int) -> dict[tuple[bool, int, int], int]:
    """Counts as the model expects them of n questions about predictions and 3n about others."""
    found: dict[tuple[bool, int, int], int] = {}
    for hit, of, true in ((True, n, A), (False, 3 * n, (1 - A) / (K - 1))):
        two = round(of * (true * s**2 + (1 - true) * (1 - t) ** 2))
        one = round(of * 2 * (true * s * (1 - s) + (1 - true) * t * (1 - t)))
        none = of - two - one
        found |= {(hit, 1, 1): two, (hit, 1, 0): one // 2, (hit, 0, 1): one - one // 2, (hit, 0, 0): none}
    return found


def test_two_experts_per_question_give_hui_and_walters_estimate() -> None:
    counts = expected(0.8, 0.9, 0.95, 4000)
    e = bounded_accuracy(*collect(counts, {}), ErrorRanges())
    assert e.estimator == "hui_walter"
    assert e.value == pytest.approx(0.8, abs=0.005)
    # Wald's interval on the logit scale, from Fisher's information in Hui and Walter's model.
    assert (e.low, e.high) == pytest.approx((0.7897, 0.8099), abs=0.006)


def test_questions_without_a_second_expert_narrow_the_interval() -> None:
    doubles = expected(0.8, 0.9, 0.95, 100)
    alpha, beta = 0.8 * 0.9 + 0.2 * 0.05, 0.05 + 0.2 * 0.85 / 3
    singles = {(True, 1): round(400 * alpha), (True, 0): round(400 * (1 - alpha))}
    singles |= {(False, 1): round(1200 * beta), (False, 0): round(1200 * (1 - beta))}
    few = bounded_accuracy(*collect(doubles, {}), ErrorRanges())
    many = bounded_accuracy(*collect(doubles, singles), ErrorRanges())
    assert many.low < 0.8 < many.high
    assert many.high - many.low < 0.9 * (few.high - few.low)


def test_narrower_ranges_give_narrower_intervals() -> None:
    singles = {(True, 1): 58, (True, 0): 22, (False, 1): 24, (False, 0): 196}
    given = collect({}, singles)
    widths = []
    for low in (0.5, 0.9, 0.95):
        known = ErrorRanges(sensitivity=(low, 1.0), specificity=(max(0.8, low), 1.0))
        e = bounded_accuracy(*given, known)
        assert (e.estimator, e.interval) == ("bounded", "profile-likelihood")
        widths.append(e.high - e.low)
    assert widths[0] > widths[1] > widths[2]
    exact = bounded_accuracy(*given, ErrorRanges(sensitivity=(0.9, 0.9), specificity=(0.95, 0.95)))
    gold = bounded_accuracy(*given, ErrorRanges(gold_true=(18000, 2000), gold_false=(1000, 19000)))
    assert (exact.low, exact.high) == pytest.approx((gold.low, gold.high), abs=0.02)


def test_second_experts_unlike_the_first_are_withheld() -> None:
    doubles = {(True, 1, 1): 60, (True, 1, 0): 30, (True, 0, 1): 2, (True, 0, 0): 8}
    doubles |= {(False, 1, 1): 5, (False, 1, 0): 10, (False, 0, 1): 1, (False, 0, 0): 184}
    with pytest.raises(NotIdentified, match="assumes that first and second experts err equally often"):
        bounded_accuracy(*collect(doubles, {}), ErrorRanges())


def test_experts_who_err_together_are_withheld() -> None:
    # Half of the single answers are yes, but nearly all paired ones: no error rates explain both numbers.
    doubles = {(True, 1, 1): 90, (True, 1, 0): 5, (True, 0, 1): 5, (True, 0, 0): 0}
    doubles |= {(False, 1, 1): 5, (False, 1, 0): 2, (False, 0, 1): 3, (False, 0, 0): 190}
    singles = {(True, 1): 50, (True, 0): 50, (False, 1): 10, (False, 0): 290}
    with pytest.raises(NotIdentified, match="do not fit two experts who judge independently"):
        bounded_accuracy(*collect(doubles, singles), ErrorRanges())


def test_an_interval_with_every_accuracy_is_withheld() -> None:
    singles = {(True, 1): 3, (True, 0): 2, (False, 1): 3, (False, 0): 6}
    with pytest.raises(NotIdentified, match="every accuracy from 0 to 1 fits"):
        bounded_accuracy(*collect({}, singles), ErrorRanges())


def test_unreadable_predictions_are_wrong() -> None:
    predicted, data, second = collect(expected(0.8, 0.9, 0.95, 300), {})
    predicted[::2] = -1
    e = bounded_accuracy(predicted, data, second, ErrorRanges())
    assert e.high < 0.5


def test_impossible_ranges_are_refused() -> None:
    with pytest.raises(EstimateError, match="sensitivity must be a range between"):
        ErrorRanges(sensitivity=(0.9, 0.4))
