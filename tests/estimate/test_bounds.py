"""Deviation bounds: their formulas and their errata."""

from __future__ import annotations

import math

import pytest

from oversight.harness import EstimateError
from oversight.harness.estimate import BinomialSample
from oversight.harness.estimate.intervals import bernstein, hoeffding, union_radius


def test_hoeffding_radius_has_its_closed_form() -> None:
    assert hoeffding(2, 200, 0.05) == pytest.approx(math.sqrt(math.log(40) / 400))


def test_bernstein_uses_the_unbiased_variance() -> None:
    """Over n − 1 as stated; the n in the paper's proof is a slip."""
    K, S, n, delta = 4, 80, 90, 0.05
    q = S / n
    unbiased = q * (1 - q) * n / (n - 1)
    log = math.log(4 / delta)
    expected = 3 * (math.sqrt(2 * unbiased * log / n) + 7 * log / (3 * (n - 1)))
    assert bernstein(K, S, n, delta) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("w", "sample"), [(1.0, BinomialSample(2, 30, 24)), (0.0, BinomialSample(4, 90, 84))]
)
def test_union_of_one_sample_is_its_own_bound(w: float, sample: BinomialSample) -> None:
    parts, weights = (BinomialSample(2, 30, 24), BinomialSample(4, 90, 84)), (w, 1 - w)
    own = bernstein(sample.K, sample.S, sample.n, 0.025)
    assert union_radius(parts, weights, (0.025, 0.025), empirical=True) == pytest.approx(own)


def test_bernstein_needs_two_labels() -> None:
    with pytest.raises(EstimateError, match="n must be at least 2 for this bound, is 1"):
        bernstein(4, 1, 1, 0.05)
