"""Inverse-variance weights and the unbiased complementary estimator: formulas and limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from oversight.harness import EstimateError
from oversight.harness.estimate import BinomialSample
from oversight.harness.estimate.core import success_probability
from oversight.harness.estimate.estimators import (
    complementary_accuracy,
    complementary_variance,
    moment_weights,
    plugin_weight,
)


@given(st.sampled_from([2, 3, 4, 10, 16]), st.floats(0.02, 0.98))
def test_variance_of_eq_3_is_the_binomial_one(K: int, A: float) -> None:
    q = success_probability(K, A)
    assert complementary_variance(K, A, 50) == pytest.approx((K - 1) ** 2 * q * (1 - q) / 50)


@given(st.integers(1, 29), st.integers(61, 89))
def test_plug_in_weight_is_eq_7(S_o: int, S_c: int) -> None:
    v_o = (S_o / 30) * (1 - S_o / 30) / 30
    v_c = 9 * (S_c / 90) * (1 - S_c / 90) / 90
    assert plugin_weight(4, S_o, 30, S_c, 90) == pytest.approx(v_c / (v_o + v_c))


def test_weight_is_refused_if_neither_sample_varies() -> None:
    with pytest.raises(EstimateError, match="w is 0/0"):
        plugin_weight(4, 30, 30, 90, 90)


@pytest.mark.parametrize("K", [2, 3, 10])
def test_complementary_is_unbiased(K: int) -> None:
    A, n = 0.6, 12
    mass = binom.pmf(np.arange(n + 1), n, success_probability(K, A))
    mean = sum(m * complementary_accuracy(K, S, n) for S, m in enumerate(mass.tolist()))
    assert mean == pytest.approx(A, abs=1e-12)


def test_perfect_avoidance_is_an_accuracy_of_one() -> None:
    assert complementary_accuracy(4, 90, 90) == 1
    assert complementary_accuracy(4, 0, 90) == -2


def test_moment_weights_solve_the_moment_equation_for_several_effective_k() -> None:
    groups = (BinomialSample(4, 30, 27), BinomialSample(2.5, 20, 15))
    weights = moment_weights(groups)
    A = sum(w * complementary_accuracy(g.K, g.S, g.n) for w, g in zip(weights, groups, strict=True))
    expected = sum(g.n * success_probability(g.K, A) for g in groups)
    assert sum(weights) == pytest.approx(1)
    assert expected == pytest.approx(27 + 15)
    assert moment_weights(groups[:1]) == (1.0,)
