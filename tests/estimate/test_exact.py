"""Exact intervals against a brute-force inversion of the same test."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.stats import binom

from oversight.harness import EstimateError
from oversight.harness.estimate import BinomialSample, maximum_likelihood
from oversight.harness.estimate.core import success_probability
from oversight.harness.estimate.estimators import pool_samples
from oversight.harness.estimate.intervals import exact_interval, lattice_size

GRID = np.linspace(0.0005, 0.9995, 1000)


def exact(samples: tuple[BinomialSample, ...], level: float = 0.95, tol: float = 1e-7) -> tuple[float, float]:
    parts = pool_samples(samples)
    return exact_interval(parts, maximum_likelihood(parts), level, tol)


def p_value(parts: tuple[BinomialSample, ...], A: float) -> float:
    """Sum of the probabilities of all outcomes at least as far from the mean score."""
    axes = np.meshgrid(*(np.arange(c.n + 1) for c in parts), indexing="ij")
    q = [success_probability(c.K, A) for c in parts]
    score = np.full(axes[0].shape, -float(sum(c.n for c in parts)))
    mass = np.ones(axes[0].shape)
    for c, s, p in zip(parts, axes, q, strict=True):
        score += s / p
        mass *= binom.pmf(s, c.n, p)
    seen = abs(float(score[tuple(c.S for c in parts)]))
    return float(mass[np.abs(score) >= seen - 1e-9].sum())


@pytest.mark.parametrize(
    "parts",
    [
        (BinomialSample(2, 9, 7), BinomialSample(4, 25, 22)),
        (BinomialSample(2, 9, 0), BinomialSample(4, 25, 12)),
        (BinomialSample(2, 9, 9), BinomialSample(4, 25, 25)),
        (BinomialSample(2, 3, 1), BinomialSample(10, 40, 36)),
        (BinomialSample(2, 3, 3), BinomialSample(16, 20, 15)),
        (BinomialSample(4, 40, 33),),
        (BinomialSample(4, 40, 10),),
        (BinomialSample(2, 6, 4), BinomialSample(4, 8, 7), BinomialSample(2.5, 7, 5)),
        (BinomialSample(2, 14, 8), BinomialSample(3, 14, 11)),
    ],
)
def test_hull_of_the_brute_force_set(parts: tuple[BinomialSample, ...]) -> None:
    inside = np.array([A for A in GRID if p_value(parts, float(A)) > 0.05])
    low, high = exact(parts)
    step = GRID[1] - GRID[0]
    if inside.size == 0:
        assert (low, high) == (0.0, 0.0)
        return
    assert low <= inside[0]
    assert inside[-1] <= high
    if maximum_likelihood(parts) > 0:  # an estimate of 0 always belongs to its interval
        assert low == pytest.approx(inside[0], abs=1.01 * step)
    assert high == pytest.approx(inside[-1], abs=1.01 * step)


def test_end_is_where_the_p_value_crosses() -> None:
    parts = (BinomialSample(2, 9, 7), BinomialSample(4, 25, 22))
    low, high = exact(parts, tol=1e-9)
    for end, outwards in ((low, -1), (high, 1)):
        assert p_value(parts, end + outwards * 1e-6) <= 0.05
        assert p_value(parts, end - outwards * 1e-6) > 0.05


def test_higher_level_is_wider() -> None:
    parts = (BinomialSample(2, 30, 20), BinomialSample(4, 90, 78))
    (l1, h1), (l2, h2) = exact(parts, 0.9), exact(parts, 0.99)
    assert l2 < l1 < h1 < h2


def test_equal_k_is_pooled() -> None:
    split = (
        BinomialSample(2, 30, 20),
        BinomialSample(2, 10, 9),
        BinomialSample(4, 40, 35),
        BinomialSample(4, 50, 43),
    )
    assert exact(split) == exact((BinomialSample(2, 40, 29), BinomialSample(4, 90, 78)))


def test_a_hundred_thousand_outcomes_take_well_under_a_second() -> None:
    parts = (BinomialSample(2, 316, 300), BinomialSample(4, 316, 300))
    assert lattice_size(parts) > 100_000
    started = time.perf_counter()
    exact(parts)
    assert time.perf_counter() - started < 0.5


def test_sample_without_trials_is_refused() -> None:
    with pytest.raises(EstimateError, match="n must be at least 1"):
        exact((BinomialSample(4, 0, 0),))
