"""Sequential resolution: every path ends in exact correctness, at the computed cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oversight.harness import EstimateError
from oversight.harness.arrays import UNKNOWN
from oversight.harness.estimate import correctness, expected_questions, next_option
from oversight.harness.estimate.core import blaker
from oversight.harness.estimate.routed_means import resolved_accuracy
from oversight.harness.estimate.routed_sample import questions_asked, true_option


@settings(max_examples=150, deadline=None)
@given(data=st.data(), K=st.integers(2, 6))
def test_any_item_is_resolved_exactly(data: st.DataObject, K: int) -> None:
    predicted = data.draw(st.lists(st.integers(-1, K - 1), min_size=1, max_size=5))
    truth = data.draw(st.integers(0, K - 1))
    weights = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=K, max_size=K)))
    p = weights / weights.sum()
    answers: dict[int, bool] = {}
    while (option := next_option(predicted, p, answers)) is not None:
        assert option in predicted
        assert option not in answers
        answers[option] = option == truth
    assert correctness(predicted, answers, K).tolist() == [int(x == truth) for x in predicted]
    assert questions_asked([predicted], p[None], [truth])[0] == len(answers)


def test_order_is_by_posterior_then_votes() -> None:
    assert next_option([0, 1, 1], [0.5, 0.3, 0.2], {}) == 0
    assert next_option([0, 1, 1], [0.4, 0.4, 0.2], {}) == 1
    assert next_option([0, 1], [0.4, 0.4, 0.2], {}) == 0
    assert next_option([0, 1, 1], [0.5, 0.3, 0.2], {0: True}) is None
    assert next_option([-1, -1], [0.5, 0.5], {}) is None


def test_expected_cost_averages_the_actual_cost() -> None:
    predicted, p = np.array([[0, 2, 1, 2]]), np.array([[0.2, 0.1, 0.4, 0.3]])
    actual = sum(p[0, y] * questions_asked(predicted, p, [y])[0] for y in range(4))
    assert expected_questions(predicted, p)[0] == pytest.approx(actual)
    assert actual == pytest.approx(1 + 0.6 + 0.4)


def test_last_option_is_known_by_elimination() -> None:
    assert true_option({0: False, 2: False}, 3) == 1
    assert correctness([1, 0, -1], {0: False, 2: False}, 3).tolist() == [1, 0, 0]
    assert expected_questions([[0, 1]], np.array([[0.6, 0.4]]))[0] == 1


def test_an_abstention_leaves_only_its_models_unknown() -> None:
    assert next_option([0, 1], [0.5, 0.3, 0.2], {}, {0}) == 1
    assert correctness([0, 1, -1], {1: False}, 3).tolist() == [UNKNOWN, 0, 0]
    assert correctness([0, 1], {1: True}, 3).tolist() == [0, 1]


def test_contradictions_are_refused() -> None:
    with pytest.raises(EstimateError, match="were all confirmed"):
        true_option({0: True, 1: True}, 3)
    with pytest.raises(EstimateError, match="all 2 were refuted"):
        true_option({0: False, 1: False}, 2)
    with pytest.raises(EstimateError, match=r"option must lie in 0..2, is 7"):
        next_option([7], [0.5, 0.3, 0.2], {})


def test_accuracy_is_binomial_and_bounds_what_is_unknown() -> None:
    estimate = resolved_accuracy([1, 1, 0, 1, UNKNOWN])
    assert estimate.value == 0.75
    assert estimate.low == blaker(3, 5)[0]
    assert estimate.high == blaker(4, 5)[1]
    assert estimate.interval == "blaker+worst-case"
    known = resolved_accuracy([1, 1, 0, 1])
    assert (known.low, known.high, known.interval) == (*blaker(3, 4), "blaker")
    assert estimate.n.abstained == 1
    assert estimate.flags == ("unresolved: 1, value within [0.6000, 0.8000]",)
    with pytest.raises(EstimateError, match="at least 1 resolved"):
        resolved_accuracy([UNKNOWN])
    with pytest.raises(EstimateError, match=r"correct\[1\]"):
        resolved_accuracy([0, 2])
