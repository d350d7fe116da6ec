"""Formulas of the partitioned-supervision paper that only its page needs: weights, Newton's step, bounds."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from benchmarks.papers.partitioned_maths import (
    complementary_radius,
    estimated_variance_radius,
    fixed_weight_radius,
    influence,
    ivw_accuracy,
    mix_variance,
    mixture_radius,
    one_step_newton,
    optimal_weight,
    plugin_weight_radius,
    safe_plugin_weight,
    variance_ratio,
    variances_at,
)
from oversight.harness.estimate import BinomialSample
from oversight.harness.estimate.core import success_probability
from oversight.harness.estimate.estimators import closed_form, plugin_weight
from oversight.harness.estimate.intervals import bernstein, hoeffding


@given(st.sampled_from([2, 3, 4, 10]), st.floats(0.02, 0.98), st.integers(1, 500), st.integers(1, 500))
def test_optimal_weight_minimises_the_variance(K: int, A: float, n_o: int, n_c: int) -> None:
    v_o, v_c = variances_at(K, A, n_o, n_c)
    w = optimal_weight(K, A, n_o, n_c)
    best = mix_variance(w, v_o, v_c)
    assert v_o * v_c / (v_o + v_c) == pytest.approx(best)
    for other in (w - 0.01, w + 0.01):
        if 0 <= other <= 1:
            assert mix_variance(other, v_o, v_c) > best


@given(st.sampled_from([2, 3, 4, 10, 16]), st.floats(0.02, 0.98))
def test_eq_4_is_the_ratio_of_the_two_variances(K: int, A: float) -> None:
    v_o, v_c = variances_at(K, A, 30, 50)
    assert variance_ratio(K, A, 30, 50) == pytest.approx(v_c / v_o)


def test_pilot_weight_is_not_the_plug_in() -> None:
    """EDINET, inferred counts: the paper prints 17.95 (Eq. 7); Eq. 8 with A_ord as pilot gives 17.78."""
    runs = zip((4, 7, 7), (437, 440, 435), strict=True)
    values = [ivw_accuracy(16, S_o, 31, S_c, 465, optimal_weight(16, S_o / 31, 31, 465)) for S_o, S_c in runs]
    assert f"{100 * statistics.mean(values):.2f}" == "17.78"


def test_the_safe_weight_is_eq_7_unless_a_sample_does_not_vary() -> None:
    assert safe_plugin_weight(4, 24, 30, 84, 90) == plugin_weight(4, 24, 30, 84, 90)
    assert 0 < safe_plugin_weight(4, 30, 30, 90, 90) < 1


def test_one_newton_step_stays_at_the_root_and_nears_it_from_a_pilot() -> None:
    A = closed_form(4, 77, 120, 321, 360)
    pilot = 77 / 120
    assert one_step_newton(4, 77, 120, 321, 360, A) == pytest.approx(A, abs=1e-9)
    assert abs(one_step_newton(4, 77, 120, 321, 360, pilot) - A) < 0.1 * abs(pilot - A)


@pytest.mark.parametrize(("S_c", "n_c"), [(40, 60), (3000, 3000)])
def test_theorem_2_pays_for_choosing_the_smaller(S_c: int, n_c: int) -> None:
    """min of two bounds at δ each is not a bound at δ: half of it for each."""
    published = complementary_radius(4, S_c, n_c, 0.05, published=True)
    corrected = complementary_radius(4, S_c, n_c, 0.05)
    assert corrected > published
    assert corrected == pytest.approx(complementary_radius(4, S_c, n_c, 0.025, published=True))


def test_theorem_2_switches_to_bernstein_where_little_varies() -> None:
    assert complementary_radius(4, 60, 90, 0.1, published=True) == hoeffding(4, 90, 0.1)
    assert complementary_radius(4, 9000, 9000, 0.1, published=True) == bernstein(4, 9000, 9000, 0.1)


def test_proposition_3_holds_in_its_symmetric_form() -> None:
    hits, misses, w, delta = BinomialSample(2, 30, 24), BinomialSample(4, 90, 84), 0.6, 0.05
    log4, log8 = math.log(4 / delta), math.log(8 / delta)
    a, q = 24 / 30, 84 / 90
    first = w * math.sqrt(log4 / 60) + (1 - w) * 3 * math.sqrt(log4 / 180)
    second = w * (math.sqrt(2 * a * (1 - a) * log8 / 29) + 7 * log8 / 87)
    second += (1 - w) * (math.sqrt(2 * 9 * q * (1 - q) * log8 / 89) + 21 * log8 / 267)
    published = mixture_radius(hits, misses, w, delta / 2, delta / 2, published=True)
    assert published == pytest.approx(min(first, second))
    assert mixture_radius(hits, misses, w, delta / 2, delta / 2) > published


def test_equation_16_equals_equation_15_at_the_plug_in_weight() -> None:
    hits, misses, delta = BinomialSample(2, 30, 24), BinomialSample(4, 90, 84), 0.05
    v_o, v_c = 0.8 * 0.2 / 30, 9 * (84 / 90) * (6 / 90) / 90
    w = v_c / (v_o + v_c)
    log = math.log(2 / delta)
    expected = math.sqrt(2 * log * v_o * v_c / (v_o + v_c)) + log * max(w / 30, (1 - w) * 3 / 90)
    assert plugin_weight_radius(hits, misses, delta) == pytest.approx(expected)
    assert estimated_variance_radius(hits, misses, w, delta) == pytest.approx(expected)


def test_theorem_4_holds_at_the_true_variance() -> None:
    K, n_o, n_c, A, delta = 4, 30, 90, 0.8, 0.05
    w = optimal_weight(K, A, n_o, n_c)
    q = success_probability(K, A)
    v = w**2 * A * (1 - A) / n_o + (1 - w) ** 2 * 9 * q * (1 - q) / n_c
    radius = fixed_weight_radius(v, influence(K, w, n_o, n_c), delta)
    s_o, s_c = np.arange(n_o + 1)[:, None], np.arange(n_c + 1)[None, :]
    mass = binom.pmf(s_o, n_o, A) * binom.pmf(s_c, n_c, q)
    off = np.abs(w * s_o / n_o + (1 - w) * (3 * s_c / n_c - 2) - A)
    assert 0.95 <= mass[off <= radius].sum() < 0.99999
