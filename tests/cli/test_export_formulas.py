"""Exported predictions open in a spreadsheet program without running what a model wrote."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
