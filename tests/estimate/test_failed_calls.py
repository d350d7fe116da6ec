"""Items that are left out because calls of the model failed."""

from __future__ import annotations

import numpy as np
import pytest

import oversight as ov
from oversight.harness.types import Label, LabelKind, Prediction, PredictionStatus

N = 400


def predict(failing: int, seed: int) -> list[Prediction]:
    """Predictions of one of three options at random, of which the first have failed."""
    options = np.random.default_rng(seed).integers(3, size=N).tolist()
    failed = PredictionStatus.FAILED
    return [
        Prediction(f"i{j}", None, failed, "HTTP 400") if j < failing else Prediction(f"i{j}", options[j])
        for j in range(N)
    ]


def label() -> list[Label]:
    rng = np.random.default_rng(3)
    truth, asked = rng.integers(3, size=N), rng.integers(3, size=N)
    kinds = np.where(truth == asked, LabelKind.ORDINARY, LabelKind.COMPLEMENTARY).tolist()
    return [Label(f"i{j}", int(asked[j]), LabelKind(kinds[j]), 3, 1 / 3) for j in range(N)]


@pytest.mark.parametrize(("failing", "holds"), [(0, True), (5, True), (150, False)])
def test_many_failed_calls_are_a_reason_for_doubt(failing: int, holds: bool) -> None:  # noqa: FBT001
    labels, model, other = label(), predict(failing, 1), predict(0, 2)
    told = f"calls failed on {failing} of {N} items, and the items left out may be the hard ones"
    for found in (
        ov.accuracy(model, labels),
        ov.accuracy(model, labels, interval="anytime"),
        ov.compare({"a": model, "b": other}, labels).pairs[0],
    ):
        assert (told not in found.why) == holds
    costs = ov.CostTable(costs=100 * (1 - np.eye(3)))
    report = ov.classification_report(model, labels, list("xyz"), metrics=[], costs=costs)
    assert (told not in report["cost"].why) == holds
    several = {"a": other, "b": predict(0, 3), "c": model}
    for pair in (
        *ov.compare(several, labels).pairs,
        *ov.compare_classes(several, labels, list("xyz"), metrics=["recall"]).pairs,
    ):
        assert (told not in pair.why) == holds
    assert (told in ov.gate_accuracy(model, labels, 0.2).why) != holds
    worst = ov.accuracies(model, labels).get("worst_case")
    assert worst is None or worst.holds
