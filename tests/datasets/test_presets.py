from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness import BadInput, DataError
from harness.datasets import PRESETS, read_preset
from harness.datasets.presets import EDINET_INDUSTRIES


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
    assert 9_700 < len(items) <= 9_981  # the paper has 9,795 after its own removal of duplicates
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
    "edinet-bench": {"summary": "{}", "bs": "{}", "industry": EDINET_INDUSTRIES[5]},
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


@pytest.mark.parametrize("name", PRESETS)
def test_other_files_are_refused_with_the_row(name: str, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"some": "thing"}', encoding="utf-8")
    with pytest.raises(DataError, match=rf"data\.jsonl:1: not a row of {name}"):
        read_preset(name, path)


def test_repeated_items_and_repeated_options_are_left_out(tmp_path: Path) -> None:
    row = PUBLISHED["math-mc"]
    path = tmp_path / "data.jsonl"
    rows = [row, row, {**row, "Question": "other?", "A": row["B"]}, {**row, "Question": "third?"}]
    path.write_text("\n".join(json.dumps(r) for r in rows), encoding="utf-8")
    assert [item.text for item in read_preset("math-mc", path)[0]] == ["q?", "third?"]


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(BadInput, match="there is no preset 'x'"):
        read_preset("x")
