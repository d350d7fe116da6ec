"""The maximum-likelihood estimate: its root, its reductions and its errors."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oversight.harness import EstimateError
from oversight.harness.estimate import BinomialSample, estimate_counts, maximum_likelihood
from oversight.harness.estimate.core import effective_options
from oversight.harness.estimate.estimators import (
    closed_form,
    complementary_accuracy,
    information,
    log_likelihood,
    make_point,
    published_se,
)

Counts = tuple[int, int, int, int, int]


@st.composite
def counts(draw: st.DrawFn, largest: int = 2000) -> Counts:
    K = draw(st.sampled_from([2, 3, 4, 5, 10, 16]))
    n_o = draw(st.integers(0, largest))
    n_c = draw(st.integers(0 if n_o else 1, largest))
    return K, draw(st.integers(0, n_o)), n_o, draw(st.integers(0, n_c)), n_c


def bisect(parts: tuple[BinomialSample, ...]) -> Fraction:
    """Root of Σ S_j/q_j(A) = N in exact arithmetic, where f falls; clipped to [0, 1]."""

    def high(A: Fraction) -> bool:
        total = Fraction(0)
        for p in parts:
            K = Fraction(p.K)
            if p.S:
                total += p.S * (K - 1) / (A + K - 2)
        return total > sum(p.n for p in parts)

    a, b = Fraction(0), Fraction(1)
    for _ in range(60):
        middle = (a + b) / 2
        a, b = (middle, b) if high(middle) else (a, middle)
    return b if b < Fraction(1, 10**15) else a


@given(counts())
def test_stable_root_equals_bisection(c: Counts) -> None:
    K, S_o, n_o, S_c, n_c = c
    exact = bisect((BinomialSample(2, n_o, S_o), BinomialSample(K, n_c, S_c)))
    assert closed_form(K, S_o, n_o, S_c, n_c) == pytest.approx(float(exact), abs=1e-12)


def test_stable_root_is_exact_if_the_printed_form_cancels() -> None:
    """β ≫ √(−4Nγ): the printed difference loses the digits, the stable form keeps them."""
    K, S_o, n_o, S_c, n_c = 16, 1, 2, 5_000_000, 10**9
    N, T = n_o + n_c, n_o + n_c - S_o - S_c
    beta, gamma = (K - 2) * T + (K - 3) * S_o - S_c, -(K - 2) * S_o
    printed = (-float(beta) + math.sqrt(float(beta) ** 2 - 4 * N * gamma)) / (2 * N)
    with localcontext(prec=60):
        exact = float((-Decimal(beta) + (Decimal(beta) ** 2 - 4 * N * gamma).sqrt()) / (2 * N))
    assert closed_form(K, S_o, n_o, S_c, n_c) == pytest.approx(exact, rel=1e-14)
    assert abs(printed - exact) > 1e-7 * exact


@given(counts(), st.integers(1, 200), st.data())
def test_newton_equals_bisection_for_several_effective_k(c: Counts, n: int, data: st.DataObject) -> None:
    K, S_o, n_o, S_c, n_c = c
    third = BinomialSample(2.5, n, data.draw(st.integers(0, n)))
    parts = (BinomialSample(2, n_o, S_o), BinomialSample(K, n_c, S_c), third)
    assert maximum_likelihood(parts) == pytest.approx(float(bisect(parts)), abs=1e-9)


@given(counts())
def test_root_maximises(c: Counts) -> None:
    K, S_o, n_o, S_c, n_c = c
    parts = (BinomialSample(2, n_o, S_o), BinomialSample(K, n_c, S_c))
    A = maximum_likelihood(parts)
    best = log_likelihood(parts, A)
    for other in (0.0, A / 2, max(0.0, A - 1e-3), min(1.0, A + 1e-3), (1 + A) / 2, 1.0):
        assert log_likelihood(parts, other) <= best + 1e-7 * (1 + abs(best))


def test_without_complementary_labels_it_is_ordinary() -> None:
    assert closed_form(4, 17, 30, 0, 0) == pytest.approx(17 / 30)


@pytest.mark.parametrize("S_c", [0, 40, 58, 59, 80, 88])
def test_without_ordinary_labels_it_is_complementary_cut_at_zero(S_c: int) -> None:
    """The paper says it reduces to A_comp; at S_c ≤ 58 of 88 that is negative, and no accuracy."""
    assert closed_form(4, 0, 0, S_c, 88) == pytest.approx(
        max(0.0, complementary_accuracy(4, S_c, 88)), abs=1e-12
    )


def test_two_options_pool() -> None:
    assert closed_form(2, 7, 20, 33, 40) == pytest.approx(40 / 60)


@pytest.mark.parametrize("K", [3, 4, 10])
def test_all_wrong_options_refused_equals_ordinary(K: int) -> None:
    """m = K − 1 refusals name the truth: effective K' = 2."""
    assert effective_options(K, K - 1) == 2
    parts = (BinomialSample(2, 20, 11), BinomialSample(effective_options(K, K - 1), 60, 41))
    assert maximum_likelihood(parts) == pytest.approx(52 / 80)


@pytest.mark.parametrize(("S_o", "S_c", "expected"), [(0, 0, 0.0), (30, 90, 1.0)])
def test_estimates_at_the_edges_are_exact(S_o: int, S_c: int, expected: float) -> None:
    assert closed_form(4, S_o, 30, S_c, 90) == expected


def test_samples_without_labels_are_refused() -> None:
    with pytest.raises(EstimateError, match=r"n_o \+ n_c must be at least 1, is 0"):
        estimate_counts(4, 0, 0, 0, 0)
    with pytest.raises(EstimateError, match="n must be at least 1"):
        maximum_likelihood((BinomialSample(4, 0, 0),))


def test_one_option_is_refused() -> None:
    with pytest.raises(EstimateError, match="K, the number of options, must be at least 2, is 1"):
        estimate_counts(1, 1, 2, 1, 2)


def test_error_with_no_violation_is_not_zero() -> None:
    """The published formula puts raw q̂ = 1 into the information, which is then infinite."""
    A = closed_form(4, 24, 30, 90, 90)
    assert published_se(4, A, 30, 90, 90) == 0
    se = make_point("ml", BinomialSample(2, 30, 24), (BinomialSample(4, 90, 90),)).se
    assert se is not None
    assert se > 0.01


def test_error_is_the_inverse_root_of_the_information() -> None:
    parts = (BinomialSample(2, 30, 20), BinomialSample(4, 90, 80))
    A = 0.7
    h = 1e-4
    mean = tuple(BinomialSample(p.K, 10**8, round(10**8 * (A + p.K - 2) / (p.K - 1))) for p in parts)
    curvature = [
        -(log_likelihood((m,), A + h) - 2 * log_likelihood((m,), A) + log_likelihood((m,), A - h))
        / h**2
        / 10**8
        for m in mean
    ]
    total = sum(p.n * c for p, c in zip(parts, curvature, strict=True))
    assert sum(information(p, A) for p in parts) == pytest.approx(total, rel=2e-3)


@pytest.mark.parametrize("A", [1.0, 0.0])
def test_infinite_information_is_refused(A: float) -> None:
    with pytest.raises(EstimateError, match="A must lie inside"):
        information(BinomialSample(2, 10, 5), A)
