"""The efficient estimator: unbiasedness by enumeration, reductions, positivity, bad input."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oversight.harness import EstimateError, NotIdentified
from oversight.harness.estimate import (
    RoutedSample,
    accuracy_target,
    crossfitted_posterior,
    flat_posterior,
    pseudo_outcomes,
)
from oversight.harness.estimate.core import blaker
from oversight.harness.estimate.routed_means import routed_accuracy, routed_mean
from oversight.harness.estimate.routed_sample import difference_target, item_variance, optimal_constant
from oversight.harness.estimate.sample_size import uniform_design_variance

simplex = st.lists(st.floats(0.02, 1), min_size=3, max_size=6)


def one(pi: Any, k: int, b: int, p: Any, **more: Any) -> RoutedSample:
    """One item, one answer."""
    return RoutedSample(
        np.array([0]), np.array([k]), np.array([float(b)]), np.array([pi]), posterior=np.array([p]), **more
    )


@settings(max_examples=60, deadline=None)
@given(pi=simplex, seed=st.integers(0, 10**6))
def test_expectation_is_the_target_whatever_the_posterior(pi: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    propensity = np.array(pi) / sum(pi)
    K = len(pi)
    p, c = rng.dirichlet(np.ones(K)), rng.normal(size=(1, K))
    for truth in range(K):
        mean = sum(
            propensity[k] * pseudo_outcomes(c, one(propensity, k, int(k == truth), p))[0] for k in range(K)
        )
        assert mean == pytest.approx(c[0, truth], abs=1e-9)


@pytest.mark.parametrize("K", [4, 5])
def test_outcome_is_unbiased_for_two_of_k_options_without_replacement(K: int) -> None:
    rng = np.random.default_rng(K)
    p, c = rng.dirichlet(np.ones(K)), rng.normal(size=(1, K))
    pairs = list(itertools.combinations(range(K), 2))
    for truth in range(K):
        total = 0.0
        for pair in pairs:
            answers = np.array([float(k == truth) for k in pair])
            data = RoutedSample(
                np.array([0, 0]), np.array(pair), answers, np.full((1, K), 2 / K), posterior=p[None, :]
            )
            total += pseudo_outcomes(c, data)[0] / len(pairs)
        assert total == pytest.approx(c[0, truth], abs=1e-9)


@pytest.mark.parametrize("K", [2, 3, 4, 10, 16])
@pytest.mark.parametrize("A", [0.2, 0.6, 0.95])
def test_uniform_routing_attains_the_information_of_the_likelihood(K: int, A: float) -> None:
    # With the working posterior that puts A on the prediction, Var(g) is 1/I_unif exactly.
    p = np.full((1, K), (1 - A) / (K - 1))
    p[0, 0] = A
    v = item_variance(accuracy_target([0], K), np.full((1, K), 1 / K), p)[0]
    assert v == pytest.approx(uniform_design_variance(K, A))
    assert v == pytest.approx(K * A * (1 - A) * (A + K - 2) / (K * A + K - 2))


def test_variance_of_an_accuracy_has_the_closed_form() -> None:
    rng = np.random.default_rng(0)
    p, pi = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(5))
    s = p * (1 - p)
    closed = 1 / (pi[2] / s[2] + 1 / sum(s[j] / pi[j] for j in (0, 1, 3, 4)))
    assert item_variance(accuracy_target([2], 5), pi[None], p[None])[0] == pytest.approx(closed)


def test_optimal_constant_is_the_least_variance() -> None:
    rng = np.random.default_rng(1)
    p, pi, c = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4)), rng.normal(size=4)
    s = p * (1 - p)

    def variance(constant: float) -> float:
        return float(((c - constant) ** 2 * s / pi).sum())

    valid = np.ones((1, 4), dtype=np.bool_)
    best = float(optimal_constant(c[None], pi[None], p[None], valid)[0])
    assert variance(best) < min(variance(best - 0.01), variance(best + 0.01))


def test_targeted_is_the_plain_share_with_the_exact_interval() -> None:
    predicted = np.array([0, 1, 2, 3, 0, -1])
    pi = accuracy_target(predicted, 4)
    data = RoutedSample(np.arange(5), predicted[:5], np.array([1.0, 1, 0, 1, 1]), pi)
    estimate = routed_accuracy(predicted, data)
    assert estimate.value == pytest.approx(4 / 6)
    assert estimate.interval == "blaker"
    assert (estimate.low, estimate.high) == blaker(4, 6)
    assert (estimate.n.ordinary, estimate.n.complementary, estimate.n.unreadable) == (4, 1, 1)


def test_zero_constant_reduces_to_aipw() -> None:
    # Options 1 to 3 are never distinguished, and 3 is never asked about, so C must be c_3 = 0.
    pi, p = [0.5, 0.25, 0.25, 0.0], [0.4, 0.3, 0.2, 0.1]
    c = accuracy_target([0], 4)
    assert pseudo_outcomes(c, one(pi, 0, 1, p))[0] == pytest.approx(0.4 + (1 - 0.4) / 0.5)
    assert pseudo_outcomes(c, one(pi, 1, 0, p))[0] == pytest.approx(0.4)


def test_posterior_of_zero_gives_the_horvitz_thompson_outcome() -> None:
    p = [0.0, 0.5, 0.5, 0.0]
    c = accuracy_target([0], 4)
    assert pseudo_outcomes(c, one([0.5, 0.25, 0.25, 0.0], 0, 1, p))[0] == pytest.approx(1 / 0.5)


def test_labels_asked_for_another_model_are_refused() -> None:
    pi = accuracy_target([0, 0], 3)
    data = RoutedSample(np.array([0, 1]), np.array([0, 0]), np.array([1.0, 0.0]), pi)
    assert routed_accuracy([0, 0], data).value == 0.5
    with pytest.raises(NotIdentified, match=r"1 of 2 items, .*propensity 0 .* options 1, 2"):
        routed_accuracy([0, 1], data)


def test_agreeing_items_need_no_question_for_a_difference() -> None:
    c = difference_target([0, 1], [0, 2], 3)
    pi = np.array([[0, 0, 0], [0, 0.5, 0.5]])
    data = RoutedSample(np.array([1]), np.array([1]), np.array([1.0]), pi)
    g = pseudo_outcomes(c, data)
    assert g[0] == 0
    assert g[1] == pytest.approx((1 - 1 / 3) / 0.5)


def test_mixed_numbers_of_options_have_separate_posteriors() -> None:
    pi = np.array([[0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    data = RoutedSample(
        np.array([0, 1]), np.array([0, 3]), np.array([0.0, 0.0]), pi, n_options=np.array([2, 4])
    )
    assert data.posterior[0].tolist() == [0.5, 0.5, 0, 0]
    # With K = 2, a no about the predicted option reveals the truth.
    assert pseudo_outcomes(accuracy_target([0, 0], 4), data)[0] == pytest.approx(0.0)


def test_a_score_interval_stays_within_the_range_and_the_raw_mean_is_flagged() -> None:
    pi = np.full((3, 10), 0.1)
    data = RoutedSample(np.arange(3), np.zeros(3, dtype=np.int64), np.ones(3), pi)
    estimate = routed_accuracy([0, 0, 0], data)
    assert (estimate.value, estimate.high) == (1, 1)
    assert estimate.low < 0.75
    raw = routed_mean(accuracy_target([0, 0, 0], 10), data)
    assert raw.value > 1
    assert raw.high == 1
    assert "out_of_range" in raw.flags
    assert not raw.holds


def test_a_sample_without_spread_keeps_an_uncertainty() -> None:
    data = RoutedSample(np.arange(3), np.zeros(3, dtype=np.int64), np.zeros(3), np.full((3, 4), 0.25))
    estimate = routed_accuracy([1, 1, 1], data)
    assert estimate.interval == "tilted-score"
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.high - estimate.low > 0.5


GOOD: dict[str, Any] = {
    "item": [0, 1],
    "asked": [0, 1],
    "answer": [1.0, 0.0],
    "propensities": [[0.5, 0.5], [0.5, 0.5]],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"item": [0, 2]}, r"item\[1\] must lie in 0..1, is 2"),
        ({"asked": [0, 5]}, r"asked\[1\] must lie in 0..1, is 5"),
        ({"answer": [1, 0.5]}, r"answer\[1\] must be 0 or 1, is 0.5"),
        ({"answer": [1.0]}, "differ in length"),
        ({"propensities": [[0.5, 0.5], [1.5, -0.5]]}, r"propensities\[1, 0\] must lie in \[0, 1\]"),
        ({"propensities": [[0.5, 0.5], [1.0, 0.0]]}, "option 1 of item 1, whose propensity is 0"),
        ({"propensities": [[0.5, 0.5], [0.3, 0.4]]}, r"propensities\[1\] must sum to .*, but sum to 0.7"),
        ({"item": [0, 0], "asked": [0, 0]}, "item 0 has 2 answers about option 0"),
        (
            {"item": [0, 0], "answer": [1.0, 1.0], "propensities": [[1.0, 1.0], [0, 0]]},
            "item 0 has two yes-answers",
        ),
        ({"posterior": [[0.5, 0.6], [0.5, 0.5]]}, r"posterior\[0\] must sum to 1"),
        ({"posterior": [[0.5, 0.5]]}, "posterior must have shape"),
        ({"n_options": [2, 3]}, r"n_options\[1\] must lie in 2..2, is 3"),
        ({"propensities": [[1.0]]}, "K >= 2"),
    ],
)
def test_bad_input_names_row_and_value(change: dict[str, Any], message: str) -> None:
    arrays: dict[str, Any] = {name: np.array(value) for name, value in {**GOOD, **change}.items()}
    with pytest.raises(EstimateError, match=message):
        RoutedSample(**arrays)


def test_bad_predictions_levels_and_sizes_are_refused() -> None:
    arrays: dict[str, Any] = {name: np.array(value) for name, value in GOOD.items()}
    data = RoutedSample(**arrays)
    with pytest.raises(EstimateError, match=r"predicted\[1\] must lie in -1..1, is 2"):
        routed_accuracy([0, 2], data)
    with pytest.raises(EstimateError, match=r"predicted must have shape"):
        routed_accuracy([0], data)
    with pytest.raises(EstimateError, match="level"):
        routed_accuracy([0, 1], data, level=1.0)
    single = one([0.5, 0.5], 0, 1, [0.5, 0.5])
    with pytest.raises(EstimateError, match="at least 2 items"):
        routed_mean(np.ones((1, 2)), single)


def test_crossfitted_posterior_never_sees_the_item_itself() -> None:
    rng = np.random.default_rng(7)
    n, K = 60, 4
    predicted = rng.integers(K, size=(n, 1))
    truth = np.where(rng.random(n) < 0.6, predicted[:, 0], rng.integers(K, size=n))
    asked = rng.integers(K, size=n)
    answer = (asked == truth).astype(float)
    pi = np.full((n, K), 1 / K)
    before = crossfitted_posterior(predicted, RoutedSample(np.arange(n), asked, answer, pi))
    for row in (3, 31):
        flipped = answer.copy()
        flipped[row] = 1 - flipped[row]
        after = crossfitted_posterior(predicted, RoutedSample(np.arange(n), asked, flipped, pi))
        assert after[row].tolist() == before[row].tolist()
        assert not np.array_equal(after, before)


def test_crossfitting_learns_the_accuracy() -> None:
    rng = np.random.default_rng(8)
    n, K, A = 20_000, 5, 0.8
    predicted = rng.integers(K, size=n)
    truth = np.where(rng.random(n) < A, predicted, (predicted + rng.integers(1, K, size=n)) % K)
    asked = rng.integers(K, size=n)
    data = RoutedSample(np.arange(n), asked, (asked == truth).astype(float), np.full((n, K), 1 / K))
    p = crossfitted_posterior(predicted[:, None], data)
    assert p[np.arange(n), predicted] == pytest.approx(A, abs=0.03)
    assert p.sum(axis=1) == pytest.approx(1)
    estimate = routed_accuracy(predicted, data)
    assert estimate.se == pytest.approx(np.sqrt(uniform_design_variance(K, A) / n), rel=0.03)
    flat = pseudo_outcomes(accuracy_target(predicted, K), data)
    assert flat.var() > 1.5 * uniform_design_variance(K, A)


def test_flat_posterior_is_uniform_over_each_items_options() -> None:
    assert flat_posterior([2, 4], 4).tolist() == [[0.5, 0.5, 0, 0], [0.25] * 4]
