"""Allocation: what is asked, and that it is close to the best."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from oversight.harness import EstimateError
from oversight.harness.estimate import (
    accuracy_target,
    disagreement,
    draw_options,
    predicted_counts,
    vote_posterior,
)
from oversight.harness.estimate.routed_sample import (
    item_variance,
    neyman_rates,
    shared_propensities,
)


def test_targeted_is_best_for_one_model_among_all_routings() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(5))
    c = accuracy_target([1], 5)
    best = item_variance(c, accuracy_target([1], 5), p[None])[0]
    assert best == pytest.approx(p[1] * (1 - p[1]))
    for pi in rng.dirichlet(np.ones(5), size=200):
        assert item_variance(c, pi[None], p[None])[0] > best


@pytest.mark.parametrize("seed", range(4))
def test_shared_propensities_are_near_the_numerical_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    K, models = 6, 5
    predicted = rng.integers(3, size=(1, models))
    p = rng.dirichlet(np.ones(K))[None] * 0.5 + 0.5 / K

    def loss(free: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        pi = np.exp(free - free.max())
        pi = 0.98 * pi / pi.sum() + 0.02 / K
        return sum(
            float(item_variance(accuracy_target(predicted[:, m], K), pi[None], p)[0]) for m in range(models)
        )

    mine = shared_propensities(predicted, K, K, posterior=p, epsilon=0.1)
    best = min(float(optimize.minimize(loss, rng.normal(size=K)).fun) for _ in range(3))
    value = sum(float(item_variance(accuracy_target(predicted[:, m], K), mine, p)[0]) for m in range(models))
    assert best <= value <= 1.12 * best


def test_shared_propensities_follow_the_formula() -> None:
    pi = shared_propensities([[0, 0, 0, 0, 1]], 4, 4, epsilon=0.1)
    assert pi[0] == pytest.approx([0.9 * 2 / 3 + 0.025, 0.9 / 3 + 0.025, 0.025, 0.025])
    assert shared_propensities([[-1, -1]], 3, 4)[0] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert shared_propensities([[-1, -1]], 3, 4, epsilon=0.0).sum() == 0
    with pytest.raises(EstimateError, match="epsilon"):
        shared_propensities([[0]], 4, 4, epsilon=1.5)


def test_counts_ignore_unreadable_predictions() -> None:
    assert predicted_counts([[0, 0, -1], [2, 1, 2]], 3).tolist() == [[2, 0, 0], [0, 1, 2]]
    with pytest.raises(EstimateError, match="shape"):
        predicted_counts([0, 1], 3)


def test_vote_posterior_is_bayes_for_independent_models() -> None:
    p = vote_posterior([[0, 1]], 3, 3, accuracy=[0.8, 0.6], temper=1.0)[0]
    raw = np.array([0.8 * 0.2, 0.1 * 0.6, 0.1 * 0.2])
    assert p == pytest.approx(raw / raw.sum())
    assert vote_posterior([[-1, -1]], 3, 4)[0] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    with pytest.raises(EstimateError, match="temper"):
        vote_posterior([[0]], 3, 3, temper=0.0)


def test_neyman_rates_sum_to_the_number_and_follow_the_deviation() -> None:
    deviation = np.random.default_rng(3).random(500) / 2
    rho = neyman_rates(deviation, 120)
    assert float(rho.sum()) == pytest.approx(120, rel=1e-6)
    inner = (rho > 0.02) & (rho < 1)
    ratio = rho[inner] / deviation[inner]
    assert ratio == pytest.approx(ratio[0])
    assert neyman_rates(deviation, 500).tolist() == [1.0] * 500


def test_draws_have_their_propensities() -> None:
    rng = np.random.default_rng(4)
    pi = np.tile([0.1, 0.0, 0.6, 0.0], (40_000, 1))
    drawn = draw_options(pi, rng)
    share = np.array([(drawn == k).mean() for k in (-1, 0, 1, 2, 3)])
    assert share == pytest.approx([0.3, 0.1, 0, 0.6, 0], abs=0.01)
    assert (draw_options(np.full((5000, 3), 1 / 3), rng) >= 0).all()
    with pytest.raises(EstimateError, match="at most 1"):
        draw_options(np.ones((1, 2)), rng)


def test_items_on_which_models_differ_are_found() -> None:
    assert disagreement([[0, 0], [0, 1], [-1, -1], [-1, 0]]).tolist() == [False, True, False, True]
