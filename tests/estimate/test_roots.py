"""The root of a falling function, as near as floats come."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binom

from oversight.harness.estimate import binomial_at_least, find_root


@pytest.mark.parametrize("power", [1, 3, 0.2])
@pytest.mark.parametrize("at", [0.1, 0.5, 0.999, 1 - 1e-12])
def test_root_is_found_however_flat_or_steep(at: float, power: float) -> None:
    def falling(x: float) -> float:
        return math.copysign(abs(at - x) ** power, at - x)

    assert find_root(falling, 0.0, 1.0) == pytest.approx(at, abs=1e-13)
    assert find_root(lambda x: 1.0 if x < at else -1.0, 0.0, 1.0) == pytest.approx(at, abs=1e-14)


@pytest.mark.parametrize("left", [0.9, 0.99999, 1 - 1e-15, 1e6])
def test_search_for_a_root_ends_between_adjacent_numbers(left: float) -> None:
    right = math.nextafter(math.nextafter(left, 2 * left), 2 * left) if left > 1 - 1e-14 else 1.0
    assert left <= find_root(lambda x: left - x, left, right) <= right


@pytest.mark.parametrize(("k", "n"), [(0, 5), (6, 5), (5, 5), (3, 7), (900, 1000)])
@pytest.mark.parametrize("p", [0.0, 1e-9, 0.4, 1.0])
def test_the_exact_tail_is_that_of_a_library(k: int, n: int, p: float) -> None:
    assert binomial_at_least(k, n, p) == pytest.approx(float(binom.sf(k - 1, n, p)), rel=1e-12)
