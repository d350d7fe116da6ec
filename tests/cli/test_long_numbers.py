"""Numbers of more digits than Python reads are an error of the file, not of the program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("name", ["study.toml", "prices.toml", "experts.toml"])
def test_a_number_of_5000_digits_is_refused_by_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\na,b\n")
    Path("study.toml").write_text(
        '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["x", "y"]\n[models.m]\nmodel = "m"\n'
        'command = ["cat"]\n'
    )
    Path(name).write_text(f"seed = {'9' * 5000}\n")
    words = ("label", "route") if name == "experts.toml" else ("run", "--dry-run")
    assert name in oversight(*words, code=2)["error"]
