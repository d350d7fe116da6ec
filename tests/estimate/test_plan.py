"""Planning: the theory's ratios, and prices that agree with simulated widths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from benchmarks._coverage_planner import Promise, kept, planned_items
from oversight.harness import EstimateError, NotIdentified
from oversight.harness.estimate import (
    accuracy_target,
    estimate_counts,
    plan,
    synthesise_population,
    vote_posterior,
)
from oversight.harness.estimate.routed_means import resolved_accuracy
from oversight.harness.estimate.routed_sample import shared_propensities
from oversight.harness.estimate.sample_size import (
    accuracy_variances,
    complementary_design_variance,
    difference_variances,
    targeted_design_variance,
    uniform_design_variance,
)


@pytest.mark.parametrize(
    ("K", "A", "saving", "over_comp"),
    [
        (4, 0.2, 3.14, 14.7),
        (4, 0.6, 2.36, 5.8),
        (4, 0.8, 2.15, 4.7),
        (4, 0.95, 2.03, 4.1),
        (5, 0.2, 4.00, None),
        (5, 0.6, 3.00, None),
        (5, 0.8, 2.71, None),
        (5, 0.95, 2.55, None),
        (10, 0.2, 8.20, None),
        (10, 0.6, 6.14, None),
        (10, 0.8, 5.50, 12.2),
        (10, 0.95, 5.11, None),
        (16, 0.2, 13.2, None),
        (16, 0.6, 9.90, None),
        (16, 0.8, 8.84, 19.7),
        (16, 0.95, 8.19, None),
    ],
)
def test_targeted_saves_what_theory_says(K: int, A: float, saving: float, over_comp: float | None) -> None:
    targeted = targeted_design_variance(A)
    assert uniform_design_variance(K, A) / targeted == pytest.approx(saving, abs=0.02)
    if over_comp is not None:
        assert complementary_design_variance(K, A) / targeted == pytest.approx(over_comp, abs=0.06)


def test_efficiency_of_uniform_routing_stays_in_its_bounds() -> None:
    for K in (3, 4, 10, 16):
        for A in (0.01, 0.5, 0.99):
            efficiency = targeted_design_variance(A) / uniform_design_variance(K, A)
            assert 1 / K <= efficiency <= 2 / K


def test_five_models_save_what_theory_says() -> None:
    # With five models of equal accuracy of at most .4, the saving is up to 8 % lower (1.56 at K = 4).
    for K, least in ((4, 1.6), (5, 2.0), (10, 3.6), (16, 5.7)):
        for A in (0.6, 0.8, 0.95):
            v = accuracy_variances(K, A, models=5)
            assert v["uniform"] / v["sequential"] >= least
            assert 1.3 < v["uniform"] / v["shared"] < v["uniform"] / v["sequential"]


def test_disagreements_save_what_theory_says() -> None:
    for K, targeted, sequential in ((4, 18, 14), (10, 45, 37), (16, 71, 59)):
        v = difference_variances(K, 0.8)
        assert v["uniform, sign test"] / v["disagreements, targeted"] >= targeted
        assert v["uniform, sign test"] / v["disagreements, sequential"] >= sequential


@pytest.mark.parametrize(("K", "A"), [(4, 0.8), (10, 0.4)])
def test_known_error_rates_cost_questions(K: int, A: float) -> None:
    clean, noisy = accuracy_variances(K, A), accuracy_variances(K, A, sensitivity=0.9, specificity=0.95)
    assert all(noisy[name] > clean[name] for name in clean)
    with pytest.raises(NotIdentified):
        accuracy_variances(K, A, sensitivity=0.5, specificity=0.5)
    many = accuracy_variances(K, A, models=3, sensitivity=0.9)
    assert "sequential" not in many
    assert "disagreements, sequential" not in difference_variances(K, A, specificity=0.9)


def test_corrected_targeted_questions_have_the_stated_noise_factors() -> None:
    # A = .8, s = t = p_d: x1.4 (.95), 1.9 (.9), 3.8 (.8), 9.2 (.7), 38 (.6) questions.
    for p_d, factor in ((0.95, 1.4), (0.9, 1.9), (0.8, 3.8), (0.7, 9.2), (0.6, 38)):
        ratio = targeted_design_variance(0.8, p_d, p_d) / targeted_design_variance(0.8)
        assert ratio == pytest.approx(factor, rel=0.1)


@pytest.mark.parametrize("protocol", ["targeted", "partitioned"])
def test_a_planned_half_width_is_reached_in_most_studies(protocol: str) -> None:
    promise = Promise(kind="width", protocol=protocol, K=4, accuracy=0.9, size=0.06)
    _, items = planned_items(promise)
    assert np.mean([kept(promise, items, seed) for seed in range(60)]) > 0.7


@pytest.mark.slow
def test_a_planned_power_is_reached() -> None:
    promise = Promise(kind="power", protocol="disagreement", K=4, accuracy=0.9, size=0.08, models=2)
    _, items = planned_items(promise)
    assert np.mean([kept(promise, items, seed) for seed in range(60)]) > 0.7


def test_a_plan_names_the_promised_and_the_expected_half_width() -> None:
    made = plan(4, 0.8, half_width=0.06)
    bought = plan(4, 0.8, questions=made.accuracy[-1].questions)
    row, back = made.accuracy[-1], bought.accuracy[-1]
    assert row.protocol == "targeted"
    assert row.half_width_expected is not None
    assert 0.9 * 0.06 < row.half_width_expected < row.half_width == 0.06
    assert back.half_width == pytest.approx(0.06, rel=0.02)
    assert back.half_width <= 0.06
    assert all(one.half_width_expected is None for one in made.difference)


def test_impossible_plans_are_refused() -> None:
    with pytest.raises(EstimateError, match=r"lie in \(0, 1\)"):
        uniform_design_variance(4, 1.0)
    with pytest.raises(EstimateError, match="K"):
        uniform_design_variance(1, 0.5)
    with pytest.raises(EstimateError, match="models"):
        accuracy_variances(4, 0.5, models=0)
    with pytest.raises(EstimateError, match="power"):
        plan(4, power=1.0)


def test_stand_in_population_has_the_given_accuracies_and_agreement() -> None:
    rng = np.random.default_rng(0)
    truth, predicted = synthesise_population(60_000, 10, [0.3, 0.7], rng)
    right = predicted == truth[:, None]
    assert right.mean(axis=0) == pytest.approx([0.3, 0.7], abs=0.01)
    both_wrong = ~right.any(axis=1)
    assert (predicted[both_wrong, 0] == predicted[both_wrong, 1]).mean() == pytest.approx(0.35, abs=0.03)
    with pytest.raises(EstimateError, match="correlation"):
        synthesise_population(10, 4, [0.5], rng, correlation=1.5)


def test_planned_variance_is_the_simulated_one() -> None:
    from oversight.harness.estimate import RoutedSample, draw_options, pseudo_outcomes

    rng = np.random.default_rng(1)
    K, A, n = 5, 0.7, 40_000
    truth, predicted = synthesise_population(n, K, [A] * 3, rng)
    votes = vote_posterior(predicted, K, K, accuracy=[A] * 3)
    pi = shared_propensities(predicted, K, K, posterior=votes)
    asked = draw_options(pi, rng)
    data = RoutedSample(np.arange(n), asked, (asked == truth).astype(float), pi, posterior=votes)
    spread = [float(pseudo_outcomes(accuracy_target(predicted[:, m], K), data).var()) for m in range(3)]
    assert float(np.mean(spread)) == pytest.approx(accuracy_variances(K, A, models=3)["shared"], rel=0.03)
    assert math.isfinite(max(spread))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"options": "4"}, "options must be a whole number"),
        ({"options": 4.5}, "options must be a whole number"),
        ({"accuracy": "a"}, "the guess of the accuracy must lie"),
        ({"half_width": "a"}, "half_width must lie"),
        ({"questions": "a"}, "questions must be at least 1"),
        ({"models": "a"}, "models must be at least 1"),
    ],
)
def test_values_that_are_no_numbers_are_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(EstimateError, match=f"^{named}"):
        plan(**({"options": 4} | given))


@pytest.mark.parametrize("count", [math.nan, "1", [1], 1.5])
def test_a_count_that_is_no_whole_number_is_refused(count: Any) -> None:
    with pytest.raises(EstimateError, match=r"^S_o must be a whole number ≥ 0, is"):
        estimate_counts(4, S_o=count, n_o=3, S_c=0, n_c=0)


@pytest.mark.parametrize(("A", "size", "R", "width"), [(0.95, 10, 0.3, 0.05), (0.9, 20, 0.3, 0.06)])
def test_clustered_studies_keep_the_planned_half_width(A: float, size: int, R: float, width: float) -> None:
    """The variance is estimated from few clusters, so half-widths vary more than with independent items."""
    prices = plan(4, A, half_width=width, cluster_size=size, intraclass=R).accuracy
    n = next(row.questions for row in prices if row.protocol == "targeted")
    cluster, rng, reached = np.arange(n) // size, np.random.default_rng(1), []
    for _ in range(60):
        shared, is_shared = rng.random(n)[cluster] < A, rng.random(n) < math.sqrt(R)
        right = np.where(is_shared, shared, rng.random(n) < A)
        found = resolved_accuracy(right.astype(np.int64), cluster=cluster)
        reached.append((found.high - found.low) / 2 <= width)
    assert np.mean(reached) >= 0.75


def test_plan_needs_enough_clusters_for_an_interval() -> None:
    prices = plan(4, 0.8, half_width=0.4, cluster_size=20)
    assert min(row.questions for row in (*prices.accuracy, *prices.difference)) >= 80
    with pytest.raises(EstimateError, match=r"60 questions in clusters of 20 are 3\.0 clusters"):
        plan(4, 0.8, questions=60, cluster_size=20)
