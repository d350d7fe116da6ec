"""Every notebook of the documents runs, without network or key, and gives what it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.notebooks import NOTEBOOKS, ROOT, read_notebook, run_notebook

pytestmark = pytest.mark.slow


def shown(notebook: Any) -> list[Any]:
    """Outputs per cell."""
    return [[dict(out) for out in cell.get("outputs", [])] for cell in notebook.cells]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_what_it_shows(path: Path) -> None:
    stored = read_notebook(path)
    assert shown(run_notebook(path)) == shown(stored)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_says_what_it_is(path: Path) -> None:
    stored = read_notebook(path)
    assert path.stat().st_size < 40_000
    assert stored.cells[0].cell_type == "markdown"
    assert stored.cells[0].source.startswith("# ")
    assert not any(re.search(r"https?://", cell.source) for cell in stored.cells if cell.cell_type == "code")


def test_every_use_has_a_notebook_that_documents_link() -> None:
    uses = {"evaluate", "compare", "gate", "panel", "targeted", "open-answers", "search"}
    assert {path.stem for path in NOTEBOOKS} == uses
    assert "docs/notebooks/" in (ROOT / "README.md").read_text(encoding="utf-8")
    python = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    assert [path.name for path in NOTEBOOKS if f"notebooks/{path.name}" not in python] == []
