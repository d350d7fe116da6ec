"""Refused: frames whose columns, options or rows have another order, and draws that are not uniform."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oversight as ov
from oversight.harness.datasets import labels_from_frame, predictions_from_arrays, predictions_from_frame
from oversight.harness.errors import BadInput, DataError, EstimateError, WrongType

COLOURS = ["red", "green", "blue"]
IDS = [f"i{j}" for j in range(90)]
ANSWERS = pd.DataFrame(
    {"id": IDS, "option": [COLOURS[j % 3] for j in range(90)], "answer": ["no", "no", "yes"] * 30}
)
PREDICTED = pd.DataFrame({"id": IDS, "prediction": [COLOURS[j // 2 % 3] for j in range(90)]})
ITEMS = [ov.Item(name, "which?", tuple(COLOURS), (0, 1, 2)) for name in IDS[:3]]


def test_options_in_another_order_are_refused() -> None:
    labels = labels_from_frame(ANSWERS, COLOURS)
    assert ov.accuracy(predictions_from_frame(PREDICTED, COLOURS), labels).value > 0
    for other in (COLOURS[::-1], [*COLOURS, "black"]):
        with pytest.raises(EstimateError, match="the same options in the same order, but have"):
            ov.accuracy(predictions_from_frame(PREDICTED, other), labels)
    unordered: Any = set(COLOURS)
    with pytest.raises(DataError, match="the order of options matters"):
        labels_from_frame(ANSWERS, unordered)


def test_draw_that_is_not_uniform_is_refused() -> None:
    assert len(labels_from_frame(ANSWERS.assign(propensity=0.333), COLOURS)) == 90
    other = ANSWERS.assign(option=[COLOURS[(j + 1) % 3] for j in range(90)], answer="no")
    twice = pd.concat([ANSWERS.assign(answer="no"), other]).assign(propensity=2 / 3)
    assert len(labels_from_frame(twice, COLOURS)) == 180
    with pytest.raises(DataError, match=r"must be 1/3, is 0\.5: the item has 1 rows"):
        labels_from_frame(ANSWERS.assign(propensity=0.5), COLOURS)


def test_probabilities_in_another_order_are_refused() -> None:
    table = pd.DataFrame({"red": [0.7] * 3, "green": [0.2] * 3, "blue": [0.1] * 3})
    assert [p.option for p in predictions_from_arrays(ITEMS, probabilities=table)] == [0, 0, 0]
    with pytest.raises(DataError, match="give one per class, in the order red, green, blue"):
        predictions_from_arrays(ITEMS, probabilities=table[COLOURS[::-1]])
    unnamed = table.set_axis(range(3), axis=1)
    assert [p.option for p in predictions_from_arrays(ITEMS, probabilities=unnamed)] == [0, 0, 0]


def test_rows_in_another_order_are_refused() -> None:
    assert predictions_from_arrays(ITEMS, pd.Series(COLOURS, index=IDS[:3]))[2].option == 2
    assert predictions_from_arrays(ITEMS, pd.Series(COLOURS))[2].option == 2
    told = "the index must contain the ids of the items, in the same order"
    with pytest.raises(DataError, match=rf"\[predicted\]: {told}"):
        predictions_from_arrays(ITEMS, pd.Series(COLOURS, index=IDS[2::-1]))
    numbered = [replace(item, id=str(number)) for item, number in zip(ITEMS, (2, 0, 1), strict=True)]
    with pytest.raises(DataError, match=told):  # the index may be the default one, or hold the ids
        predictions_from_arrays(numbered, pd.Series(COLOURS))
    table = pd.DataFrame(np.eye(3) * 0.7 + 0.1, columns=COLOURS, index=IDS[:3])
    assert [p.option for p in predictions_from_arrays(ITEMS, probabilities=table)] == [0, 1, 2]
    assert predictions_from_arrays(ITEMS, COLOURS, probabilities=table)[2].confidence == pytest.approx(0.8)
    for predicted in (None, COLOURS, pd.Series(COLOURS, index=IDS[:3])):
        with pytest.raises(DataError, match=rf"\[probabilities\]: {told}"):
            predictions_from_arrays(ITEMS, predicted, probabilities=table[::-1])


def test_costs_with_names_are_refused() -> None:
    costs: Any = pd.DataFrame(1 - np.eye(3), index=COLOURS[::-1], columns=COLOURS[::-1])
    with pytest.raises(BadInput, match="costs: the names in a frame or series are not read"):
        ov.CostTable(costs=costs)
    with pytest.raises(BadInput, match="costs: the names in a frame or series are not read"):
        ov.CostTable(costs=costs.to_numpy(), unreadable=costs["red"])
    assert ov.CostTable(costs=costs.to_numpy(), unreadable=np.ones(3)).of_prediction(0).tolist() == [0, 1, 1]


def test_wrong_types_are_named() -> None:
    labels, model = labels_from_frame(ANSWERS, COLOURS), predictions_from_frame(PREDICTED, COLOURS)
    strata: Any = pd.Series(["x"] * 90)
    with pytest.raises(WrongType, match="strata"):
        ov.accuracy(model, labels, strata=strata)
    word: Any = "0.6"
    with pytest.raises(EstimateError, match=r"level must lie in \(0, 1\), is '0.6'"):
        ov.accuracy(model, labels, level=word)
    with pytest.raises(EstimateError, match=r"the bar must lie in \(0, 1\), is '0.6'"):
        ov.gate_accuracy(model, labels, word)


def test_gate_checks_its_assumptions() -> None:
    always = labels_from_frame(ANSWERS.assign(answer="yes"), COLOURS)
    model = predictions_from_frame(PREDICTED.assign(prediction=ANSWERS["option"]), COLOURS)
    assert ov.gate_accuracy(model, always, 0.9, checks=False).verdict == "pass"
    for found in (
        ov.gate_accuracy(model, always, 0.9),
        ov.gate_difference(model, predictions_from_frame(PREDICTED, COLOURS), always, 0.1),
    ):
        assert found.verdict == "undecided"
        assert "check 'yes_rate' failed" in found.why


def test_missing_predictions_are_counted() -> None:
    labels, model = labels_from_frame(ANSWERS, COLOURS), predictions_from_frame(PREDICTED, COLOURS)
    found = ov.model_accuracies({"part": model[:60], "all": model}, labels)
    assert "30 of 90 items asked about have no prediction of 'part'" in found["part"]["ml"].why
    assert "no prediction" not in found["all"]["ml"].why


@pytest.mark.parametrize(
    ("changed", "verdict", "told"),
    [
        ({"protocol": "targetted"}, ov.Verdict.YES, "unknown protocol 'targetted'; did you mean 'targeted'"),
        ({}, "ja", "the verdict must be a Verdict, is 'ja'"),
        ({"propensity": 1.5}, ov.Verdict.NO, "propensity must lie in"),
        ({"propensities": (0.5, 0.5)}, ov.Verdict.NO, "there are 2 propensities for 4 options"),
    ],
)
def test_wrong_question_is_named(changed: dict[str, Any], verdict: Any, told: str) -> None:
    usual: dict[str, Any] = {
        "option": 0,
        "expert": "ann",
        "n_options": 4,
        "protocol": "partitioned",
        "propensity": 0.25,
    }
    question = ov.Question(id="00ab", item_id="q1", seed=7, **usual | changed)
    with pytest.raises(BadInput, match=f"question '00ab': {told}"):
        ov.decode([ov.Answer(question, "ann", verdict, "test")])
