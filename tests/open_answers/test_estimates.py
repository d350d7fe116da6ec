"""Estimates from judgements."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from oversight.harness.errors import EstimateError
from oversight.harness.open_answers import (
    OpenEstimate,
    draw_questions,
    estimate_open,
    join_replies,
)
from tests.open_answers.worlds import EXPERTS, judge_all, objects, rubric_table

RUBRIC = [[5, 2, -3]] * 6


def test_scores_of_complete_items_are_the_rubrics() -> None:
    table = rubric_table(RUBRIC, ("a", "b"))
    no = {(f"a{i}", f"i{i}c2"): "no" for i in range(6)} | {("b0", "i0c2"): "no", ("b1", "i1c0"): "no"}
    result = estimate_open(judge_all(table, no), experts=EXPERTS)
    assert result.find_estimate("score", "a").value == pytest.approx(1.0)
    b = [1.0, (2 - 3) / 7, *[(5 + 2 - 3) / 7] * 4]
    assert result.find_estimate("score", "b").value == pytest.approx(np.mean(b))
    assert result.find_estimate("score", "a", other="b").value == pytest.approx(1 - np.mean(b))
    assert result.find_estimate("met", "b").value == pytest.approx(16 / 18)
    assert result.find_estimate("no_error", "b").value == pytest.approx(1 / 6)
    clipped = estimate_open(judge_all(table, no), experts=EXPERTS, clip="item")
    assert clipped.find_estimate("score_by_item", "b").value == pytest.approx(np.mean(np.clip(b, 0, 1)))


def test_clipped_items_are_withheld_if_one_is_not_complete() -> None:
    table = rubric_table(RUBRIC)
    judged = judge_all(table, {("m0", "i0c0"): None})
    found = estimate_open(judged, experts=EXPERTS, clip="item").find_estimate("score_by_item", "m")
    assert found.value is None
    assert "not judged completely" in found.withheld
    assert found.worst_low is not None


def test_worst_case_holds_every_filling() -> None:
    table = rubric_table(RUBRIC)
    gaps = [("m0", "i0c0"), ("m1", "i1c2"), ("m2", "i2c1")]
    found = estimate_open(judge_all(table, dict.fromkeys(gaps, "cannot tell")), experts=EXPERTS)
    for fill in product(["yes", "no"], repeat=3):
        whole = estimate_open(judge_all(table, dict(zip(gaps, fill, strict=True))), experts=EXPERTS)
        for metric in ("score", "met", "no_error"):
            bounds, value = found.find_estimate(metric, "m"), whole.find_estimate(metric, "m")
            assert bounds.worst_low is not None
            assert value.low is not None
            assert bounds.worst_high is not None
            assert value.high is not None
            assert bounds.worst_low <= value.low + 1e-6
            assert bounds.worst_high >= value.high - 1e-6


def test_many_missing_judgements_are_said() -> None:
    table = rubric_table([[1, 1]] * 30)
    half = {(f"m{i}", f"i{i}c0"): None for i in range(15)}
    found = estimate_open(judge_all(table, half), experts=EXPERTS).find_estimate("score", "m")
    assert not found.holds
    assert found.missing == 15
    assert "15 of 60 questions" in found.why


def test_few_items_are_withheld() -> None:
    found = estimate_open(judge_all(rubric_table([[1, 1]] * 3), {}), experts=EXPERTS).find_estimate(
        "score", "m"
    )
    assert found.value is None
    assert "3.0 items of equal weight" in found.withheld


def test_judges_order_tells_of_errors_but_not_of_scores() -> None:
    table = rubric_table([[1, 1]] * 8)
    drawn = draw_questions(table, 16, "first no", 1, experts=EXPERTS, judge=np.full(16, 0.5))
    result = estimate_open(join_replies(table, drawn, ["yes"] * 16), experts=EXPERTS)
    assert result.find_estimate("no_error", "m").value == 1
    assert "judge's order" in result.find_estimate("score", "m").withheld


def test_unfinished_answers_are_bounds() -> None:
    table = rubric_table([[1, 1]] * 8)
    drawn = draw_questions(table, 16, "first no", 1, experts=EXPERTS)
    replies = np.where((drawn.answer == "m0") & (drawn.order == 2), "", "yes").astype(object)
    found = estimate_open(join_replies(table, drawn, replies), experts=EXPERTS).find_estimate("no_error", "m")
    assert found.missing == 1
    assert found.value == pytest.approx(15 / 16)
    assert found.low is not None
    assert found.low < 0.48  # Clopper and Pearson's lower end of 7 of 8
    assert found.high == 1


def test_units_of_unknown_field_count_where_they_are_accepted() -> None:
    table = rubric_table([[1, 1, 1]] * 10, field=None)
    drawn = draw_questions(table, 30, "equal", 2, experts=EXPERTS)
    own = objects(*(["ann", "bob", "cy"][int(unit[-1])] for unit in drawn.unit))
    is_own = drawn.expert == own
    accepted = np.zeros(30, dtype=int)
    accepted[drawn.question[is_own]] = drawn.attempt[is_own]
    reply = np.where(is_own, np.where(own == "ann", "no", "yes"), "not my field").astype(object)
    reply[drawn.attempt > accepted[drawn.question]] = ""
    result = estimate_open(join_replies(table, drawn, reply), experts=EXPERTS)
    assert result.find_estimate("score", "m").value == pytest.approx(2 / 3)
    assert result.find_estimate("score", "m", field="law").value == 0
    assert result.find_estimate("met", "m", field="biology").value == 1


def test_unit_that_every_field_refuses_is_missing() -> None:
    table = rubric_table([[1, 1]] * 6, field=None)
    drawn = draw_questions(table, 12, "equal", 2, experts=EXPERTS)
    lost = drawn.question == 0
    reply = np.where(lost, "not my field", np.where(drawn.attempt == 1, "yes", "")).astype(object)
    assert (
        estimate_open(join_replies(table, drawn, reply), experts=EXPERTS).find_estimate("met", "m").missing
        == 1
    )


def test_a_judge_changes_no_complete_mean() -> None:
    table = rubric_table([[1, 2]] * 40)
    no = {(f"m{i}", f"i{i}c1"): "no" for i in range(0, 40, 3)}
    judged = judge_all(table, no)
    plain = estimate_open(judged, experts=EXPERTS).find_estimate("score", "m")
    helped = estimate_open(judged, experts=EXPERTS, judge=np.arange(80) / 79).find_estimate("score", "m")
    assert helped.value == pytest.approx(plain.value)


def test_a_knowing_judge_narrows_the_interval() -> None:
    table = rubric_table([[1] * 6] * 80)
    rng = np.random.default_rng(5)
    met = rng.random(len(table)) < 0.7
    drawn = draw_questions(table, 80, "equal", 1, experts=EXPERTS)
    judged = join_replies(table, drawn, np.where(met[drawn.row], "yes", "no").astype(object))
    sure = np.clip(met + rng.normal(0, 0.2, len(table)), 0.01, 0.99)
    plain = estimate_open(judged, experts=EXPERTS).find_estimate("score", "m")
    helped = estimate_open(judged, experts=EXPERTS, judge=sure).find_estimate("score", "m")
    assert plain.high is not None
    assert plain.low is not None
    assert helped.high is not None
    assert helped.low is not None
    assert helped.high - helped.low < 0.8 * (plain.high - plain.low)


def test_few_heavy_items_are_doubted() -> None:
    rubric = [[1, -1]] * 18 + [[1, -30]] * 2
    all_bad = {(f"m{i}", f"i{i}c0"): "no" for i in range(20)}
    found = estimate_open(judge_all(rubric_table(rubric), all_bad), experts=EXPERTS).find_estimate(
        "score", "m"
    )
    assert "a few items determine the mean" in found.why


def test_interval_may_allow_for_any_number_of_missing_judgements() -> None:
    silent = judge_all(rubric_table([[1, 1]] * 60), {(f"m{i}", f"i{i}c0"): None for i in range(30)})
    doubted = estimate_open(silent, experts=EXPERTS).find_estimate("score", "m")
    assert "have no yes or no" in doubted.why
    found = estimate_open(silent, experts=EXPERTS, widest=np.inf).find_estimate("score", "m")
    assert (found.low, found.high, found.why) == (doubted.worst_low, doubted.worst_high, "")


def test_experts_are_measured_by_gold_and_by_each_other() -> None:
    judged = judge_all(rubric_table([[1, 1]] * 2), {("m0", "i0c0"): "no"})
    judged = replace(judged, gold=objects("yes", "no", "yes", None))
    again = replace(judged, expert=objects("zoe", *["zoe"] * 3), gold=objects(*[None] * 4))
    both = judged.append(again)
    both.reply[-1] = "no"
    result = estimate_open(both, experts=EXPERTS | {"zoe": "law"})
    ann = next(found for found in result.experts if found.expert == "ann")
    assert ann.yes_for_yes is not None
    assert ann.no_for_no is not None
    assert ann.agrees is not None
    assert (ann.yes_for_yes.value, ann.no_for_no.value, ann.agrees.value) == (0.5, 0.0, 0.75)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"metrics": ("f1",)}, "metrics must be among"),
        ({"clip": "some"}, "clip must be one of"),
        ({"level": 1.0}, "level"),
        ({"judge": np.ones(2)}, "judge must have 12 rows"),
    ],
)
def test_bad_settings_are_refused(changed: dict[str, object], message: str) -> None:
    judged = judge_all(rubric_table([[1, 1]] * 6), {})
    with pytest.raises(EstimateError, match=message):
        estimate_open(judged, **({"experts": EXPERTS} | changed))  # type: ignore[arg-type]


def test_models_without_a_common_item_are_not_compared() -> None:
    table = rubric_table([[1]] * 12, ("a", "b"))
    judged = judge_all(table, {})
    first = np.array([int(item[1:]) < 6 for item in judged.item])
    judged = judged.take(np.flatnonzero(first == (judged.model == "a")))
    result = estimate_open(judged, experts=EXPERTS)
    assert result.find_estimate("score", "a").value == 1
    assert result.find_estimate("score", "a", other="b").withheld == "no item was answered by both models"


def test_no_judgements_are_refused() -> None:
    judged = judge_all(rubric_table([[1]]), {})
    with pytest.raises(EstimateError, match="no judgements"):
        estimate_open(judged.take(np.array([], dtype=np.int64)), experts=EXPERTS)


def test_item_without_positive_points_is_refused() -> None:
    judged = judge_all(rubric_table([[1], [1]]), {})
    judged = replace(judged, points=np.array([1.0, -1.0]))
    with pytest.raises(EstimateError, match="no unit of item 'i1' has positive points"):
        estimate_open(judged, experts=EXPERTS)


def test_bad_judgements_are_refused() -> None:
    judged = judge_all(rubric_table([[1]]), {})
    with pytest.raises(EstimateError, match=r"reply\[0\] must be one of yes, no"):
        replace(judged, reply=objects("maybe"))
    with pytest.raises(EstimateError, match=r"propensity\[0\]"):
        replace(judged, propensity=np.array([1.5]))
    with pytest.raises(EstimateError, match="gold must have 1 rows"):
        replace(judged, gold=objects(None, None))


def test_numbers_are_corrected_for_experts_errors() -> None:
    table = rubric_table([[2, 2, -1]] * 400)
    rng = np.random.default_rng(6)
    met = rng.random(len(table)) < np.where(table.points > 0, 0.8, 0.3)
    said = np.where(rng.random(len(table)) < np.where(met, 0.95, 0.1), "yes", "no")
    drawn = draw_questions(table, 10**6, "equal", 1, experts=EXPERTS)
    judged = join_replies(table, drawn, said[drawn.row].astype(object))
    truth = (np.array([2, 2, -1] * 400) * met).reshape(400, 3).sum(axis=1).mean() / 4
    control = judged.take(np.arange(600))
    control = replace(
        control,
        item=objects(*["control"] * 600),
        question=control.question + len(table),
        propensity=np.full(600, np.nan),
        gold=np.where(met[:600], "yes", "no").astype(object),
    )
    both = judged.append(control)
    found = estimate_open(both, experts=EXPERTS).find_estimate("score", "m")
    assert found.value == pytest.approx(
        estimate_open(judged, experts=EXPERTS).find_estimate("score", "m").value
    )
    assert "control questions a wrong reply" in found.why
    assert found.corrected == pytest.approx(truth, abs=0.03)
    assert found.corrected_low is not None
    assert found.corrected_high is not None
    assert found.corrected_low < truth < found.corrected_high
    share = estimate_open(both, experts=EXPERTS).find_estimate("met", "m")
    assert share.corrected == pytest.approx(met.mean(), abs=0.03)


def study_of_gold(seed: int, right: tuple[float, float], gold: str, n: int) -> tuple[OpenEstimate, float]:
    """Return the score of 100 items and the share of met units; `n` units of truth `gold` are controls.

    `right` has the probabilities of a right reply about met and unmet units.
    """
    rng = np.random.default_rng(seed)
    table = rubric_table([[1, 1, 1, 1]] * 100)
    met = rng.random(len(table)) < 0.9
    drawn = draw_questions(table, 200, "equal", seed, experts=EXPERTS)
    is_met = np.append(met[drawn.row], np.resize([word == "yes" for word in gold.split()], n))
    is_right = rng.random(len(is_met)) < np.where(is_met, *right)
    said = np.where(is_met == is_right, "yes", "no").astype(object)
    judged = join_replies(table, drawn, said[: len(drawn)])
    control = replace(
        judged.take(np.zeros(n, dtype=np.int64)),
        asked=np.ones(n, dtype=bool),
        question=len(table) + np.arange(n),
        propensity=np.full(n, np.nan),
        expert=objects(*["ann"] * n),
        reply=said[len(drawn) :],
        gold=objects(*np.where(is_met[len(drawn) :], "yes", "no")),
    )
    both = judged.append(control)
    result = estimate_open(both, experts=EXPERTS, metrics=("score",), by_field=False)
    return result.find_estimate("score", "m"), 0.9


@pytest.mark.parametrize("gold", ["yes", "no", "yes no"])
def test_unmarked_intervals_allow_for_errors_that_few_controls_miss(gold: str) -> None:
    shown = list[bool]()
    for seed in range(60):
        found, truth = study_of_gold(seed, (0.9, 0.9), gold, 16)
        if found.holds:
            assert found.low is not None
            assert found.high is not None
            shown.append(found.low <= truth <= found.high)
    assert len(shown) >= 5
    assert all(shown)


@pytest.mark.parametrize("gold", ["yes", "no"])
def test_errors_on_gold_of_one_kind_are_marked(gold: str) -> None:
    found, _ = study_of_gold(1, (0.8, 0.8), gold, 60)
    assert "of 60 control questions a wrong reply" in found.why
    assert found.corrected is None


def test_too_few_controls_without_an_error_are_marked() -> None:
    found, _ = study_of_gold(1, (1.0, 1.0), "yes no", 4)
    assert found.why == "4 control questions without a wrong reply do not exclude that experts err"
    many, _ = study_of_gold(1, (1.0, 1.0), "yes no", 200)
    assert many.holds
    assert many.value == many.corrected
