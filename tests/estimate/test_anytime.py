"""Looks at running results: published constants, nesting, edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import oversight as ov
from oversight.harness import EstimateError
from oversight.harness.estimate import obrien_fleming_level
from oversight.harness.estimate.anytime import likelihood_sequence, obrien_fleming_constant
from oversight.harness.types import Label, LabelKind, Prediction, PredictionStatus


@pytest.mark.parametrize(
    ("looks", "constant"), [(1, 1.960), (2, 1.977), (3, 2.004), (4, 2.024), (5, 2.040), (10, 2.087)]
)
def test_obrien_fleming_constants_are_the_tabulated_ones(looks: int, constant: float) -> None:
    # Jennison & Turnbull (2000), Group Sequential Methods, Table 2.3, alpha = .05.
    assert obrien_fleming_constant(looks) == pytest.approx(constant, abs=6e-4)


def test_levels_fall_towards_the_last_look() -> None:
    levels = [obrien_fleming_level(j, 5) for j in range(1, 6)]
    assert levels == sorted(levels, reverse=True)
    assert stats.norm.ppf(0.5 + levels[-1] / 2) == pytest.approx(obrien_fleming_constant(5))
    assert obrien_fleming_level(1, 60) < 1
    with pytest.raises(EstimateError, match=r"look must lie in 1..5, is 6"):
        obrien_fleming_level(6, 5)
    with pytest.raises(EstimateError, match="looks"):
        obrien_fleming_constant(0)


def test_likelihood_sequence_has_its_ends_on_the_bound() -> None:
    S, T, m, K = 40, 10, 150, 4.0
    estimate = likelihood_sequence(S, T, [m], [K])

    def likelihood(A: float) -> float:
        return float(np.exp(S * np.log(A) + T * np.log(1 - A) + m * np.log(A + K - 2) - m * np.log(K - 1)))

    u = (np.arange(200_000) + 0.5) / 200_000
    mixture = float(np.mean([likelihood(a) for a in np.sin(np.pi * u[::50] / 2) ** 2]))
    for end in (estimate.low, estimate.high):
        assert likelihood(end) == pytest.approx(0.05 * mixture, rel=1e-3)
    assert estimate.low < estimate.value < estimate.high


def test_binomial_case_equals_the_beta_binomial_ratio() -> None:
    from scipy.special import betaln

    estimate = likelihood_sequence(30, 0, [], [])
    # All yes: L(A) = A^30 >= .05 B(30.5, .5)/B(.5, .5).
    bound = np.exp((np.log(0.05) + betaln(30.5, 0.5) - betaln(0.5, 0.5)) / 30)
    assert (estimate.low, estimate.high) == pytest.approx((bound, 1.0), abs=1e-4)


def test_likelihood_sequence_refuses_impossible_counts() -> None:
    with pytest.raises(EstimateError, match="at least 1 answer"):
        likelihood_sequence(0, 0, [], [])
    with pytest.raises(EstimateError, match=r"effective_K\[0\] must be at least 2"):
        likelihood_sequence(1, 0, [1], [1.5])
    with pytest.raises(EstimateError, match="differ in length"):
        likelihood_sequence(1, 0, [1], [])
    with pytest.raises(EstimateError, match="errors"):
        likelihood_sequence(1, -1, [], [])


def test_anytime_interval_allows_for_the_random_number_of_unreadable_answers() -> None:
    labels = [Label(f"i{j}", 0, LabelKind.ORDINARY, 2, 0.5) for j in range(100)]
    unreadable = [Prediction(f"i{j}", None, PredictionStatus.UNREADABLE) for j in range(30)]
    model = unreadable + [Prediction(f"i{j}", 0) for j in range(30, 100)]
    for said in (labels, ov.Labels(labels).clustered({f"i{j}": str(j) for j in range(100)})):
        found = ov.accuracy(model, said, interval="anytime", checks=False)
        low, high = stats.beta.ppf(0.0125, 70, 31), stats.beta.ppf(0.9875, 71, 30)
        assert found.low < low < found.value < found.high == pytest.approx(high)
