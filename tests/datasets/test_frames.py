"""Frames are read like files: items, keys, ratings and predictions; errors name row and column."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import oversight as ov
from oversight.harness import WrongType
from oversight.harness.datasets import read_choices
from oversight.harness.types import Counts

ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "first", "options": ["x", "y", "z"], "subject": "s1"},
    {"id": "b", "text": "second", "options": ["p", "q"], "subject": "s2"},
]


class Interchanged:
    """A data frame that supports only the interchange protocol."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __dataframe__(self, **options: Any) -> Any:
        return self._table.__dataframe__(**options)


def in_polars(rows: list[dict[str, Any]]) -> Any:
    return pytest.importorskip("polars").DataFrame(rows)


def in_columns(rows: list[dict[str, Any]]) -> Interchanged:
    """Lists are unknown to the protocol: options are columns of their own, or JSON."""
    flat = [{**row, "options": json.dumps(row["options"])} if "options" in row else row for row in rows]
    return Interchanged(pa.Table.from_pylist(flat))


FRAMES: list[Callable[[list[dict[str, Any]]], Any]] = [
    pd.DataFrame,
    pa.Table.from_pylist,
    in_polars,
    in_columns,
]


@pytest.fixture
def items(tmp_path: Path) -> list[ov.Item]:
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    return ov.read_items(path, meta=["subject"])


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_gives_the_items_of_a_file(frame: Any, items: list[ov.Item]) -> None:
    assert ov.read_items(frame(ROWS), meta=["subject"]) == items


def test_the_index_of_pandas_may_hold_the_ids(items: list[ov.Item]) -> None:
    assert ov.read_items(pd.DataFrame(ROWS).set_index("id"), meta=["subject"]) == items


def test_options_may_be_arrays_or_columns() -> None:
    import numpy as np

    arrays = pd.DataFrame([{**row, "options": np.array(row["options"])} for row in ROWS])
    columns = pd.DataFrame([{"id": 3, "text": "t", "A": "yes", "B": "no", "C": None}])
    assert [item.options for item in ov.read_items(arrays)] == [("x", "y", "z"), ("p", "q")]
    assert [(item.id, item.options) for item in ov.read_items(columns, options=["A", "B", "C"])] == [
        ("3", ("yes", "no"))
    ]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_an_error_names_row_and_column(missing: Any) -> None:
    frame = pd.DataFrame([*ROWS, {**ROWS[0], "id": "c", "text": missing}])
    with pytest.raises(ov.DataError, match=r"^frame, row 2, column 'text': is empty") as caught:
        ov.read_items(frame)
    assert (caught.value.file, caught.value.line, caught.value.field) == ("frame", 2, "text")


def test_missing_columns_and_repeated_ids_are_named() -> None:
    frame = pd.DataFrame(ROWS)
    with pytest.raises(ov.DataError, match=r"column 'no': there is no such column; there are: id, text"):
        ov.read_items(frame, id="no")
    with pytest.raises(ov.DataError, match=r"^frame, row 1, column 'id': the id 'a' was used in row 0"):
        ov.read_items(frame.assign(id="a"))
    with pytest.raises(ov.DataError, match=r"^frame, column 'text': the column occurs twice"):
        ov.read_items(pd.concat([frame, frame[["text"]]], axis=1))
    with pytest.raises(ov.DataError, match=r"^frame: the source contains no items"):
        ov.read_items(frame.head(0))


def test_checking_for_a_frame_imports_no_library(
    monkeypatch: pytest.MonkeyPatch, items: list[ov.Item]
) -> None:
    table = pa.Table.from_pylist(ROWS)
    monkeypatch.delitem(sys.modules, "pandas")
    assert ov.read_items(table, meta=["subject"]) == items
    assert "pandas" not in sys.modules


def test_key_is_read_from_a_frame(items: list[ov.Item]) -> None:
    key = pd.DataFrame({"id": ["b", "a"], "label": ["q", "x"]})
    assert ov.read_key(key, items) == {"a": 0, "b": 1}
    with pytest.raises(ov.DataError, match=r"column 'id': there is no such column; there are: label"):
        ov.read_key(key[["label"]], items)
    with pytest.raises(ov.DataError, match=r"^frame, row 1, column 'label': 'no' is not one of the options"):
        ov.read_key(key.assign(label=["q", "no"]), items)
    with pytest.raises(ov.DataError, match=r"^frame, row 0, column 'id': no answer for 1 items"):
        ov.read_key(key.head(1), items)


