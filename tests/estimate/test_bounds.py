"""Deviation bounds: their formulas, their errata, and that they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from oversight.harness import EstimateError
from oversight.harness.estimate import (
    BinomialSample,
    bernstein,
    complementary_radius,
    estimated_variance_radius,
    fixed_weight_radius,
    grid_radius,
    hoeffding,
    mixture_radius,
    plugin_weight_radius,
    success_probability,
)
from oversight.harness.estimate.estimators.ivw import optimal_weight
from oversight.harness.estimate.intervals.deviation import influence, union_radius


def test_hoeffding_of_an_ordinary_sample() -> None:
    assert hoeffding(2, 200, 0.05) == pytest.approx(math.sqrt(math.log(40) / 400))


def test_bernstein_uses_the_unbiased_variance() -> None:
    """Over n − 1 as stated; the n in the paper's proof is a slip."""
    K, S, n, delta = 4, 80, 90, 0.05
    q = S / n
    unbiased = q * (1 - q) * n / (n - 1)
    log = math.log(4 / delta)
    expected = 3 * (math.sqrt(2 * unbiased * log / n) + 7 * log / (3 * (n - 1)))
    assert bernstein(K, S, n, delta) == pytest.approx(expected)


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


def test_proposition_3_in_its_symmetric_form() -> None:
    hits, misses, w, delta = BinomialSample(2, 30, 24), BinomialSample(4, 90, 84), 0.6, 0.05
    log4, log8 = math.log(4 / delta), math.log(8 / delta)
    a, q = 24 / 30, 84 / 90
    first = w * math.sqrt(log4 / 60) + (1 - w) * 3 * math.sqrt(log4 / 180)
    second = w * (math.sqrt(2 * a * (1 - a) * log8 / 29) + 7 * log8 / 87)
    second += (1 - w) * (math.sqrt(2 * 9 * q * (1 - q) * log8 / 89) + 21 * log8 / 267)
    published = mixture_radius(hits, misses, w, delta / 2, delta / 2, published=True)
    assert published == pytest.approx(min(first, second))
    assert mixture_radius(hits, misses, w, delta / 2, delta / 2) > published


@pytest.mark.parametrize(
    ("w", "sample"), [(1.0, BinomialSample(2, 30, 24)), (0.0, BinomialSample(4, 90, 84))]
)
def test_union_of_one_sample_is_its_own_bound(w: float, sample: BinomialSample) -> None:
    parts, weights = (BinomialSample(2, 30, 24), BinomialSample(4, 90, 84)), (w, 1 - w)
    own = bernstein(sample.K, sample.S, sample.n, 0.025)
    assert union_radius(parts, weights, (0.025, 0.025), empirical=True) == pytest.approx(own)


def test_equation_16_is_15_at_the_plug_in_weight() -> None:
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


def test_grid_pays_for_its_size() -> None:
    def bound(w: float, delta: float) -> float:
        return fixed_weight_radius(0.001, w, delta)

    grid = (0.0, 0.5, 1.0)
    assert grid_radius(bound, 0.5, grid, 0.06) == bound(0.5, 0.02)
    with pytest.raises(EstimateError, match="w must be one of the grid"):
        grid_radius(bound, 0.4, grid, 0.06)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bernstein(4, 1, 1, 0.05), "n must be at least 2 for this bound, is 1"),
        (lambda: hoeffding(4, 0, 0.05), "n must be at least 1 for this bound, is 0"),
        (lambda: hoeffding(4, 10, 1.0), r"delta must lie in \(0, 1\), is 1\.0"),
        (lambda: fixed_weight_radius(-1.0, 0.1, 0.05), "v and c must be ≥ 0"),
        (
            lambda: union_radius((BinomialSample(2, 5, 5),), (1.2,), (0.1,), empirical=False),
            r"w must lie in \[0, 1\], is 1\.2",
        ),
    ],
)
def test_bad_arguments(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(EstimateError, match=message):
        call()
