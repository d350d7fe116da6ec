"""Records become columns over one index of items; columns stay what they are."""

from __future__ import annotations

import numpy as np
import pytest

import oversight as ov
from oversight.harness import FAILED, UNREADABLE, EstimateError
from oversight.harness.columns import (
    ABSENT,
    ItemIndex,
    ItemValues,
    OfferedOptions,
    QuestionColumns,
    align,
    align_models,
)
from oversight.harness.types import Label, LabelKind, Prediction, PredictionStatus, Question

PREDICTIONS = [
    Prediction("b", 1, confidence=0.5),
    Prediction("a", None, PredictionStatus.UNREADABLE),
    Prediction("c", None, PredictionStatus.FAILED),
]
LABELS = [Label("a", 0, LabelKind.COMPLEMENTARY, 3, 1 / 3), Label("d", 2, LabelKind.ABSTAINED, 3, 1 / 3)]


def test_items_are_those_predicted_then_those_asked_about() -> None:
    predicted, labels = align(PREDICTIONS, LABELS)
    assert predicted.index is labels.index
    assert list(predicted.index.ids) == ["b", "a", "c", "d"]
    assert predicted.option.tolist() == [1, UNREADABLE, FAILED, ABSENT]
    assert predicted.confidence is not None
    np.testing.assert_array_equal(predicted.confidence, [0.5, np.nan, np.nan, np.nan])
    assert labels.item.tolist() == [1, 3]
    assert labels.kind.tolist() == [0, -1]
    assert (len(predicted), len(labels)) == (3, 2)


def test_aligning_aligned_columns_changes_nothing() -> None:
    predicted, labels = align(PREDICTIONS, LABELS)
    (same,), also = align_models([predicted], labels)
    assert same is predicted
    assert also is labels


def test_columns_and_records_are_not_mixed() -> None:
    predicted, labels = align(PREDICTIONS, LABELS)
    with pytest.raises(TypeError, match="need predictions given as PredictionColumns with the same index"):
        align(PREDICTIONS, labels)
    with pytest.raises(TypeError, match="need labels given as LabelColumns with the same index"):
        align(predicted, LABELS)
    with pytest.raises(TypeError, match="with the same index"):
        align(align(PREDICTIONS, LABELS)[0], labels)


def test_an_item_predicted_twice_is_named_by_its_rows() -> None:
    with pytest.raises(EstimateError, match=r"predictions\[3\]: item 'b' must have one prediction.*\[0\]"):
        align([*PREDICTIONS, Prediction("b", 2)], LABELS)
    with pytest.raises(EstimateError, match=r"predictions\[0\]: option must be ≥ 0 for item 'b', is None"):
        align([Prediction("b", None)], LABELS)


@pytest.mark.parametrize("seed", range(5))
def test_options_of_some_questions_are_those_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [rng.random(k).tolist() for k in rng.integers(0, 5, size=30)]
    offered = OfferedOptions.of(rows)
    chosen = rng.integers(0, 30, size=12)
    part = offered.take(chosen)
    for place, row in enumerate(chosen.tolist()):
        assert part.values[part.start[place] : part.start[place + 1]].tolist() == rows[row]
    assert offered.take(np.zeros(0, np.int64)).values.size == 0


def test_some_questions_keep_their_order_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [Question(f"q{j}", f"i{j}", 0, "ana", 3, "partitioned", 1.0, 7) for j in range(6)]
    asked = QuestionColumns.of(questions, ItemIndex.of([q.item_id for q in questions]))
    alone = asked.take(np.array([4, 1])).order
    whole, of_items = asked.order, asked.item_order
    # the cached order is used, because computing it again is expensive
    monkeypatch.setattr("oversight.harness.columns.study_table.derive_seed", None)
    part = asked.take(np.array([4, 1]))
    assert part.order.tolist() == whole[[4, 1]].tolist() == alone.tolist()
    assert part.item_order.tolist() == of_items[[4, 1]].tolist()


def test_names_of_items_are_codes() -> None:
    found = ItemValues.of({"a": "x", "c": "w", "z": "unused"}, ItemIndex.of(["a", "b", "c"]))
    assert (found.code.tolist(), list(found.names)) == ([1, -1, 0], ["w", "x"])


def test_ids_are_read_when_one_is_shown() -> None:
    read: list[int] = []

    def read_ids() -> list[str]:
        read.append(1)
        return ["a", "b"]

    index = ItemIndex(2, read_ids)
    assert index.size == 2
    assert not read
    assert index.find_places(["b", "?"]).tolist() == [1, -1]
    assert index.ids[0] == "a"
    assert read == [1]


def test_records_and_columns_give_the_same_estimate() -> None:
    rng = np.random.default_rng(1)
    truth = {f"i{j}": int(t) for j, t in enumerate(rng.integers(4, size=300))}
    predictions = [Prediction(i, t if rng.random() < 0.7 else (t + 1) % 4) for i, t in truth.items()]
    labels = []
    for i, t in truth.items():
        k = int(rng.integers(4))
        labels.append(Label(i, k, LabelKind.ORDINARY if k == t else LabelKind.COMPLEMENTARY, 4, 0.25))
    predicted, said = align(predictions, labels)
    assert ov.accuracy(predictions, labels) == ov.accuracy(predicted, said)
