"""Scores of one class: published expectations, and precision, recall and F1 by hand."""

from __future__ import annotations

import numpy as np
import pytest

from oversight.harness.panel import measure_parity
from oversight.harness.panel.parity import expected_scores, probability_at_least
from oversight.harness.panel.ratings import make_panel_from_grid


def test_published_probabilities_of_eighty_percent_are_reproduced() -> None:
    # "The Illusion of Human-AI Parity Under Uncertainty", Table 1; N = 100 alone gives 1.6e-5.
    assert probability_at_least(0.6, 100) == pytest.approx(1.64e-5, rel=0.005)
    assert round(probability_at_least(0.9, 100), 4) == 0.9992
    # The paper's "2 % at N = 30" is for p_d = .6, not for a coin.
    assert round(probability_at_least(0.6, 30), 4) == 0.0172
    assert round(probability_at_least(0.5, 30), 4) == 0.0007


def test_published_expected_f1_is_reproduced() -> None:
    found = expected_scores(0.9, 0.01)
    assert round(found.precision, 4) == 0.0833
    assert found.recall == found.accuracy == 0.9
    assert round(found.f1, 4) == 0.1525
    assert expected_scores(0.0, 0.0).f1 == 0


@pytest.mark.parametrize("p", [0.6, 0.9])
def test_expected_scores_equal_simulated_ones(p: float) -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(400_000) < 0.2
    said = np.where(rng.random(400_000) < p, truth, ~truth)
    found = expected_scores(p, 0.2)
    precision = truth[said].mean()
    assert found.accuracy == pytest.approx((said == truth).mean(), abs=0.004)
    assert found.precision == pytest.approx(precision, abs=0.008)
    assert found.f1 == pytest.approx(
        2 * precision * said[truth].mean() / (precision + said[truth].mean()), abs=0.008
    )


def test_detection_equals_the_values_by_hand() -> None:
    # Two voters define the truth; the judge finds one of two positives and makes one false alarm.
    grid = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 1], [0, 0, 0]])
    panel = make_panel_from_grid(grid, ["0", "1"], ["v", "w", "judge"])
    found = measure_parity(
        panel, np.array([1, 1, 0, 0]), humans=["judge"], voters=["v", "w"], positive="1", bootstrap=200
    ).overall.detection
    assert found is not None
    assert found.human.precision is not None
    assert found.human.recall is not None
    assert found.human.f1 is not None
    assert (found.human.precision.value, found.human.recall.value, found.human.f1.value) == (0.5, 0.5, 0.5)
    assert found.model.f1 is not None
    assert found.model.f1.value == 1
    assert found.positive == 0.5
    never = measure_parity(
        panel, np.zeros(4, dtype=np.int64), humans=["judge"], voters=["v", "w"], positive="1"
    )
    assert never.overall.detection is not None
    assert never.overall.detection.model.precision is None
