"""`oversight compare` if models were added after questions about two models were drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.colours import CLASSES, write_colours

N = 90


def import_model(oversight: Callable[..., Any], name: str, wrong: int) -> None:
    rows = [{"id": f"i{j}", "prediction": CLASSES[(j + (j % wrong == 0)) % 3]} for j in range(N)]
    Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    oversight("predictions", "import", f"{name}.jsonl", "--model", name)


def test_models_added_later_are_left_out_of_a_disagreement_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_colours(N)
    Path("study.toml").write_text(
        f'[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = {json.dumps(CLASSES)}\n'
        '[experts]\nprotocol = "disagreement"\nmodels = ["a", "b"]\n'
    )
    import_model(oversight, "a", 9)
    import_model(oversight, "b", 2)
    oversight("label", "route")
    oversight("label", "simulate", "--key", "key.csv")
    before = oversight("compare")
    import_model(oversight, "late", 5)
    after = oversight("compare")
    assert after["comparisons"] == before["comparisons"]
    told = "late: left out, because questions were asked only where a and b differ"
    assert told in json.dumps(after)
    assert "error" in oversight("compare", "--model", "a", "--model", "late", code=2)
