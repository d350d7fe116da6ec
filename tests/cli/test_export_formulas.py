"""Written files open in a spreadsheet program without running a text, and are read back as they were."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from oversight.harness.datasets import read_key, read_ratings
from oversight.harness.types import Item

TEXTS = ['=HYPERLINK("http://x","y")', "+1", "-1", "@SUM(A1)", "\tx", "'=1", "''@x", "'quoted'", "plain"]


def test_texts_that_would_be_formulas_are_guarded_and_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n" + "".join(f"=i{j},number {j}\n" for j in range(len(TEXTS))))
    Path("study.toml").write_text(
        '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["=red", "green"]\n'
    )
    rows = [{"id": f"=i{j}", "prediction": "=red", "raw": text} for j, text in enumerate(TEXTS)]
    Path("m.jsonl").write_text("\n".join(map(json.dumps, rows)))
    oversight("predictions", "import", "m.jsonl", "--model", "m")
    oversight("predictions", "export", "first.csv")
    with Path("first.csv").open(newline="") as stream:
        cells = [cell for row in csv.DictReader(stream) for cell in row.values()]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]
    oversight("predictions", "export", "first.jsonl")
    oversight("predictions", "import", "first.csv", "--model", "again")
    oversight("predictions", "export", "second.jsonl")
    found = [json.loads(line) for line in Path("second.jsonl").read_text().splitlines()]
    same = [
        [(r["item_id"], r["option_text"], r["raw"]) for r in found if r["model"] == model]
        for model in ("m", "again")
    ]
    assert same[0] == same[1]
    assert len(same[0]) == len(TEXTS)


CLASSES = ["=red", "-1", "+2,5", "@blue", "＝white", "'=grey"]
STUDY = f"""\
[study]
name = "t"
[items]
file = "items.csv"
classes = {json.dumps(CLASSES)}
"""
PANEL = '[experts]\nprotocol = "panel"\nannotators_per_item = 2\n'
PRESET = '[study]\nname = "t"\n[items]\nfile = "items.jsonl"\npreset = "mmlu-pro"\n'


def read_cells(path: Path) -> list[str]:
    """All cells of a written file; those of a workbook that a program would compute begin with "="."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8-sig") as stream:
            return [cell for row in csv.reader(stream) for cell in row]
    book = load_workbook(path)
    return [str(cell.value) for sheet in book for row in sheet for cell in row if cell.data_type == "f"]


def find_formulas(*paths: Path) -> list[str]:
    assert paths
    cells = [cell for path in paths for cell in read_cells(path)]
    return [cell for cell in cells if re.match(r"[=+\-@\t\r\n＝＋－＠]", cell)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"=i{j},@number {j}\n" for j in range(12))
    Path("items.csv").write_text(f"id,text\n{rows}")
    names = ("ana", "bea", "cem")
    everybody = "".join(f'[[expert]]\nname = "{name}"\nclasses = ["*"]\n' for name in names)
    Path("experts.toml").write_text(everybody)
    return tmp_path


@pytest.mark.parametrize("form", ["csv", "xlsx"])
@pytest.mark.parametrize("more", ["", PANEL], ids=["questions", "panel"])
def test_sheets_hold_no_formulas(more: str, form: str, folder: Path, oversight: Callable[..., Any]) -> None:
    Path("study.toml").write_text(STUDY + more)
    oversight("label", "route")
    assert not find_formulas(*map(Path, oversight("label", "export", "--format", form)["files"]))


def test_ratings_of_a_panel_come_back_as_they_were(folder: Path, oversight: Callable[..., Any]) -> None:
    Path("study.toml").write_text(STUDY + PANEL)
    oversight("label", "route")
    for path in map(Path, oversight("label", "export", "--format", "jsonl")["files"]):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        said = [row | {"label": row["options"].split(" | ")[0]} for row in rows]
        path.write_text("\n".join(map(json.dumps, said)))
        oversight("label", "import", path)
    for name in ("ratings.csv", "ratings.jsonl"):
        oversight("label", "export", "--ratings", name)
    assert not find_formulas(Path("ratings.csv"))
    ratings = read_ratings("ratings.csv")
    assert ratings == read_ratings("ratings.jsonl")
    assert {rating.label for rating in ratings} <= set(CLASSES)
    assert oversight("panel", "agree", "ratings.csv") == oversight("panel", "agree", "ratings.jsonl")
    oversight("label", "import", "ratings.csv")


def test_key_of_a_preset_opens_the_items(folder: Path, oversight: Callable[..., Any]) -> None:
    Path("study.toml").write_text(PRESET)
    options = ["-1", "+1", "=0", "@", *"abcdef"]
    rows = [
        {
            "question_id": j,
            "question": f"{j}?",
            "options": options,
            "answer": "ABCD"[j % 4],
            "category": "law",
        }
        for j in range(12)
    ]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    oversight("items", "export", "made.jsonl", "key.csv")
    assert not find_formulas(Path("key.csv"))
    made = [json.loads(line) for line in Path("made.jsonl").read_text().splitlines()]
    items = [Item(row["id"], row["text"], tuple(row["options"]), tuple(range(10))) for row in made]
    truth = read_key("key.csv", items)
    shown = {row["text"]: row["options"][truth[row["id"]]] for row in made}
    assert shown == {f"{j}?": options[j % 4] for j in range(12)}
