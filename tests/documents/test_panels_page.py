"""The commands of docs/panels.md print what it shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.documents.shown_commands import play_page


def test_commands_print_what_the_page_shows(
    datasets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("OVERSIGHT_DATASETS", str(datasets))
    subprocess.run([sys.executable, ROOT / "benchmarks/_panel_data.py", tmp_path], check=True)
    assert play_page(ROOT / "docs" / "panels.md") == 4
