"""Inverse-variance weights: formulas, limits, unbiased variants."""

from __future__ import annotations

import itertools
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from oversight.harness import EstimateError
from oversight.harness.estimate import (
    BinomialSample,
    complementary_accuracy,
    cross_fitted,
    grid_weight,
    ivw_accuracy,
    plugin_weight,
    sample_split,
    success_probability,
    variance_ratio,
)
from oversight.harness.estimate.estimators.ivw import (
    minimal_se,
    mix_variance,
    optimal_weight,
    safe_plugin_weight,
    variances_at,
)
from oversight.harness.estimate.estimators.unbiased import (
    complementary_variance,
    moment_weights,
    ordinary_variance,
)


@given(st.sampled_from([2, 3, 4, 10]), st.floats(0.02, 0.98), st.integers(1, 500), st.integers(1, 500))
def test_optimal_weight_minimises_the_variance(K: int, A: float, n_o: int, n_c: int) -> None:
    v_o, v_c = variances_at(K, A, n_o, n_c)
    w = optimal_weight(K, A, n_o, n_c)
    best = mix_variance(w, v_o, v_c)
    assert minimal_se(v_o, v_c) ** 2 == pytest.approx(best)
    for other in (w - 0.01, w + 0.01):
        if 0 <= other <= 1:
            assert mix_variance(other, v_o, v_c) > best


@given(st.sampled_from([2, 3, 4, 10, 16]), st.floats(0.02, 0.98))
def test_variance_of_eq_3_is_the_binomial_one(K: int, A: float) -> None:
    q = success_probability(K, A)
    assert complementary_variance(K, A, 50) == pytest.approx((K - 1) ** 2 * q * (1 - q) / 50)
    assert variance_ratio(K, A, 30, 50) == pytest.approx(
        complementary_variance(K, A, 50) / ordinary_variance(A, 30)
    )


@given(st.integers(1, 29), st.integers(61, 89))
def test_plug_in_weight_is_eq_7(S_o: int, S_c: int) -> None:
    v_o = (S_o / 30) * (1 - S_o / 30) / 30
    v_c = 9 * (S_c / 90) * (1 - S_c / 90) / 90
    assert plugin_weight(4, S_o, 30, S_c, 90) == pytest.approx(v_c / (v_o + v_c))
    assert safe_plugin_weight(4, S_o, 30, S_c, 90) == plugin_weight(4, S_o, 30, S_c, 90)


def test_pilot_weight_is_not_the_plug_in() -> None:
    """EDINET, inferred counts: the paper prints 17.95 (Eq. 7); Eq. 8 with A_ord as pilot gives 17.78."""
    runs = zip((4, 7, 7), (437, 440, 435), strict=True)
    values = [ivw_accuracy(16, S_o, 31, S_c, 465, optimal_weight(16, S_o / 31, 31, 465)) for S_o, S_c in runs]
    assert f"{100 * statistics.mean(values):.2f}" == "17.78"


def test_neither_sample_varies() -> None:
    with pytest.raises(EstimateError, match="w is 0/0"):
        plugin_weight(4, 30, 30, 90, 90)
    assert 0 < safe_plugin_weight(4, 30, 30, 90, 90) < 1


@pytest.mark.parametrize("K", [2, 3, 10])
def test_complementary_is_unbiased(K: int) -> None:
    A, n = 0.6, 12
    mass = binom.pmf(np.arange(n + 1), n, success_probability(K, A))
    mean = sum(m * complementary_accuracy(K, S, n) for S, m in enumerate(mass.tolist()))
    assert mean == pytest.approx(A, abs=1e-12)


def test_perfect_avoidance_is_an_accuracy_of_one() -> None:
    assert complementary_accuracy(4, 90, 90) == 1
    assert complementary_accuracy(4, 0, 90) == -2


def test_moment_weights_of_several_effective_k() -> None:
    groups = (BinomialSample(4, 30, 27), BinomialSample(2.5, 20, 15))
    weights = moment_weights(groups)
    A = sum(w * complementary_accuracy(g.K, g.S, g.n) for w, g in zip(weights, groups, strict=True))
    expected = sum(g.n * success_probability(g.K, A) for g in groups)
    assert sum(weights) == pytest.approx(1)
    assert expected == pytest.approx(27 + 15)
    assert moment_weights(groups[:1]) == (1.0,)


@pytest.mark.parametrize("method", [sample_split, cross_fitted])
def test_split_weights_leave_the_estimate_unbiased(method: object) -> None:
    """Averaged over all data (exactly) and over many splits: well under a quarter of plug-in's bias."""
    assert callable(method)
    K, n_o, n_c, A = 10, 10, 30, 0.8
    p_o = binom.pmf(np.arange(n_o + 1), n_o, A)
    p_c = binom.pmf(np.arange(n_c + 1), n_c, success_probability(K, A))
    plain = split = 0.0
    for S_o, S_c in itertools.product(range(n_o + 1), range(n_c + 1)):
        mass = float(p_o[S_o] * p_c[S_c])
        if mass > 1e-6:
            plain += mass * ivw_accuracy(K, S_o, n_o, S_c, n_c)
            split += mass * statistics.mean(
                method(K, S_o, n_o, S_c, n_c, seed=1000 * (100 * S_o + S_c) + s) for s in range(300)
            )
    assert abs(plain - A) > 0.01
    assert abs(split - A) < 0.25 * abs(plain - A)


@pytest.mark.parametrize("method", [sample_split, cross_fitted])
def test_split_weights_depend_on_the_seed_only(method: object) -> None:
    assert callable(method)
    assert method(4, 20, 30, 80, 90, seed=1) == method(4, 20, 30, 80, 90, seed=1)
    assert method(4, 20, 30, 80, 90, seed=1) != method(4, 20, 30, 80, 90, seed=2)


def test_grid_weight_is_the_best_of_the_grid() -> None:
    grid = (0.0, 0.3, 0.5, 0.8)
    assert grid_weight(4, 24, 30, 84, 90, grid=grid) == 0.5  # the best is .52
    assert grid_weight(4, 24, 300, 84, 90, grid=(0.0, 1.0)) == 1.0
    with pytest.raises(EstimateError, match="grid must hold at least one weight"):
        grid_weight(4, 24, 30, 84, 90, grid=())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ivw_accuracy(4, 3, 5, 3, 5, 1.5), r"w must lie in \[0, 1\], is 1\.5"),
        (lambda: ivw_accuracy(4, 3, 5, 0, 0), "n_c must be at least 1"),
        (lambda: sample_split(4, 1, 1, 3, 5, seed=0), "n_o must be at least 2 here, is 1"),
        (lambda: sample_split(4, 1, 2, 3, 5, seed=0, pilot_share=1.0), "pilot_share"),
        (lambda: cross_fitted(4, 1, 2, 3, 5, seed=0, folds=3), "n_o must be at least 3 here, is 2"),
        (lambda: optimal_weight(4, 1.2, 3, 5), r"A must lie in \[0, 1\], is 1\.2"),
        (lambda: variance_ratio(4, 0.0, 3, 5), r"A must lie in \(0, 1\]"),
    ],
)
def test_bad_arguments(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(EstimateError, match=message):
        call()