def test_ratings_and_choices_are_read_from_a_frame() -> None:
    frame = pd.DataFrame({"item": ["i", "i"], "annotator": ["a", "b"], "label": ["yes", None]})
    assert ov.read_ratings(frame) == [ov.Rating("i", "a", "yes")]
    assert read_choices(frame.head(1)) == {"i": "yes"}
    with pytest.raises(ov.DataError, match=r"^frame, row 1, column 'annotator': 'a' rates .* first in row 0"):
        ov.read_ratings(frame.assign(annotator="a", label="no"))


def test_predictions_are_read_from_a_frame(items: list[ov.Item]) -> None:
    frame = pd.DataFrame({"id": ["b", "a"], "prediction": ["q", None], "confidence": [0.75, None]})
    found = ov.predictions_from_frame(frame, items)
    assert [(p.item_id, p.option, p.status, p.confidence) for p in found] == [
        ("b", 1, ov.PredictionStatus.OK, 0.75),
        ("a", None, ov.PredictionStatus.UNREADABLE, None),
    ]


def test_failed_calls_of_an_exported_frame_stay_failed(items: list[ov.Item]) -> None:
    frame = pd.DataFrame({"item_id": ["b", "a"], "option_text": ["q", None], "status": ["ok", "failed"]})
    columns = {"id_column": "item_id", "prediction_column": "option_text"}
    found = ov.predictions_from_frame(frame, items, **columns)
    assert [p.status for p in found] == [ov.PredictionStatus.OK, ov.PredictionStatus.FAILED]
    with pytest.raises(ov.DataError, match="column 'status': is failed, but the row has a prediction, 'q'"):
        ov.predictions_from_frame(frame.assign(status="failed"), items, **columns)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "c"}, r"row 0, column 'id': no item has the id 'c'"),
        ({"id": "a", "prediction": "x"}, r"row 1, column 'id': the id 'a' occurs twice"),
        ({"prediction": "z"}, r"row 0, column 'prediction': 'z' is not one of the options of 'b'"),
        ({"confidence": 2}, r"row 0, column 'confidence': must be between 0 and 1, is 2"),
    ],
)
def test_a_wrong_prediction_is_named(change: dict[str, Any], message: str, items: list[ov.Item]) -> None:
    frame = pd.DataFrame({"id": ["b", "a"], "prediction": ["q", "x"], "confidence": [0.5, 0.5]})
    with pytest.raises(ov.DataError, match=f"^frame, {message}"):
        ov.predictions_from_frame(frame.assign(**change), items)


SAID = pd.DataFrame(
    {"id": ["b", "a"], "option": ["q", "x"], "answer": ["yes", "No"], "expert": ["ana", None]}
)


def test_labels_from_a_frame_make_the_same_estimate(items: list[ov.Item]) -> None:
    found = ov.labels_from_frame(SAID, items)
    kinds = [ov.LabelKind.ORDINARY, ov.LabelKind.COMPLEMENTARY]
    wanted = [
        ov.Label("b", 1, kinds[0], len(items[1].options), 1 / len(items[1].options), "ana"),
        ov.Label("a", 0, kinds[1], len(items[0].options), 1 / len(items[0].options)),
    ]
    assert found == wanted
    predictions = [ov.Prediction("b", 1), ov.Prediction("a", 0)]
    assert ov.accuracy(predictions, found) == ov.accuracy(predictions, wanted)
    assert [x.kind for x in ov.labels_from_frame(SAID.assign(answer=[True, False]), items)] == kinds
    for missing in (None, "", "unsure", "skip"):
        frame = SAID.assign(answer=pd.Series(["yes", missing], dtype=object))
        assert ov.labels_from_frame(frame, items)[1].kind is ov.LabelKind.ABSTAINED


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "c"}, r"row 0, column 'id': no item has the id 'c'"),
        ({"id": "a", "option": "x"}, r"row 1, column 'option': 'a' was asked about 'x' twice"),
        ({"option": "z"}, r"row 0, column 'option': 'z' is not one of the options of 'b'"),
        (
            {"answer": "perhaps"},
            r"row 0, column 'answer': must be one of yes, no, unsure, skip, is 'perhaps'",
        ),
    ],
)
def test_a_wrong_answer_is_named(change: dict[str, Any], message: str, items: list[ov.Item]) -> None:
    with pytest.raises(ov.DataError, match=f"^frame, {message}"):
        ov.labels_from_frame(SAID.assign(**change), items)


