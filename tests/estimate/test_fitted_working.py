"""The working distribution fitted to the answers: narrow where votes help, valid where they mislead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks._coverage_designs import Design
from benchmarks._coverage_grid import MISLED
from benchmarks._coverage_kinds import measure_cell
from oversight.harness.estimate.routed_sample import accuracy_target
from oversight.harness.estimate.tilting import (
    fit_working,
    plan_working,
    prior_working,
    tilt_items,
    tilted_score,
)

K = 4


def answers(n: int, right: float, seed: int = 0) -> tuple[NDArray[Any], ...]:
    """Items whose most likely option is true so often; one question each, about a drawn option."""
    rng = np.random.default_rng(seed)
    pi = np.tile([0.7, 0.1, 0.1, 0.1], (n, 1))
    truth = np.where(rng.random(n) < right, 0, rng.integers(1, K, n))
    asked = (rng.random((n, 1)) >= pi.cumsum(axis=1)).sum(axis=1)
    return accuracy_target(rng.integers(0, K, n), K), pi, asked, (asked == truth).astype(float)


def test_without_answers_the_working_distribution_is_the_propensities() -> None:
    c, pi, _asked, yes = answers(50, 0.7)
    own = np.ones_like(pi, dtype=bool)
    prior = prior_working(c, pi, own)
    assert prior == pytest.approx(pi)
    nobody = fit_working(c, pi, own, np.full(50, -1), yes)
    assert nobody == pytest.approx(prior)
    assert plan_working(c, pi, np.full(50, K)) == pytest.approx(prior)


@pytest.mark.parametrize(("right", "low", "high"), [(0.95, 0.85, 1.0), (0.25, 0.15, 0.4), (0.02, 0.0, 0.12)])
def test_many_answers_fit_the_working_distribution(right: float, low: float, high: float) -> None:
    c, pi, asked, yes = answers(2000, right)
    q = fit_working(c, pi, np.ones_like(pi, dtype=bool), asked, yes)
    assert q.sum(axis=1) == pytest.approx(1)
    assert low <= q[:, 0].mean() <= high


def test_given_working_distribution_is_not_fitted() -> None:
    c, pi, asked, yes = answers(100, 0.95)
    given = tilt_items(c, pi, np.full(100, K), asked, yes, working=pi)
    fitted = tilt_items(c, pi, np.full(100, K), asked, yes)
    assert set(given.excess) == {1.0}
    assert set(fitted.excess) == {0.5}
    assert tilted_score(given, 0.95) != tilted_score(fitted, 0.95)


def test_votes_that_are_all_wrong_on_one_option_do_not_mislead() -> None:
    assert not measure_cell(MISLED, 200, seed=0).low


def test_a_model_added_later_has_a_narrow_interval() -> None:
    cell = measure_cell(LATER, 80, seed=0)
    assert not cell.low
    assert cell.width < 0.23


LATER = Design(protocol="targeted", accuracies=(0.9, 0.9, 0.9), later=1, K=(10,), n=100)
