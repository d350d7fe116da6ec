"""Lists of names on the command line are read as lines of CSV."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.config import read_study


def test_class_with_a_comma_stays_one_class(oversight: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("id,text\na,one\nb,two\n")
    oversight("init", tmp_path, "--classes", 'x, "G, H","say ""no""",y')
    assert read_study(tmp_path / "study.toml").items.classes == ["x", "G, H", 'say "no"', "y"]


@pytest.mark.parametrize("classes", ['x,"G, H', 'x,"G"H,y'])
def test_unbalanced_quotes_are_refused(classes: str, oversight: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("id,text\na,one\nb,two\n")
    assert "as in CSV" in oversight("init", tmp_path, "--classes", classes, code=2)["error"]
    assert not (tmp_path / "study.toml").exists()
