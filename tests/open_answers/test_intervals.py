"""Intervals of means over items."""

from __future__ import annotations

import numpy as np
import pytest

from oversight.harness.estimate import clopper_pearson
from oversight.harness.open_answers.intervals import betting_sequence, bootstrap_interval, chance_below


@pytest.mark.parametrize(("right", "n"), [(0, 5), (1, 20), (3, 20), (10, 20), (20, 20), (495, 500)])
def test_interval_of_right_and_wrong_items_is_clopper_pearsons(right: int, n: int) -> None:
    a = np.r_[np.ones(right), np.zeros(n - right)]
    low, high = bootstrap_interval(a, np.ones(n), (0.0, 1.0), 0.95)
    exact = clopper_pearson(right, n)
    assert exact[0] - 1e-3 < low <= exact[0]
    assert exact[1] <= high < exact[1] + 3e-3


def test_tail_probability_agrees_with_simulation() -> None:
    residual, count = np.array([0.3, -0.5, 1.2]), np.array([4.0, 7.0, 2.0])
    rng = np.random.default_rng(1)
    sums = sum(r * rng.gamma(c, size=400_000) for r, c in zip(residual, count, strict=True))
    assert chance_below(residual, count) == pytest.approx(float((sums <= 0).mean()), abs=0.004)


def test_interval_mirrors_with_the_values() -> None:
    a = np.random.default_rng(2).random(30) ** 3
    low, high = bootstrap_interval(a, np.ones(30), (0.0, 1.0), 0.9)
    mirrored = bootstrap_interval(1 - a, np.ones(30), (0.0, 1.0), 0.9)
    assert (low, high) == pytest.approx((1 - mirrored[1], 1 - mirrored[0]), abs=1e-5)


def test_interval_of_few_skewed_items_covers() -> None:
    rng, held = np.random.default_rng(3), 0
    for _ in range(250):
        a = (rng.random(12) < 0.1) * rng.random(12)
        low, high = bootstrap_interval(a, np.ones(12), (0.0, 1.0), 0.95)
        held += low <= 0.05 <= high
    assert held >= 0.95 * 250 - 2.6 * (0.05 * 0.95 * 250) ** 0.5


def test_sequence_holds_at_all_looks_together() -> None:
    rng, misses = np.random.default_rng(4), 0
    for _ in range(40):
        a = (rng.random(90) < 0.9).astype(float)
        looks = [betting_sequence(a[:n], np.ones(n), (0.0, 1.0), 0.9) for n in range(10, 91, 10)]
        misses += any(not low <= 0.9 <= high for low, high in looks)
    assert misses <= 4 + 2.6 * (0.1 * 0.9 * 40) ** 0.5
