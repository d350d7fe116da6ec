"""Draws of questions: their chances, and what experts are asked."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise, permutations

import numpy as np
import pytest

from oversight.harness.arrays import BoolArray, FloatArray
from oversight.harness.errors import EstimateError
from oversight.harness.open_answers import (
    Frame,
    draw_questions,
    estimate_open,
    join_replies,
)
from oversight.harness.open_answers.draw import find_chances, systematic
from oversight.harness.store import StoredAnswer, StoredUnit
from tests.open_answers.worlds import EXPERTS, rubric_table


def _all_draws(chance: FloatArray) -> list[tuple[float, BoolArray]]:
    """Every draw of one systematic pass in a given order, with its probability."""
    ends = np.unique(np.r_[0.0, np.mod(-np.cumsum(np.where(chance < 1, chance, 0)), 1.0), 1.0])
    return [
        (high - low, systematic(chance, (low + high) / 2))
        for low, high in pairwise(ends)
        if high - low > 1e-9
    ]


def test_every_unit_is_drawn_with_its_chance() -> None:
    chance = np.array([0.3, 1.0, 0.25, 0.7, 0.45])
    drawn = sum(weight * taken for weight, taken in _all_draws(chance))
    assert drawn == pytest.approx(chance)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_weighted_loss_is_unbiased_over_all_draws(n: int) -> None:
    table = rubric_table([[5, 2, -3], [1, 1]])
    chance, met = find_chances(table, n), np.array([True, False, True, False, True])
    positive = np.array([7.0, 7, 7, 2, 2])
    bad = met != (table.points > 0)
    loss = np.abs(table.points) / positive * bad
    means = []
    for order in permutations(range(5)):
        rows = np.array(order)
        for weight, taken in _all_draws(chance[rows]):
            means.append(weight * float((loss[rows] / chance[rows])[taken].sum()))
    assert sum(means) / 120 == pytest.approx(loss.sum())
    assert chance.sum() == pytest.approx(n)


def test_draws_happen_as_often_as_recorded() -> None:
    table = rubric_table([[5, 2, -3], [1, 1], [4, 4, 1]])
    chance, drawn = find_chances(table, 3), np.zeros(len(table))
    for seed in range(800):
        found = draw_questions(table, 3, "equal", seed, experts=EXPERTS)
        assert found.propensity == pytest.approx(chance[found.row])
        drawn[found.row] += 1
    assert np.abs(drawn / 800 - chance).max() < 4 * 0.5 / 800**0.5


def test_first_unit_of_a_random_order_is_unbiased() -> None:
    table = rubric_table([[1, 1, 1, 1]] * 2)
    met = np.array([True, False, False, True, True, True, True, False])
    sums = []
    for seed in range(1_000):
        drawn = draw_questions(table, 4, "first no", seed, experts=EXPERTS)
        first = drawn.order == 1
        sums.append(float((met[drawn.row] / drawn.propensity)[first].sum()))
    assert np.mean(sums) == pytest.approx(met.sum(), abs=4 * np.std(sums) / 1_000**0.5)


def test_units_stand_in_a_judges_order() -> None:
    table = rubric_table([[1, 1, -1]])
    drawn = draw_questions(table, 3, "first no", 1, experts=EXPERTS, judge=np.array([0.6, 0.9, 0.7]))
    assert drawn.unit[np.argsort(drawn.order)].tolist() == ["i0c2", "i0c0", "i0c1"]
    assert drawn.propensity[np.argsort(drawn.order)].tolist() == [1, 0, 0]


def test_models_are_asked_about_the_same_criteria() -> None:
    drawn = draw_questions(rubric_table([[1] * 5] * 9, ("a", "b")), 18, "equal", 3, experts=EXPERTS)
    units = drawn.unit.tolist()
    assert len(units) == 18
    assert all(units.count(unit) == 2 for unit in units)


def test_judge_draws_more_where_it_is_unsure() -> None:
    table = rubric_table([[1, 1], [1, 1]])
    chance = find_chances(table, 2, np.array([0.5, 0.99, 0.99, 0.99]))
    assert chance[0] > 2 * chance[1] > 0


def test_equal_claims_are_asked_once_and_count_for_both() -> None:
    answers = [StoredAnswer(f"i{i}", m, f"{m}{i}", f"{m} {i}") for i in range(5) for m in "ab"]
    units = [
        StoredUnit(f"u{a.id}", a.item_id, a.id, 0, "water boils", 1.0, "physics", "claims") for a in answers
    ]
    table = Frame(answers=answers, units=units).table
    drawn = draw_questions(table, 10, "equal", 1, experts=EXPERTS)
    assert len(drawn) == 5
    judged = join_replies(table, drawn, {(q, "bob"): "no" if q else "yes" for q in range(5)})
    result = estimate_open(judged, experts=EXPERTS, metrics=("met",))
    assert (
        result.find_estimate("met", "a").value == result.find_estimate("met", "b").value == pytest.approx(0.2)
    )
    assert result.find_estimate("met", "a", other="b").value == 0


def test_unknown_field_is_reached_as_often_as_recorded() -> None:
    table = rubric_table([[1]] * 4, field=None)
    reached = 0
    for seed in range(600):
        drawn = draw_questions(table, 4, "equal", seed, experts=EXPERTS, attempts=2)
        assert drawn.attempt.tolist() == [1, 2] * 4
        assert drawn.propensity == pytest.approx(2 / 3)
        reached += drawn.expert[:2].tolist().count("cy")
    assert reached / 600 == pytest.approx(2 / 3, abs=4 * (2 / 9 / 600) ** 0.5)


def test_replies_are_joined_whatever_the_order_of_the_draws_rows() -> None:
    table = rubric_table([[1, 1]] * 3, ("a", "b"), field=None)
    drawn = draw_questions(table, 6, "equal", 4, experts=EXPERTS)
    reply = np.where(drawn.attempt == 1, "not my field", np.where(drawn.attempt == 2, "no", ""))
    mixed = np.random.default_rng(1).permutation(len(drawn))
    shuffled = type(drawn)(**{name: getattr(drawn, name)[mixed] for name in drawn.__slots__})
    one, two = (
        join_replies(table, drawn, reply.tolist()),
        join_replies(table, shuffled, reply[mixed].tolist()),
    )
    for name in (column.name for column in fields(one)):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_item_that_can_have_no_score_is_not_drawn_from() -> None:
    with pytest.raises(EstimateError, match="no unit of item 'i1' has positive points"):
        draw_questions(rubric_table([[1], [-1, -2]]), 1, "equal", 1, experts=EXPERTS)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n": 0}, "at least 1"),
        ({"scheme": "best"}, "scheme must be"),
        ({"scheme": "judge"}, "needs a probability"),
        ({"scheme": "first no", "n": 1}, "too few"),
        ({"experts": {"dan": "art"}}, "no expert judges the field 'law'"),
        ({"experts": {}}, "at least 1"),
    ],
)
def test_bad_draws_are_refused(changed: dict[str, object], message: str) -> None:
    given = {"n": 2, "scheme": "equal", "seed": 1, "experts": EXPERTS} | changed
    with pytest.raises(EstimateError, match=message):
        draw_questions(rubric_table([[1, 1]]), **given)  # type: ignore[arg-type]
