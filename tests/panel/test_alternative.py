"""The alternative annotator test: against scipy's t-test, and its error rate by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control, ttest_1samp

from oversight.harness import EstimateError, IntArray
from oversight.harness.panel import assess_alternative, assess_superhuman, measure_parity
from oversight.harness.panel.ratings import make_panel_from_grid


def rate(rng: np.random.Generator, truth: IntArray, right: float) -> IntArray:
    """Labels of three classes that are right with this probability."""
    wrong = (truth + rng.integers(1, 3, len(truth))) % 3
    return np.where(rng.random(len(truth)) < right, truth, wrong)


def test_p_values_are_those_of_the_t_test_and_the_procedure() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 60)
    grid = np.stack([rate(rng, truth, right) for right in (0.9, 0.7, 0.6, 0.8)], axis=1)
    model = rate(rng, truth, 0.8)
    found = assess_alternative(make_panel_from_grid(grid, "abc"), model, epsilon=0.1)
    expected = []
    for j in range(4):
        others = np.delete(grid, j, axis=1)
        of_model = (others == model[:, None]).mean(axis=1)
        of_human = (others == grid[:, [j]]).mean(axis=1)
        difference = (of_human >= of_model).astype(float) - (of_model >= of_human)
        expected.append(ttest_1samp(difference, 0.1, alternative="less").pvalue)
    assert [duel.p for duel in found.annotators] == pytest.approx(expected)
    won = false_discovery_control(expected, method="by") <= 0.05
    assert [duel.won for duel in found.annotators] == won.tolist()
    assert found.winning_rate == won.mean()


def test_annotator_with_few_items_is_left_out_with_the_reason() -> None:
    grid = np.zeros((40, 3), np.int64)
    grid[20:, 2] = -1
    found = assess_alternative(make_panel_from_grid(grid, "abc"), np.zeros(40, np.int64))
    assert found.annotators[2].why == "20 items, at least 30 are needed"
    assert found.annotators[2].p is None
    assert found.passed


def test_unreadable_answer_counts_like_a_label_that_nobody_gave() -> None:
    """A model cannot win by leaving hard items empty; the other results of a panel already obey this."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 120)
    panel = make_panel_from_grid(np.stack([rate(rng, truth, 0.9) for _ in range(4)], axis=1), "abcd")
    empty = np.where(rng.random(120) < 0.5, truth, -1)
    filled = np.where(empty < 0, 3, empty)
    found = assess_alternative(panel, empty)
    assert found == assess_alternative(panel, filled)
    assert found.passed is False
    assert {duel.items for duel in found.annotators} == {120}
    assert assess_superhuman(panel, empty) == assess_superhuman(panel, filled)
    assert measure_parity(panel, empty, positive="a") == measure_parity(panel, filled, positive="a")


def test_no_result_from_one_annotator_pair_with_few_items() -> None:
    grid = np.tile([[0, 1], [1, 1]], (10, 1))
    found = assess_alternative(make_panel_from_grid(grid, "abc"), np.zeros(20, np.int64))
    assert found.passed is None
    assert found.why.startswith("0 annotators have 30 items")


def test_epsilon_of_one_is_refused() -> None:
    grid = np.tile([[0, 1]], (40, 1))
    with pytest.raises(EstimateError, match="epsilon must lie in"):
        assess_alternative(make_panel_from_grid(grid, "abc"), np.zeros(40, np.int64), epsilon=1)


@pytest.mark.slow
def test_model_worse_by_epsilon_seldom_wins() -> None:
    """A model that agrees with the others as annotators do, with ε = 0, is on the edge of every H₀."""
    wins = 0.0
    for seed in range(300):
        rng = np.random.default_rng([7, seed])
        truth = rng.integers(0, 3, 100)
        grid = np.stack([rate(rng, truth, 0.75) for _ in range(4)], axis=1)
        found = assess_alternative(make_panel_from_grid(grid, "abc"), rate(rng, truth, 0.75), epsilon=0)
        wins += float(found.winning_rate or 0) > 0
    assert wins / 300 < 0.07