def test_three_calls_lead_from_frames_to_a_number(items: list[ov.Item]) -> None:
    said = pd.DataFrame({"id": ["b", "a"], "option": ["q", "p"], "answer": ["yes", "no"]})
    predicted = pd.DataFrame({"id": ["a", "b", "c"], "prediction": ["p", "Q", None]})
    labels = ov.labels_from_frame(said, ["p", "q"])
    predictions = ov.predictions_from_frame(predicted, ["p", "q"])
    assert ov.accuracy(predictions, labels).n == Counts(ordinary=1, complementary=1, unlabelled=1)
    assert [p.option for p in predictions] == [0, 1, None]


@pytest.mark.parametrize("given", [["p"], ["p", "p"], ["p", 1]])
def test_invalid_options_are_reported(given: list[Any]) -> None:
    with pytest.raises(ov.DataError, match="needs at least 2 options, each once"):
        ov.labels_from_frame(SAID, given)
    with pytest.raises(ov.DataError, match=r"row 0, column 'id': is empty"):
        ov.labels_from_frame(SAID.assign(id=["", "a"]), ["p", "q"])


@pytest.mark.parametrize("given", [5, None, ROWS, pd.Series(["a"])])
def test_a_source_that_is_neither_path_nor_frame_is_named(given: Any) -> None:
    kind = type(given).__name__
    with pytest.raises(TypeError, match=rf"^source: expected a path or a frame \(.*\), got {kind}$"):
        ov.read_items(given)


def test_records_of_another_kind_are_named(items: list[ov.Item]) -> None:
    with pytest.raises(WrongType, match=r"^items: expected a list of oversight.Item, got the text 'a'"):
        ov.read_key(pd.DataFrame({"id": [], "label": []}), "a")  # type: ignore[arg-type]
    with pytest.raises(WrongType, match=r"^predictions\[0\]: expected an oversight.Prediction, got Item"):
        ov.accuracy(items, [])  # type: ignore[arg-type]
    with pytest.raises(WrongType, match=r"^models: expected a dictionary of name to predictions, got list"):
        ov.compare([[], []], [])  # type: ignore[arg-type]
    with pytest.raises(WrongType, match=r"^mapping: expected an ItemMapping"):
        ov.read_items(pd.DataFrame(ROWS), {"text": "text"})  # type: ignore[arg-type]
    with pytest.raises(WrongType, match=r"^model: expected a model's name or a callable .*, got int"):
        ov.run(5, items, store="never.db")  # type: ignore[arg-type]


COLOURS = ["red", "green"]


