"""Intervals by name, and the rules that combine them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest

from oversight.harness import EstimateError
from oversight.harness.estimate import BinomialSample, clopper_pearson, estimate_counts, maximum_likelihood
from oversight.harness.estimate.core import jeffreys, mover_sum, wilson
from oversight.harness.estimate.estimators import log_likelihood, make_point
from oversight.harness.estimate.intervals import (
    INTERVALS,
    bernstein,
    hoeffding,
    likelihood_ratio_interval,
    make_interval,
    scale_by_share,
    score_interval,
)
from oversight.harness.types import Note, NoteKind

HITS, MISSES = BinomialSample(2, 120, 77), (BinomialSample(4, 360, 321),)


@given(st.integers(1, 200), st.data())
def test_binomial_intervals_equal_those_of_scipy(n: int, data: st.DataObject) -> None:
    S = data.draw(st.integers(0, n))
    test = binomtest(S, n)
    assert wilson(S, n) == pytest.approx(tuple(test.proportion_ci(0.95, "wilson")), abs=1e-12)
    assert clopper_pearson(S, n) == pytest.approx(tuple(test.proportion_ci(0.95, "exact")), abs=1e-9)
    if 0 < S < n:
        ends = (beta.ppf(0.025, S + 0.5, n - S + 0.5), beta.ppf(0.975, S + 0.5, n - S + 0.5))
        assert jeffreys(S, n) == pytest.approx(ends)


def test_jeffreys_reaches_the_edges() -> None:
    assert jeffreys(0, 20)[0] == 0
    assert jeffreys(20, 20)[1] == 1


@given(st.sampled_from([2, 3, 4, 10]), st.integers(1, 300), st.data())
def test_score_interval_of_one_sample_is_wilsons(K: int, n: int, data: st.DataObject) -> None:
    S = data.draw(st.integers(0, n))
    low, high = wilson(S, n)
    low, high = (K - 1) * low - (K - 2), (K - 1) * high - (K - 2)
    parts = (BinomialSample(K, n, S),)
    A = maximum_likelihood(parts)
    if high < 0:
        assert score_interval(parts, A) == (0.0, 0.0)
    else:
        assert score_interval(parts, A) == pytest.approx((max(0.0, low), high), abs=1e-6)


@pytest.mark.parametrize(("S_o", "S_c"), [(77, 321), (0, 300), (120, 360), (120, 340), (3, 260)])
def test_ends_of_score_and_likelihood_ratio_touch_their_bounds(S_o: int, S_c: int) -> None:
    parts = (BinomialSample(2, 120, S_o), BinomialSample(4, 360, S_c))
    z2 = 1.959963984540054**2
    peak = maximum_likelihood(parts)
    best = log_likelihood(parts, peak)
    for A in likelihood_ratio_interval(parts, peak):
        if 0 < A < 1:
            assert 2 * (best - log_likelihood(parts, A)) == pytest.approx(z2, rel=1e-6)
    for A in score_interval(parts, peak):
        if 0 < A < 1:
            U = S_o / A + S_c / (A + 2) - (480 - S_o - S_c) / (1 - A)
            info = 120 / (A * (1 - A)) + 360 / ((A + 2) * (1 - A))
            assert U * U / info == pytest.approx(z2, rel=1e-6)


@pytest.mark.parametrize("name", ["ord", "comp", "ivw_half", "ivw", "ml"])
@pytest.mark.parametrize("method", INTERVALS)
def test_every_method_holds_the_value_within_the_unit_interval(name: str, method: str) -> None:
    p = make_point(name, HITS, MISSES)
    if method in ("blaker", "wilson", "jeffreys", "clopper_pearson") and name not in ("ord", "comp"):
        with pytest.raises(EstimateError, match="for one binomial sample"):
            make_interval(p, method)
        return
    made = make_interval(p, method)
    assert 0 <= made.low < p.value < made.high <= 1
    assert made.method == ("blaker" if (name, method) == ("ord", "exact") else method)


def test_exact_gives_way_to_a_score_test_on_a_large_lattice_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    p = make_point("ml", HITS, MISSES)
    small = make_interval(p)
    monkeypatch.setattr("oversight.harness.estimate.intervals.LATTICE_LIMIT", 4_000)
    large = make_interval(p)
    assert (small.method, small.notes) == ("exact", ())
    assert (large.method, large.notes) == ("weighted-score", (Note(NoteKind.LATTICE_TOO_LARGE),))
    assert (large.low, large.high) == pytest.approx((small.low, small.high), abs=5e-3)


def test_wald_is_the_value_and_its_error() -> None:
    e = estimate_counts(4, 77, 120, 321, 360, interval="wald")["ml"]
    assert e.se is not None
    assert (e.low, e.high) == pytest.approx((e.value - 1.959964 * e.se, e.value + 1.959964 * e.se))


def test_hoeffding_and_bernstein_intervals_are_union_bounds() -> None:
    e = estimate_counts(4, 77, 120, 321, 360, interval="hoeffding")["ivw_half"]
    half = 0.5 * (hoeffding(2, 120, 0.025) + hoeffding(4, 360, 0.025))
    assert e.high - e.value == pytest.approx(half)
    e = estimate_counts(4, 77, 120, 321, 360, interval="bernstein")["comp"]
    assert e.high - e.value == pytest.approx(bernstein(4, 321, 360, 0.05))


def test_ml_is_the_mixture_its_weights_say() -> None:
    p = make_point("ml", HITS, MISSES)
    assert sum(p.weights) == pytest.approx(1)
    mixed = p.weights[0] * 77 / 120 + p.weights[1] * (3 * 321 / 360 - 2)
    assert mixed == pytest.approx(p.value, abs=1e-12)


def test_wald_needs_two_labels_with_the_published_error() -> None:
    found = estimate_counts(4, 1, 1, 5, 9, published=True)
    assert "'wald' needs a standard error" in found.undefined["ord"]


def test_sum_of_one_part_is_its_interval() -> None:
    assert mover_sum([0.4], [0.3], [0.6], [1.0]) == pytest.approx((0.3, 0.6))


def test_sum_of_symmetric_parts_adds_variances() -> None:
    low, high = mover_sum([0.4, 0.6], [0.3, 0.5], [0.5, 0.7], [0.5, 0.5])
    assert high - 0.5 == pytest.approx(0.1 / math.sqrt(2))
    assert 0.5 - low == pytest.approx(0.1 / math.sqrt(2))


def test_variance_between_widens() -> None:
    _, high = mover_sum([0.4], [0.4], [0.4], [1.0], between=0.01)
    assert high == pytest.approx(0.5)


def test_a_share_of_many_items_leaves_the_interval_of_the_mean() -> None:
    assert scale_by_share(1.0, 10**9, 0.4, 0.3, 0.6, 0.95) == pytest.approx((0.4, 0.3, 0.6), abs=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wilson(3, 0), "S must be at most n = 0, is 3"),
        (lambda: wilson(0, 0), "n must be at least 1 for an interval, is 0"),
        (lambda: clopper_pearson(1, 2, 1.0), r"level must lie in \(0, 1\), is 1\.0"),
    ],
)
def test_bad_arguments_are_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(EstimateError, match=message):
        call()


def test_labels_that_fit_no_accuracy_do_not_pass_for_a_sample_of_bad_luck() -> None:
    """Ten of thirty refusals hit the prediction where at most one in nine should."""
    worse, unlucky = (
        make_interval(make_point("ml", BinomialSample(2, 0, 0), (BinomialSample(10, 30, S),)))
        for S in (20, 22)
    )
    assert worse.low < worse.high
    assert Note(NoteKind.CONTRADICTS_MODEL) in worse.notes
    assert "fewer than 1 in 200 samples" in worse.why
    assert Note(NoteKind.CONTRADICTS_MODEL) in unlucky.notes
    assert unlucky.why == ""
