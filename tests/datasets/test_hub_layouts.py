"""Every benchmark in the columns of its card on the hub, loaded by the real library from a folder.

The library looks for a folder before it asks the hub, so that a study of a preset reads it as it would read
the hub's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oversight.harness import DataError
from oversight.harness.datasets import PRESETS, load_preset
from oversight.harness.datasets.presets import EDINET_INDUSTRIES

GPQA_TEXTS = ("Pre-Revision Question", "Pre-Revision Correct Answer", "Explanation", "Subdomain")


def published(name: str, j: int) -> dict[str, Any]:
    """Row number j of a benchmark, with every column of its card that bears on how it is loaded."""
    if name == "medical-abstracts":
        return {"condition_label": j % 5 + 1, "medical_abstract": f"Abstract {j}."}
    if name == "mmlu-pro":
        options = [f"{j} and {k}" for k in range(10 if j % 4 else 7)]
        row = {"question_id": 70 + j, "question": f"Question {j}?", "options": options, "answer": "B"}
        return row | {"answer_index": 1, "cot_content": "", "category": "law", "src": "s"}
    if name == "medqa":
        drugs = {letter: f"drug {j}{letter}" for letter in "ABCD"}
        row = {"question": f"A patient {j}?", "answer": drugs["D"], "options": drugs}
        return row | {"meta_info": "step1", "answer_idx": "D", "metamap_phrases": ["a", "b"]}
    if name == "gpqa":
        texts = {column: f"{column} {j}" for column in GPQA_TEXTS}
        wrong = {f"Incorrect Answer {k}": f" wrong {k}{j}\n" for k in (1, 2, 3)}
        row = {"Question": f"Q {j}", "Correct Answer": f"right {j}", "Record ID": f"rec{j}"}
        return texts | row | wrong | {"High-level domain": "Physics", "Expert Validator Accuracy": 0.5}
    if name == "math-mc":
        row = {"Question": f"What is {j}?", "Answer": "A", "Type": "Algebra", "Level": "Level 5"}
        return row | {letter: f"${j}{letter}$" for letter in "ABCD"}
    parts = {part: json.dumps({part: j}) for part in ("meta", "summary", "bs", "pl", "cf", "text")}
    return parts | {"industry": EDINET_INDUSTRIES[j % 16], "edinet_code": "E1", "doc_id": f"S{j}"}


def lay_out(folder: Path, name: str, rows: int = 40, first: int = 0) -> None:
    """A data set as the hub keeps it: Parquet files, and a card that says which split they are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    preset = PRESETS[name]
    target = folder / preset.hub / "data"
    target.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist([published(name, j) for j in range(first, first + rows)])
    pq.write_table(table, target / f"{preset.split}-00000-of-00001.parquet")
    config = preset.config or "default"
    files = f"  data_files:\n  - split: {preset.split}\n    path: data/{preset.split}-*\n"
    card = f"---\nconfigs:\n- config_name: {config}\n{files}---\n"
    (target.parent / "README.md").write_text(card, encoding="utf-8")


TRUE = {
    "medical-abstracts": "nervous system diseases",
    "mmlu-pro": "3 and 1",
    "medqa": "drug 2D",
    "gpqa": "right 2",
    "math-mc": "$2A$",
    "edinet-bench": EDINET_INDUSTRIES[2],
}


@pytest.mark.parametrize("name", PRESETS)
def test_benchmark_streams_in_the_layout_of_the_hub(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(tmp_path, name)
    monkeypatch.chdir(tmp_path)
    read = load_preset(name, seed=5, limit=3)
    assert len(read.items) == 3
    assert not read.whole
    # the first row has seven options and is left out
    last = read.items[-1] if name != "mmlu-pro" else read.items[2]
    assert read.rows == (4 if name == "mmlu-pro" else 3)
    assert last.options[read.truth[last.id]] == TRUE[name]
    assert read.truth.keys() == {item.id for item in read.items}
    assert load_preset(name, seed=5, limit=3).items == read.items
    if name not in ("medical-abstracts", "edinet-bench"):  # these two have the same options in every item
        assert load_preset(name, seed=6, limit=3).items[0].permutation != read.items[0].permutation


@pytest.mark.parametrize("limit", [None, 3])
def test_changed_folder_is_read_again(
    limit: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache of the library could return old rows, or rows of another folder with the same name."""
    for study, first in (("a", 0), ("b", 100), ("a", 200)):
        lay_out(tmp_path / study, "medqa", first=first)
        monkeypatch.chdir(tmp_path / study)
        assert load_preset("medqa", limit=limit).items[0].text == f"A patient {first}?"


def test_an_unreadable_data_set_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(tmp_path, "medqa")
    data = tmp_path / PRESETS["medqa"].hub / "data"
    (data / "test-00001-of-00002.parquet").write_bytes(b"no Parquet")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"\[test\]: could not be loaded: .*Parquet") as caught:
        load_preset("medqa")
    assert "\n" not in caught.value.reason


def test_a_missing_hub_data_set_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path, "gpqa")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"Idavidrein/gpqa \[test\]: could not be loaded"):
        load_preset("gpqa", split="test", limit=1)
    with pytest.raises(DataError, match="a local folder has no revision 'v1'"):
        load_preset("gpqa", revision="v1", limit=1)


@pytest.mark.slow
def test_study_of_a_hub_benchmark_runs_from_a_preset(tmp_path: Path) -> None:
    lay_out(tmp_path, "gpqa")
    settings = {"HF_HOME": str(tmp_path / "hf"), "OVERSIGHT_CACHE": str(tmp_path / "cache")}

    def oversight(*words: str) -> Any:
        command = [sys.executable, "-m", "oversight.harness.cli.main", *words, "--json"]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | settings, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    oversight("init", "--preset", "gpqa")
    found = oversight("items", "check")
    assert found["items_by_number_of_options"] == {"4": 40}
    assert found["preset"]["published"] == {"rows": {"train": 546}, "items_of_the_paper": 546}
    oversight("items", "export", "items.jsonl", "key.csv")
    lines = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert {"id", "text", "options", "High-level domain"} == lines[0].keys()
    places = {line["options"].index(f"right {j}") for j, line in enumerate(lines)}
    assert places == {0, 1, 2, 3}  # the source has the true option first
    assert (tmp_path / "key.csv").read_text().splitlines()[1] == "rec0,right 0"
    assert oversight("label", "route")["questions"] == 40
    assert oversight("label", "simulate")["new"] == 40
