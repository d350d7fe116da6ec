"""Comparing two models: hand-computed cases, ties shown as ties, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from oversight.harness import EstimateError, NotIdentified
from oversight.harness.estimate import RoutedSample, clopper_pearson, paired_proportions
from oversight.harness.estimate.core import sign_p_value
from oversight.harness.estimate.paired import TIED, mcnemar, paired_difference, sign_test


def test_mcnemar_is_the_exact_binomial_on_the_discordant_items() -> None:
    first = np.array([1] * 60 + [1] * 14 + [0] * 3 + [0] * 23)
    second = np.array([1] * 60 + [0] * 14 + [1] * 3 + [0] * 23)
    c = replace(mcnemar(first, second, questions=25), first="new", second="old")
    assert c.difference == pytest.approx(0.11)
    assert c.p_value == pytest.approx(stats.binomtest(14, 17).pvalue)
    assert c.verdict == "new"
    assert (c.items, c.questions) == (100, 25)
    assert mcnemar(second, first, questions=25).verdict == "b"
    assert "new is better" in str(c)


def test_a_difference_that_is_not_significant_is_a_tie() -> None:
    c = mcnemar([1, 1, 1, 0], [1, 1, 0, 0], questions=4)
    assert c.difference == 0.25
    assert c.verdict == TIED
    assert str(c).startswith("not decided: a − b +25.0 points")
    same = mcnemar([1, 0], [1, 0], questions=0)
    assert (same.p_value, same.verdict) == (1.0, TIED)
    assert same.low < 0 < same.high


def test_mcnemar_holds_whatever_the_unknown_items_are() -> None:
    first, second = np.array([1] * 12 + [0] * 4 + [1] * 20), np.array([0] * 12 + [1] * 4 + [1] * 20)
    unknown = np.array([-1] * 5)
    all_known = mcnemar(first, second, questions=0)
    open_ = mcnemar([*first, *unknown], [*second, *unknown], questions=0)
    worst = mcnemar([*first, *np.zeros(5)], [*second, *np.ones(5)], questions=0)
    best = mcnemar([*first, *np.ones(5)], [*second, *np.zeros(5)], questions=0)
    assert (open_.low, open_.high) == (worst.low, best.high)
    assert open_.p_value == worst.p_value > all_known.p_value
    # If the other model is known to be right on the open items, the first cannot gain.
    half = mcnemar([*first, *unknown], [*second, *np.ones(5)], questions=0)
    assert half.low == worst.low
    assert half.high < best.high


def test_mcnemar_leaves_out_what_is_unknown() -> None:
    c = mcnemar([1, -1, 0], [0, 1, 0], questions=3)
    assert (c.items, c.flags) == (2, ("unresolved: 1",))
    with pytest.raises(EstimateError, match="at least 1 resolved"):
        mcnemar([-1], [1], questions=0)
    with pytest.raises(EstimateError, match="differ in length"):
        mcnemar([1], [1, 0], questions=0)
    with pytest.raises(EstimateError, match=r"second\[0\]"):
        mcnemar([1], [3], questions=0)


def test_sign_test_follows_its_formula() -> None:
    refuted = np.zeros(100, dtype=np.int64)
    first = np.where(np.arange(100) < 4, 0, 1)
    second = np.where((np.arange(100) >= 4) & (np.arange(100) < 16), 0, 1)
    c = sign_test(first, second, refuted, 4)
    assert c.difference == pytest.approx(3 * (12 - 4) / 100)
    assert c.p_value == pytest.approx(stats.binomtest(4, 16).pvalue)
    low, high = paired_proportions(12, 4, 100, 0.95)
    assert (c.low, c.high) == pytest.approx((3 * low, 3 * high))
    with pytest.raises(EstimateError, match=r"first\[0\] must lie in 0..3, is -1"):
        sign_test([-1], [0], [1], 4)
    with pytest.raises(EstimateError, match="at least 1 complementary"):
        sign_test([], [], [], 4)


def test_sign_p_value_is_exact_at_the_edges() -> None:
    assert sign_p_value(0, 0) == 1
    assert sign_p_value(3, 3) == 1
    assert sign_p_value(0, 6) == pytest.approx(2 * 0.5**6)
    with pytest.raises(EstimateError, match="n_10"):
        sign_p_value(-1, 2)


def test_paired_proportions_is_antisymmetric_and_never_empty() -> None:
    low, high = paired_proportions(7, 2, 50, 0.95)
    assert paired_proportions(2, 7, 50, 0.95) == pytest.approx((-high, -low))
    low, high = paired_proportions(0, 0, 50, 0.95)
    assert low < 0 < high


def test_paired_difference_from_disagreements_only() -> None:
    # 6 agreeing items unasked; 4 disagreements asked about one of the two predictions by a coin.
    first, second = np.array([0] * 6 + [0] * 4), np.array([0] * 6 + [1] * 4)
    pi = np.zeros((10, 3))
    pi[6:, :2] = 0.5
    p = np.zeros((10, 3))
    p[:, :2] = 0.5
    data = RoutedSample(np.arange(6, 10), np.array([0, 0, 1, 1]), np.array([1.0, 1, 0, 1]), pi, posterior=p)
    c = paired_difference(first, second, data)
    assert c.difference == pytest.approx((1 + 1 + 1 - 1) / 10)
    assert c.questions == 4
    reverse = paired_difference(second, first, data)
    assert (reverse.difference, reverse.low) == pytest.approx((-c.difference, -c.high))


def test_unreadable_answer_is_wrong_whichever_of_two_options_was_asked_about() -> None:
    truth, asked = np.tile([0, 1], 60), np.repeat([0, 1], 60)
    data = RoutedSample(
        item=np.arange(120),
        asked=asked,
        answer=(asked == truth).astype(np.float64),
        propensities=np.full((120, 2), 0.5),
    )
    unreadable = np.full(120, -1)
    for first, difference in ((truth, 1.0), (1 - truth, 0.0)):
        assert paired_difference(first, unreadable, data).difference == pytest.approx(difference)
        assert paired_difference(unreadable, first, data).difference == pytest.approx(-difference)


def test_the_number_of_unreadable_answers_is_random() -> None:
    # on 17 items only one prediction is readable, on 14 that of the first model; all of them are right
    first, second = np.zeros(300, dtype=np.int64), np.zeros(300, dtype=np.int64)
    second[:14], first[14:17] = -1, -1
    pi = np.full((300, 10), 0.1 / 9)
    pi[:, 0] = 0.9
    data = RoutedSample(np.arange(300), np.zeros(300, dtype=np.int64), np.ones(300), pi)
    c = paired_difference(first, second, data)
    resolved = mcnemar(first == 0, second == 0, questions=300)
    assert c.difference == pytest.approx(resolved.difference, abs=0.002)
    assert c.p_value > resolved.p_value
    assert c.high - c.low > 0.9 * (resolved.high - resolved.low)


def test_paired_difference_refuses_what_was_never_asked() -> None:
    data = RoutedSample(
        np.array([0, 1]), np.array([0, 0]), np.array([1.0, 0.0]), np.array([[1.0, 0, 0], [1.0, 0, 0]])
    )
    with pytest.raises(NotIdentified, match="propensity 0"):
        paired_difference([0, 0], [1, 1], data)
    same = paired_difference([0, 0], [0, 0], data)
    assert (same.difference, same.verdict, same.flags) == (0, TIED, ("never_differ",))
    assert (same.low, same.high) == (-clopper_pearson(0, 2)[1], clopper_pearson(0, 2)[1])
