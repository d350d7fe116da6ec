"""Bias and coverage of the routed estimators by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from oversight.harness import FloatArray, IntArray
from oversight.harness.estimate import (
    RoutedSample,
    accuracy_target,
    draw_options,
    pseudo_outcomes,
    synthesise_population,
    vote_posterior,
)
from oversight.harness.estimate.estimators import closed_form
from oversight.harness.estimate.routed_means import resolved_accuracy, routed_accuracy
from oversight.harness.estimate.routed_sample import shared_propensities
from oversight.harness.estimate.sample_size import uniform_design_variance

pytestmark = [pytest.mark.statistical, pytest.mark.slow]


def t_coverage(g: FloatArray, truth: float) -> float:
    """Share of rows (studies) whose t-interval holds the truth."""
    n = g.shape[1]
    half = stats.t.ppf(0.975, n - 1) * g.std(axis=1, ddof=1) / np.sqrt(n)
    return float((np.abs(g.mean(axis=1) - truth) <= half).mean())


def asked_data(truth: IntArray, pi: FloatArray, p: FloatArray, rng: np.random.Generator) -> RoutedSample:
    k = draw_options(pi, rng)
    return RoutedSample(np.arange(len(truth)), k, (k == truth).astype(float), pi, posterior=p)


@pytest.mark.parametrize("K", [4, 10, 16])
@pytest.mark.parametrize("n", [120, 300])
def test_shared_routing_covers_with_a_misspecified_posterior(K: int, n: int) -> None:
    rng = np.random.default_rng([K, n])
    studies, accuracy = 1200, [0.6, 0.7, 0.75]
    truth, predicted = synthesise_population(studies * n, K, accuracy, rng)
    # The working posterior uses wrong accuracies and a wrong assumption of independence.
    votes = vote_posterior(predicted, K, K, accuracy=[0.9, 0.4, 0.5])
    data = asked_data(truth, shared_propensities(predicted, K, K, posterior=votes), votes, rng)
    for model, A in enumerate(accuracy):
        g = pseudo_outcomes(accuracy_target(predicted[:, model], K), data).reshape(studies, n)
        assert abs(g.mean() - A) < 4 * g.std() / np.sqrt(g.size)
        assert 0.925 <= t_coverage(g, A) <= 0.968


@pytest.mark.parametrize(("K", "A"), [(4, 0.6), (5, 0.8), (10, 0.7), (16, 0.4)])
def test_uniform_routing_equals_the_likelihood(K: int, A: float) -> None:
    rng = np.random.default_rng([K, 7])
    studies, n = 150, 2000
    estimates = np.empty((studies, 2))
    for study in range(studies):
        truth, predicted = synthesise_population(n, K, [A], rng)
        k = rng.integers(K, size=n)
        yes, hit = k == truth, k == predicted[:, 0]
        data = RoutedSample(np.arange(n), k, yes.astype(float), np.full((n, K), 1 / K))
        counts = (int((yes & hit).sum()), int(yes.sum()), int((~yes & ~hit).sum()), int((~yes).sum()))
        estimates[study] = routed_accuracy(predicted[:, 0], data).value, closed_form(K, *counts)
    # Both use the same information, so they differ by far less than either one varies.
    assert (estimates[:, 0] - estimates[:, 1]).std() < 0.35 * estimates[:, 1].std()
    assert estimates.std(axis=0) == pytest.approx(np.sqrt(uniform_design_variance(K, A) / n), rel=0.2)
    assert estimates.mean(axis=0) == pytest.approx(
        A, abs=4 * np.sqrt(uniform_design_variance(K, A) / n / studies)
    )


@pytest.mark.parametrize("K", [4, 10])
def test_estimator_without_prior_or_constant_is_worse(K: int) -> None:
    rng = np.random.default_rng(K)
    n, A = 40_000, 0.7
    truth, predicted = synthesise_population(n, K, [A, A, A], rng)
    votes = vote_posterior(predicted, K, K, accuracy=[A] * 3)
    pi = shared_propensities(predicted, K, K, posterior=votes)
    data = asked_data(truth, pi, votes, rng)
    efficient = pseudo_outcomes(accuracy_target(predicted[:, 0], K), data)
    hit = data.asked == predicted[:, 0]
    horvitz = hit * data.answer / pi[np.arange(n), predicted[:, 0]]
    assert horvitz.mean() == pytest.approx(efficient.mean(), abs=0.03)
    assert horvitz.var() > 1.2 * efficient.var()


@pytest.mark.parametrize("m", [2, 3])
def test_several_questions_on_an_item_are_one_unit(m: int) -> None:
    rng = np.random.default_rng(m)
    studies, n, K, A = 600, 150, 5, 0.75
    truth, predicted = synthesise_population(studies * n, K, [A], rng)
    size = studies * n
    asked = np.argsort(rng.random((size, K)), axis=1)[:, :m]
    item = np.repeat(np.arange(size), m)
    p = vote_posterior(predicted, K, K, accuracy=[A])
    answer = (asked == truth[:, None]).astype(float).ravel()
    data = RoutedSample(item, asked.ravel(), answer, np.full((size, K), m / K), posterior=p)
    g = pseudo_outcomes(accuracy_target(predicted[:, 0], K), data).reshape(studies, n)
    assert abs(g.mean() - A) < 4 * g.std() / np.sqrt(size)
    assert 0.93 <= t_coverage(g, A) <= 0.97


def test_sequential_gives_the_binomial_coverage_of_full_labels() -> None:
    rng = np.random.default_rng(11)
    studies, n, A = 1500, 100, 0.8
    truth, predicted = synthesise_population(studies * n, 4, [A, 0.7], rng)
    right = (predicted[:, 0] == truth).reshape(studies, n).astype(int)
    covered = [e.low <= A <= e.high for e in (resolved_accuracy(row) for row in right)]
    # exact intervals, 1,500 studies: .95 minus 2.6 standard errors
    assert 0.935 <= float(np.mean(covered)) <= 0.98
