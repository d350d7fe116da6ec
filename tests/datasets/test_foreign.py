"""Answers from other programs' logs; logs/README.md describes how the logs were made."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.harness import DataError
from oversight.harness.datasets import format_of, predictions_from_arrays, read_items
from oversight.harness.datasets.inspect_logs import _header, _samples
from oversight.harness.types import Item, PredictionStatus, Source
from tests.datasets.foreign_answers import read_foreign, to_predictions

LOGS = Path(__file__).parent / "logs"
DATA = Path(__file__).parents[2] / "data" / "questions.jsonl"
Oversight = Callable[..., Any]


def questions() -> list[Item]:
    return read_items(DATA)[:8]


def imported(name: str) -> list[Any]:
    path = LOGS / name
    return to_predictions(read_foreign(path, format_of(path)), questions(), path)


def test_an_eval_archive_is_read_as_inspect_scored_it() -> None:
    path = LOGS / "questions.eval"
    samples = list(_samples(path, _header(path)))
    said = {sample["id"]: sample["scores"]["choice"]["answer"] for sample in samples}
    assert any(said.values())
    found = {p.item_id: p for p in imported("questions.eval")}
    assert set(found) == {item.id for item in questions()}
    for item_id, letter in said.items():
        # The log gives an item's options in their source order, not in the order shown here.
        assert found[item_id].option == ("ABCDEFGHIJ".index(letter) if letter else None)
    unreadable = [p for p in found.values() if p.option is None]
    assert {p.status for p in unreadable} == {PredictionStatus.UNREADABLE}
    assert {p.source for p in found.values()} == {Source.IMPORT}
    assert {(p.input_tokens, p.output_tokens) for p in found.values()} == {(7, 3)}


def test_epochs_of_a_json_log_become_samples() -> None:
    answers = read_foreign(LOGS / "questions.json", "inspect")
    assert sorted((a.id, a.sample) for a in answers) == [(f"q-00{j}", s) for j in (1, 2, 3) for s in (0, 1)]


def test_generated_samples_of_lm_eval_are_read_as_its_filter_did() -> None:
    rows = [json.loads(line) for line in (LOGS / "samples_questions.jsonl").read_text().splitlines()]
    found = {p.item_id: p for p in imported("samples_questions.jsonl")}
    assert len(found) == len(rows) == 8
    for row in rows:
        letter = row["filtered_resps"][0]
        expected = "ABCDEFGHIJ".index(letter) if len(letter) == 1 else None
        assert found[row["doc"]["id"]].option == expected
        assert found[row["doc"]["id"]].raw == row["resps"][0][0]


def test_multiple_choice_of_lm_eval_takes_the_likeliest_with_its_share() -> None:
    found = {p.item_id: p for p in imported("samples_choices.jsonl")}
    for line in (LOGS / "samples_choices.jsonl").read_text().splitlines():
        row = json.loads(line)
        scores = np.array([float(pair[0]) for pair in row["filtered_resps"]])
        prediction = found[row["doc"]["id"]]
        assert prediction.option == int(scores.argmax())
        assert prediction.confidence == pytest.approx(float(np.exp(scores).max() / np.exp(scores).sum()))


def test_a_helm_run_is_read_by_its_output_mapping() -> None:
    *items, last = questions()
    items = [replace(items[0], options=items[0].options[::-1]), *items[1:], replace(last, id="other")]
    answers = read_foreign(LOGS / "scenario_state.json", format_of(LOGS / "scenario_state.json"))
    found = to_predictions(answers, items, "scenario_state.json")
    # Options are matched by text, not by place: the first item's options are reversed here.
    assert [p.option for p in found[:6]] == [len(items[0].options) - 1, 1, 2, 0, 1, 2]
    assert {p.seconds for p in found[:6]} == {0.25}
    assert (found[6].status, found[6].raw) == (PredictionStatus.UNREADABLE, " I cannot say.")
    # the item was found by its text
    assert (found[7].item_id, found[7].status) == ("other", PredictionStatus.FAILED)
    assert found[7].reason == "import: content policy"


def test_a_table_needs_only_ids_and_answers(tmp_path: Path) -> None:
    path = tmp_path / "preds.csv"
    path.write_text("id,prediction,confidence\nq-001,Magnesium sulfate,0.9\nq-002,B,\nq-003,,\n")
    found = to_predictions(read_foreign(path, format_of(path)), questions(), path, "option")
    assert [p.option for p in found] == [2, 1, None]
    assert [p.confidence for p in found] == [0.9, None, None]
    assert found[2].reason == "empty"
    path.write_text("id,prediction,status\nq-001,B,ok\nq-002,,Failed\nq-003,,patient died\n")
    answers = read_foreign(path, "table")
    assert [p.status for p in to_predictions(answers, questions(), path, "option")] == [
        PredictionStatus.OK,
        PredictionStatus.FAILED,
        PredictionStatus.UNREADABLE,
    ]
    assert [answer.meta for answer in answers] == [{}, {}, {"status": "patient died"}]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.csv", "id,prediction\nq-999,A\n", r"p\.csv:2: no item of the study has the id 'q-999'"),
        ("p.csv", "id,prediction\nq-001,A\nq-001,B\n", r"p\.csv:3: 'q-001' was answered in line 2 already"),
        ("p.csv", "name,prediction\na,b\n", r"p\.csv:2 \[id\]: there is neither"),
        ("p.csv", "id,answer\na,b\n", r"p\.csv:2 \[prediction\]: there is neither"),
        ("p.csv", "id,prediction,confidence\nq-001,A,2\n", r"\[confidence\]: must be between 0 and 1, is 2"),
        ("p.csv", "id,prediction,sample\nq-001,A,x\n", r"\[sample\]: must be a number, is 'x'"),
        ("p.csv", b"id,prediction\nq-001,\xff\n", r"p\.csv:2: not UTF-8"),
        ("p.csv", "id,prediction\n", r"p\.csv: the log contains no answers"),
        ("p.eval", "no archive", r"p\.eval: not a whole \.eval archive"),
        ("samples_t.jsonl", "{}", r"samples_t\.jsonl:1 \[doc\]: must be dict, is NoneType"),
        ("scenario_state.json", "[]", r"\[request_states\]: must be list"),
        ("scenario_state.json", "{", r"malformed JSON"),
        ("what.txt", "x", r"which program wrote it"),
    ],
)
def test_a_wrong_log_is_named(name: str, text: str | bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=message):
        to_predictions(read_foreign(path, format_of(path)), questions(), path)


def test_options_that_are_not_the_items_are_refused() -> None:
    items = [Item(i.id, i.text, (*i.options[:-1], "another"), i.permutation) for i in questions()]
    answers = read_foreign(LOGS / "questions.eval", "inspect")
    with pytest.raises(DataError, match="is no option of the item 'q-00"):
        to_predictions(answers, items, "questions.eval")
    fewer = [Item(i.id, i.text, i.options[:2], (0, 1)) for i in questions()]
    with pytest.raises(DataError, match="2 options in the study, but"):
        to_predictions(answers, fewer, "questions.eval")


def test_log_gives_items_predictions_and_a_parquet_export(
    oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.parquet as pq

    monkeypatch.chdir(tmp_path)
    shutil.copy(LOGS / "questions.eval", "log.eval")
    assert oversight("predictions", "items", "log.eval")["items"] == 8
    Path("study.toml").write_text('[study]\nname = "t"\n[items]\nfile = "items.jsonl"\n')
    first = oversight("predictions", "import", "log.eval", "--model", "small")
    assert (first["answers"], first["items"], first["failed"]) == (8, 8, 0)
    assert oversight("predictions", "import", "log.eval", "--model", "small") == first
    assert oversight("predictions", "export", "all.parquet")["rows"] == 8
    table = pq.read_table("all.parquet", use_threads=False).to_pylist()
    by_text = {item.id: item for item in questions()}
    for row in table:
        assert row["model"] == "small"
        if row["option"] is not None:
            assert row["option_text"] == by_text[row["item_id"]].options[row["option"]]
    assert [path.name for path in tmp_path.glob("*.part")] == []


def test_classifiers_give_labels_or_probabilities(items: list[Item]) -> None:
    names = ("blue", "green", "red")  # in scikit-learn's order
    table = np.tile([0.1, 0.2, 0.7], (6, 1))
    by_probability = predictions_from_arrays(items, probabilities=table, classes=names)
    assert {(p.option, p.confidence) for p in by_probability} == {(0, 0.7)}
    by_label = predictions_from_arrays(items, np.array(["green"] * 6), probabilities=table, classes=names)
    assert {(p.option, p.confidence) for p in by_label} == {(1, 0.2)}
    assert {p.option for p in predictions_from_arrays(items, [2] * 6)} == {2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give `predicted`, `probabilities` or both"),
        ({"predicted": [0]}, "1 predictions for 6 items"),
        ({"predicted": ["pink"] * 6}, "row 0: 'pink' is not an option of 'i0'"),
        ({"probabilities": np.ones((6, 2))}, r"must have shape \(6, 3\), has \(6, 2\)"),
        ({"probabilities": np.ones((6, 3))}, "row 0 is not a distribution"),
        ({"probabilities": np.full((6, 3), np.nan)}, "row 0 is not a distribution"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    arguments: dict[str, Any], message: str, items: list[Item]
) -> None:
    with pytest.raises(DataError, match=message):
        predictions_from_arrays(items, **arguments)


def test_numbers_are_classes_first_and_places_only_where_they_cannot_be() -> None:
    items = [Item(f"i{j}", "…", ("1", "2", "3"), (0, 1, 2)) for j in range(2)]
    from_fit = predictions_from_arrays(items, np.array([1, 2]), classes=np.array([1, 2, 3]))  # type: ignore[arg-type]
    assert [p.option for p in from_fit] == [0, 1]
    assert [p.option for p in predictions_from_arrays(items, ["1", "3"])] == [0, 2]
    assert [p.option for p in predictions_from_arrays(items, [3, 1])] == [2, 0]  # 3 is no place
    with pytest.raises(
        DataError, match="row 0: 1 is both a class and the position of the class '2'; give the labels"
    ):
        predictions_from_arrays(items, [1, 2])