def framed_study(n: int = 40) -> tuple[list[ov.Prediction], ov.Labels]:
    """Predictions and labels of n items from data frames; every second prediction is right."""
    ids = [f"i{j}" for j in range(n)]
    said = pd.DataFrame({"id": ids, "option": [COLOURS[j // 2 % 2] for j in range(n)], "answer": "yes"})
    said.loc[1::3, "answer"] = "no"
    predicted = pd.DataFrame({"id": ids, "prediction": [COLOURS[j % 2] for j in range(n)]})
    return ov.predictions_from_frame(predicted, COLOURS), ov.labels_from_frame(said, COLOURS)


def test_labels_from_a_frame_can_be_clustered() -> None:
    predictions, labels = framed_study()
    alone = ov.accuracy(predictions, labels, checks=False)
    pairs = labels.clustered({f"i{j}": f"p{j // 2}" for j in range(40)})
    assert pairs.options == ("red", "green")
    together = ov.accuracy(predictions, pairs, checks=False)
    assert together.value == pytest.approx(alone.value, abs=1e-3)
    assert together.method != alone.method


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NaT, pd.NA], ids=str)
def test_missing_clusters_and_strata_are_refused(missing: Any) -> None:
    predictions, labels = framed_study()
    groups: dict[str, Any] = {f"i{j}": f"p{j // 4}" for j in range(40)}
    groups |= {"i7": missing, "i8": missing}
    with pytest.raises(ov.EstimateError, match="item 'i7' has no cluster"):
        ov.accuracy(predictions, labels.clustered(groups), checks=False)
    with pytest.raises(ov.EstimateError, match="item 'i7' has no stratum"):
        ov.accuracy(predictions, labels, strata=groups, checks=False)
    with pytest.raises(ov.BadInput, match="item 'i7' has no stratum"):
        labels.drawn_from(groups, pool_size=80)


def test_clusters_and_strata_of_several_types_are_refused() -> None:
    predictions, labels = framed_study()
    groups: dict[str, Any] = {f"i{j}": 1 if j < 20 else "1" for j in range(40)}
    told = "item 'i0' has 1 and item 'i20' has '1'"
    with pytest.raises(ov.EstimateError, match=told):
        ov.accuracy(predictions, labels.clustered(groups), checks=False)
    with pytest.raises(ov.EstimateError, match=told):
        ov.accuracy(predictions, labels, strata=groups, checks=False)


def test_labels_of_a_frame_name_the_number_of_their_items() -> None:
    frame = pd.DataFrame({"id": ["a", "a", "b"], "option": ["x", "y", "x"], "answer": ["no", "no", "no"]})
    assert repr(ov.labels_from_frame(frame, ["x", "y", "z"])) == "<3 labels of 2 items>"


def test_several_options_per_item_compare_like_decoded_labels() -> None:
    rng, K, n = np.random.default_rng(3), 4, 120
    truth = rng.integers(K, size=n)
    asked = [rng.permutation(K)[:2].tolist() for _ in range(n)]
    rows = [(f"i{i}", str(k), k == truth[i]) for i, two in enumerate(asked) for k in two]
    labels = ov.labels_from_frame(pd.DataFrame(rows, columns=["id", "option", "answer"]), list("0123"))
    said = []
    for i, option, right in rows:
        question = ov.Question(f"{i}-{option}", i, int(option), "ann", K, "partitioned", 2 / K, seed=1)
        said.append(ov.Answer(question, "ann", ov.Verdict.YES if right else ov.Verdict.NO, "test"))
    decoded = ov.decode(said)
    first, second = (
        [ov.Prediction(f"i{i}", int(k)) for i, k in enumerate(np.where(rng.random(n) < a, truth, 0))]
        for a in (0.8, 0.5)
    )
    models = {"a": first, "b": second}
    found, same = (ov.compare(models, each).pairs[0] for each in (labels, decoded))
    assert (found.difference, found.low, found.high) == (same.difference, same.low, same.high)
    assert ov.gate_accuracy(first, labels, 0.5) == ov.gate_accuracy(first, decoded, 0.5)


def test_a_column_with_a_dot_in_its_name_is_read() -> None:
    asked = pd.DataFrame({"id": ["a", "b"], "option": ["x", "y"], "q.answer": ["yes", "no"], "q.by": "ana"})
    labels = ov.labels_from_frame(asked, ["x", "y"], answer_column="q.answer", expert_column="q.by")
    assert [(label.kind, label.expert) for label in labels] == [("ordinary", "ana"), ("complementary", "ana")]
    given = pd.DataFrame({"id": ["a", "b"], "gpt.choice": ["y", None], "gpt.sure": [0.5, None]})
    names = {"prediction_column": "gpt.choice", "confidence_column": "gpt.sure"}
    predictions = ov.predictions_from_frame(given, ["x", "y"], **names)
    assert [(p.option, p.confidence) for p in predictions] == [(1, 0.5), (None, None)]


def test_a_named_optional_column_must_exist() -> None:
    given = pd.DataFrame({"id": ["a"], "option": ["x"], "answer": ["yes"], "prediction": ["x"]})
    with pytest.raises(ov.DataError, match="'rater': there is no such column"):
        ov.labels_from_frame(given, ["x", "y"], expert_column="rater")
    with pytest.raises(ov.DataError, match="'sure': there is no such column"):
        ov.predictions_from_frame(given, ["x", "y"], confidence_column="sure")


def test_two_index_levels_with_one_name_are_refused() -> None:
    index = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["id", "id"])
    with pytest.raises(ov.DataError, match="'id': the column occurs twice"):
        ov.predictions_from_frame(pd.DataFrame({"prediction": ["x", "y"]}, index=index), ["x", "y"])
