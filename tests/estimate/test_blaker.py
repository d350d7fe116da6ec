"""Blaker's interval: against its definition, exact coverage, within Clopper & Pearson's, symmetric."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from oversight.harness import EstimateError, FloatArray
from oversight.harness.estimate import clopper_pearson
from oversight.harness.estimate.core import blaker


def acceptability(S: int, n: int, q: FloatArray) -> FloatArray:
    """γ(q) as defined: all outcomes whose smaller tail is no more probable than that of S."""
    s = np.arange(n + 1)
    below, above = binom.cdf(s[:, None], n, q), binom.sf(s[:, None] - 1, n, q)
    tail = np.minimum(below, above)
    here: FloatArray = np.where(tail <= tail[S] * (1 + 1e-12), binom.pmf(s[:, None], n, q), 0.0).sum(axis=0)
    return here


@pytest.mark.parametrize("n", [1, 2, 5, 13, 30])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_blakers_interval_is_the_hull_of_the_acceptable_values(n: int, level: float) -> None:
    q: FloatArray = np.linspace(0, 1, 4_001, dtype=np.float64)
    for S in range(n + 1):
        accepted = q[acceptability(S, n, q) > 1 - level]
        low, high = blaker(S, n, level)
        assert low <= accepted[0] + 1e-12
        assert high >= accepted[-1] - 1e-12
        assert (low, high) == pytest.approx((accepted[0], accepted[-1]), abs=3e-4)


@pytest.mark.parametrize("n", [1, 4, 10, 25, 60, 150])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_blakers_interval_covers_even_just_outside_its_ends(n: int, level: float) -> None:
    ends = np.array([blaker(S, n, level) for S in range(n + 1)])
    inner = ends[(ends > 0) & (ends < 1)]
    q = np.concatenate([np.linspace(0, 1, 501), inner - 1e-9, inner + 1e-9])
    inside = (ends[:, :1] <= q) & (q <= ends[:, 1:])
    coverage = (binom.pmf(np.arange(n + 1)[:, None], n, q) * inside).sum(axis=0)
    assert coverage.min() >= level - 1e-9


@given(st.integers(1, 400), st.sampled_from([0.8, 0.9, 0.95, 0.99]), st.data())
@settings(deadline=None)
def test_blakers_interval_lies_within_clopper_and_pearsons(n: int, level: float, data: st.DataObject) -> None:
    S = data.draw(st.integers(0, n))
    low, high = blaker(S, n, level)
    wide = clopper_pearson(S, n, level)
    assert wide[0] <= low <= S / n <= high <= wide[1]
    assert low < high
    assert (1 - high, 1 - low) == pytest.approx(blaker(n - S, n, level), abs=1e-12)


@given(st.integers(1, 200), st.data())
@settings(deadline=None)
def test_more_successes_and_higher_levels_move_the_ends_outwards(n: int, data: st.DataObject) -> None:
    S = data.draw(st.integers(0, n - 1))
    low, high = blaker(S, n)
    more = blaker(S + 1, n)
    assert low <= more[0] + 1e-12
    assert high <= more[1] + 1e-12
    inner = blaker(S, n, 0.9)
    assert low <= inner[0] + 1e-12
    assert inner[1] <= high + 1e-12


def test_blakers_interval_is_shorter_and_is_replaced_beyond_5000_trials() -> None:
    width = [np.ptp(blaker(S, 40)) / np.ptp(clopper_pearson(S, 40)) for S in range(41)]
    assert np.mean(width) < 0.99
    assert blaker(2_000, 5_001) == clopper_pearson(2_000, 5_001)
    below, wide = blaker(2_000, 5_000), clopper_pearson(2_000, 5_000)
    assert np.ptp(below) == pytest.approx(np.ptp(wide), rel=0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ((0, 0, 0.95), "n must be at least 1"),
        ((3, 2, 0.95), "S must be at most n = 2, is 3"),
        ((1, 2, 1.0), r"level must lie in \(0, 1\), is 1\.0"),
    ],
)
def test_bad_counts_are_refused(call: tuple[int, int, float], message: str) -> None:
    with pytest.raises(EstimateError, match=message):
        blaker(*call)
