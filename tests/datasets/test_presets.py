from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oversight.harness import BadInput, DataError
from oversight.harness.datasets import PRESETS, load_preset, read_preset
from oversight.harness.datasets.presets import EDINET_INDUSTRIES
from tests.conftest import ROOT


def test_medical_abstracts_is_read_whole(datasets: Path) -> None:
    items, truth = read_preset("medical-abstracts", datasets / "medical_abstracts_test.csv.gz")
    assert len(items) == len({item.id for item in items}) == 2888
    counts = [list(truth.values()).count(j) for j in range(5)]
    assert counts == [633, 299, 385, 610, 961]  # published sizes of the test split
    assert items[0].text.startswith("Obstructive sleep apnea")
    assert items[0].options[truth[items[0].id]] == "nervous system diseases"


def test_mmlu_pro_keeps_the_items_with_ten_options(datasets: Path) -> None:
    items, truth = read_preset("mmlu-pro", datasets / "mmlu_pro_questions.parquet")
    assert {len(item.options) for item in items} == {10}
    assert 9_700 < len(items) <= 9_981  # the paper has 9,795 after its authors removed duplicates
    assert len({item.meta["category"] for item in items}) == 14
    assert set(truth.values()) == set(range(10))


def test_medqa_reads_options_by_letter(datasets: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    rows = pq.read_table(datasets / "mirage_questions.parquet", use_threads=False).to_pylist()
    path = tmp_path / "medqa.jsonl"
    medqa = [row for row in rows if row["dataset"] == "medqa"]
    path.write_text("\n".join(json.dumps(row) for row in medqa), encoding="utf-8")
    items, truth = read_preset("medqa", path, limit=100)
    assert len(items) == 100
    assert {len(item.options) for item in items} == {4}
    assert items[0].options[truth[items[0].id]].startswith("Tell the attending")


PUBLISHED: dict[str, dict[str, Any]] = {
    "medqa": {"question": "q?", "options": {"A": "w", "B": "x", "C": "y", "D": "z"}, "answer_idx": "C"},
    "gpqa": {
        "Record ID": "rec1",
        "Question": "q?",
        "Correct Answer": "y",
        "Incorrect Answer 1": "w",
        "Incorrect Answer 2": "x",
        "Incorrect Answer 3": "z",
        "High-level domain": "Physics",
    },
    "math-mc": {
        "Question": "q?",
        "A": "w",
        "B": "x",
        "C": "y",
        "D": "z",
        "E": "v",
        "Answer": "C",
        "Type": "Algebra",
    },
    "edinet-bench": {"summary": "{}", "bs": "{}", "pl": "", "cf": None, "industry": EDINET_INDUSTRIES[5]},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_rows_in_the_published_form_become_items(name: str, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(PUBLISHED[name]), encoding="utf-8")
    items, truth = read_preset(name, path)
    k = {"medqa": 4, "gpqa": 4, "math-mc": 5, "edinet-bench": 16}[name]
    assert len(items[0].options) == k
    right = items[0].options[truth[items[0].id]]
    assert right == (EDINET_INDUSTRIES[5] if name == "edinet-bench" else "y")


FIRST_NEEDED = {
    "medical-abstracts": "condition_label",
    "mmlu-pro": "options",
    "medqa": "options",
    "gpqa": "Incorrect Answer 1",
    "math-mc": "candidates",
    "edinet-bench": "industry",
}


@pytest.mark.parametrize("name", PRESETS)
def test_other_files_are_refused_by_row_and_column(name: str, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"some": "thing"}', encoding="utf-8")
    column = FIRST_NEEDED[name]
    with pytest.raises(
        DataError, match=rf"data\.jsonl:1 \[{column}\]: not a row of {name}: there is no such"
    ):
        read_preset(name, path)


WRONG_VALUES = [
    ("gpqa", "Incorrect Answer 2", None, "is empty"),
    ("gpqa", "Question", 7, "must be text, is 7"),
    ("medqa", "answer_idx", "E", "'E' is not one of A, B, C, D"),
    ("medqa", "options", "[", "must be options by letter"),
    ("medqa", "options", {"A": "w", "B": None, "C": "y", "D": "z"}, "option 2 is empty"),
    ("math-mc", "Answer", "", "is not one of A, B, C, D, E"),
    ("edinet-bench", "industry", "漁業", "'漁業' is not one of 食品"),
]


@pytest.mark.parametrize(("name", "column", "value", "told"), WRONG_VALUES)
def test_a_wrong_value_is_refused_by_its_column(
    name: str, column: str, value: Any, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({**PUBLISHED[name], column: value}), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_preset(name, path)
    assert caught.value.field == column
    assert told in caught.value.reason


def test_no_place_of_an_answer_is_moved_by_an_option_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    options = [str(j) for j in range(10)]
    row = {"question_id": 1, "question": "q?", "answer": "E", "category": "law"}
    path.write_text(json.dumps({**row, "options": [None, *options[1:]]}), encoding="utf-8")
    with pytest.raises(DataError, match=r"\[options\]: not a row of mmlu-pro: option 1 is empty"):
        read_preset("mmlu-pro", path)
    candidates = {"question": "q?", "candidates": [None, "a", "b", "c", "d"]}
    path.write_text(json.dumps(candidates), encoding="utf-8")
    with pytest.raises(DataError, match=r"\[candidates\].* the true answer, is empty"):
        read_preset("math-mc", path)


def test_a_report_without_a_column_of_its_parts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    row = PUBLISHED["edinet-bench"]
    path.write_text(json.dumps({name: row[name] for name in row if name != "pl"}), encoding="utf-8")
    with pytest.raises(DataError, match=r"\[pl\]: not a row of edinet-bench: there is no such column"):
        read_preset("edinet-bench", path)


def test_candidate_answers_become_five_options(tmp_path: Path) -> None:
    path = tmp_path / "candidates.jsonl"
    rows = [
        {"question": "six times seven?", "candidates": ["42", "36", "48", "13", "67", "7", "6", "48"]},
        # two candidates equal the truth or each other, so too few remain
        {"question": "too few", "candidates": ["x", "X ", "y", "y", "z", "w"]},
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    read = load_preset("math-mc", path, seed=3)
    (item,) = read.items
    assert item.options[read.truth[item.id]] == "42"
    assert len(set(item.options)) == 5
    assert set(item.options) < set(rows[0]["candidates"])
    assert read.left_out == {"fewer than four distractors": 1}
    assert load_preset("math-mc", path, seed=3).items == read.items
    drawn = {load_preset("math-mc", path, seed=seed).items[0].options for seed in range(20)}
    assert len(drawn) > 10


def test_rows_are_compared_with_the_published_numbers(datasets: Path) -> None:
    read = load_preset("mmlu-pro", datasets / "mmlu_pro_questions.parquet")
    assert read.rows == 12_032 == len(read.items) + sum(read.left_out.values())
    assert read.lines()[1:] == [
        "published number of rows: 12,032 in test, 70 in validation; the same here",
        "number of items in the paper: 9,795; +18 here",
    ]
    limited = load_preset("mmlu-pro", datasets / "mmlu_pro_questions.parquet", limit=10)
    assert limited.lines()[1:] == ["numbers not checked: reading stopped at the limit"]


def test_repeated_items_and_repeated_options_are_left_out(tmp_path: Path) -> None:
    row = PUBLISHED["math-mc"]
    path = tmp_path / "data.jsonl"
    rows = [row, row, {**row, "Question": "other?", "A": row["B"]}, {**row, "Question": "third?"}]
    path.write_text("\n".join(json.dumps(r) for r in rows), encoding="utf-8")
    assert [item.text for item in read_preset("math-mc", path)[0]] == ["q?", "third?"]


def test_an_option_that_no_preset_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no preset 'x'"):
        read_preset("x")
    with pytest.raises(BadInput, match="no configuration 'x'; there are: gpqa_extended, gpqa_main, gpqa_di"):
        read_preset("gpqa", config="x")
    with pytest.raises(BadInput, match="no configuration 'x'; there are: none to choose"):
        read_preset("medqa", config="x")
    with pytest.raises(BadInput, match="limit must be 1 or more, is 0"):
        read_preset("gpqa", limit=0)
    with pytest.raises(BadInput, match="split, revision: applies only to data sets of the hub"):
        read_preset("gpqa", tmp_path / "g.jsonl", split="train", revision="main")


def test_documented_presets_match_the_code(datasets: Path) -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for name, preset in PRESETS.items():
        (row,) = (line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        assert f"`{preset.hub}`" in row
        assert f" {preset.split} " in row
        n = preset.rows.get(preset.config, {}).get(preset.split)
        rows = f"{n:,}" if n else "unknown"
        assert row.endswith(f"| {rows} | {f'{preset.printed:,}' if preset.printed else 'not printed'} |")
    shown = [
        "\n".join(load_preset(name, datasets / file).lines())
        for name, file in (
            ("mmlu-pro", "mmlu_pro_questions.parquet"),
            ("medical-abstracts", "medical_abstracts_test.csv.gz"),
        )
    ]
    assert "```\n" + "\n\n".join(shown) + "\n```" in page
