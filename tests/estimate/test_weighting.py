"""The score interval of a weighted mean of binomial samples: definition, invariances, contradictions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from scipy.stats import binom
from scipy.stats import t as student

from oversight.harness import EstimateError
from oversight.harness.estimate import BinomialSample
from oversight.harness.estimate.core import success_probability
from oversight.harness.estimate.intervals import weighted_score

Groups = list[tuple[float, list[BinomialSample]]]


@st.composite
def possible_groups(draw: st.DrawFn) -> Groups:
    """One to three groups of one or two samples, drawn at accuracies of their own."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    shares = np.array(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)), dtype=np.float64)
    groups = []
    for share in shares / shares.sum():
        A, samples = float(rng.random()), []
        for K in rng.choice([2, 3, 4, 7, 10], size=int(rng.integers(1, 3)), replace=False).tolist():
            n = int(rng.integers(5, 120))
            samples.append(BinomialSample(K, n, int(rng.binomial(n, success_probability(K, A)))))
        groups.append((float(share), samples))
    return groups


def halves(c: BinomialSample) -> list[BinomialSample]:
    """Two samples that together are the one, of means as different as can be."""
    n = c.n // 2
    S = min(n, c.S)
    return [BinomialSample(c.K, n, S), BinomialSample(c.K, c.n - n, c.S - S)]


def solve(groups: Groups) -> tuple[float, float, float, float]:
    """The interval, or a discarded example where the labels contradict every accuracy."""
    try:
        found: tuple[float, float, float, float] = weighted_score(groups, 0.95)
    except EstimateError:
        reject()
    return found


@given(possible_groups())
@settings(deadline=None)
def test_interval_contains_its_estimate_and_has_a_width(groups: Groups) -> None:
    value, low, high, se = solve(groups)
    assert 0 <= low <= min(1, max(0, value)) <= high <= 1
    assert high - low > 1e-4
    assert se > 0


@given(possible_groups())
@settings(deadline=None)
def test_order_does_not_matter_and_equal_samples_add(groups: Groups) -> None:
    found = solve(groups)
    assert weighted_score([(w, samples[::-1]) for w, samples in groups[::-1]], 0.95) == pytest.approx(found)
    cut = [(w, [part for c in samples for part in halves(c)]) for w, samples in groups]
    assert weighted_score(cut, 0.95) == pytest.approx(found, abs=1e-9)


@given(possible_groups())
@settings(deadline=None)
def test_more_labels_of_the_same_shares_make_it_narrower(groups: Groups) -> None:
    value, low, high, se = solve(groups)
    more = [(w, [BinomialSample(c.K, 9 * c.n, 9 * c.S) for c in samples]) for w, samples in groups]
    if value < 0:  # chance alone cannot explain such a value in a larger sample
        return
    value_more, low_more, high_more, se_more = weighted_score(more, 0.95)
    assert value_more == pytest.approx(value, abs=1e-6)
    assert se_more == pytest.approx(se / 3, rel=1e-4)
    assert low <= low_more + 1e-9
    assert high_more <= high + 1e-9


@pytest.mark.parametrize(("K", "n", "S"), [(2, 30, 21), (4, 50, 47), (4, 50, 50), (10, 80, 72), (2, 12, 0)])
def test_one_sample_is_inverted_as_the_module_says(K: int, n: int, S: int) -> None:
    value, low, high, _ = weighted_score([(1.0, [BinomialSample(K, n, S)])], 0.95)
    mean = (K - 1) * S / n - (K - 2)
    assert value == pytest.approx(mean, abs=1e-8)
    A = np.linspace(1e-6, 1 - 1e-6, 100_001)
    seen = (K - 1) ** 2 * (S / n) * (1 - S / n) / n
    variance = np.maximum((1 - A) * (A + K - 2) / n, seen)
    accepted = A[np.abs(mean - A) <= student.ppf(0.975, n) * np.sqrt(variance)]
    assert (low, high) == pytest.approx((accepted[0], accepted[-1]), abs=3e-5)


def test_samples_of_other_k_are_weighted_by_their_information() -> None:
    samples = [BinomialSample(2, 40, 30), BinomialSample(4, 120, 111)]
    value, *_ = weighted_score([(1.0, samples)], 0.95)
    weight = np.array([40 / value, 120 / (value + 2)])
    assert value == pytest.approx(float(np.average([30 / 40, 3 * 111 / 120 - 2], weights=weight)), abs=1e-6)


@pytest.mark.parametrize("A", [0.05, 0.5, 0.95])
def test_interval_of_two_groups_covers_by_enumeration(A: float) -> None:
    """All outcomes of 12 items of two and 15 refusals of four options, of shares one and three quarters."""
    covered = 0.0
    for s, c in itertools.product(range(13), range(16)):
        chance = binom.pmf(s, 12, A) * binom.pmf(c, 15, success_probability(4, A))
        if chance < 1e-7:
            continue
        try:
            _, low, high, _ = weighted_score(
                [(0.25, [BinomialSample(2, 12, s)]), (0.75, [BinomialSample(4, 15, c)])], 0.95
            )
        except EstimateError:
            continue  # a refusal counts as a missed interval
        covered += float(chance) * (low <= A <= high)
    assert covered >= 0.94


def test_labels_that_contradict_every_accuracy_are_refused() -> None:
    with pytest.raises(
        EstimateError,
        match="contradict every accuracy: even the accuracy that fits best, 0%, differs from",
    ):
        weighted_score([(1.0, [BinomialSample(4, 90, 30)])], 0.95)
    value, low, _, se = weighted_score([(1.0, [BinomialSample(4, 90, 58)])], 0.95)
    assert value < 0 == low
    assert not math.isnan(se)
