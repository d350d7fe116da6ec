"""Intervals of a mean that only a share of the items carries, and the effective number of clustered items."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oversight.harness.estimate import clopper_pearson
from oversight.harness.estimate.core import share_interval
from oversight.harness.estimate.intervals import effective_size, scale_by_share

ends = st.tuples(*[st.floats(-1, 1)] * 3).map(lambda three: tuple(sorted(three)))


@given(st.integers(1, 300), st.sampled_from([0.8, 0.95]), st.data())
def test_the_interval_of_a_share_of_whole_counts_is_clopper_and_pearsons(
    n: int, level: float, data: st.DataObject
) -> None:
    m = data.draw(st.integers(0, n))
    assert share_interval(m, n, level) == pytest.approx(clopper_pearson(m, n, level), abs=1e-9)


@given(st.floats(0, 1), st.floats(1, 1000))
def test_the_interval_of_a_share_of_an_effective_size_lies_between_its_neighbours(
    share: float, n: float
) -> None:
    low, high = share_interval(share * n, n, 0.95)
    assert 0 <= low <= share + 1e-9
    assert share <= high + 1e-9 <= 1 + 1e-9
    more = share_interval(2 * share * n, 2 * n, 0.95)
    assert more[1] - more[0] <= high - low + 1e-9


@given(ends, st.floats(0.01, 1), st.integers(1, 500), st.sampled_from([0.8, 0.95]))
def test_interval_contains_its_estimate_and_stays_within_the_share(
    mean: tuple[float, float, float], share: float, n: int, level: float
) -> None:
    low, value, high = mean
    least, most = share_interval(share * n, n, level)
    made, below, above = scale_by_share(share, n, value, low, high, level)
    assert made == share * value
    assert -most - 1e-9 <= below <= made + 1e-12
    assert made - 1e-12 <= above <= most + 1e-9
    # at least as wide as the interval times the observed share, at most the product of both intervals
    assert below <= share * low + 1e-9
    assert above >= share * high - 1e-9
    assert below >= min(low * most, low * least) - 1e-9
    assert above <= max(high * most, high * least) + 1e-9


@given(ends, st.floats(0.01, 1), st.integers(1, 500))
def test_opposite_sign_mirrors_the_interval(mean: tuple[float, float, float], share: float, n: int) -> None:
    low, value, high = mean
    made, below, above = scale_by_share(share, n, value, low, high, 0.95)
    assert scale_by_share(share, n, -value, -high, -low, 0.95) == pytest.approx((-made, -above, -below))


@given(ends, st.floats(0.05, 0.95), st.integers(2, 200))
def test_more_items_narrow_the_interval(mean: tuple[float, float, float], share: float, n: int) -> None:
    low, value, high = mean
    _, below, above = scale_by_share(share, n, value, low, high, 0.95)
    _, below_more, above_more = scale_by_share(share, 4 * n, value, low, high, 0.95)
    assert below <= below_more + 1e-9
    assert above >= above_more - 1e-9


def test_a_mean_of_which_nothing_is_known_leaves_the_share() -> None:
    least, most = clopper_pearson(6, 20)
    assert scale_by_share(0.3, 20, 0.0, -1.0, 1.0, 0.95) == pytest.approx((0.0, -most, most))
    made, low, high = scale_by_share(0.3, 20, 1.0, 1.0, 1.0, 0.95)
    assert (made, low, high) == pytest.approx((0.3, least, most))


@given(st.integers(2, 60), st.integers(1, 6), st.integers(0, 10**6))
def test_items_that_repeat_their_cluster_count_once(groups: int, size: int, seed: int) -> None:
    values = np.random.default_rng(seed).random(groups)
    cluster = np.repeat(np.arange(groups), size)
    alone = effective_size(values, np.arange(groups), 0.95)
    assert alone <= groups
    # The design effect of uniform clusters is their size, up to a factor groups/(groups − 1).
    together = effective_size(np.repeat(values, size), cluster, 0.95)
    assert together == pytest.approx(alone, rel=1 / groups + 1e-9)
    assert effective_size(1 - np.repeat(values, size), cluster, 0.95) == pytest.approx(together)


def test_values_that_balance_within_clusters_are_no_better_than_independent() -> None:
    values, cluster = np.tile([0.0, 1.0], 30), np.repeat(np.arange(30), 2)
    assert 0.8 * 60 < effective_size(values, cluster, 0.95) < 60
    constant = effective_size(np.ones(60), cluster, 0.95)
    assert constant == 30
