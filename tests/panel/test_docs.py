"""The commands of docs/panels.md print what it shows; OVERSIGHT_WRITE_DOCS=1 writes what they print."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from harness.cli.main import main
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "panels.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def printed(command: str) -> str:
    """Run one command line; ``| head -N`` is the only pipe it may have."""
    words, _, pipe = command.partition(" | ")
    out = io.StringIO()
    with redirect_stdout(out):
        assert main(shlex.split(words)[1:]) == 0
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return "\n".join(lines[: int(pipe.removeprefix("head -"))] if pipe else lines)


def rounded(text: str) -> str:
    """Long floats to nine digits: the last ones differ between processors."""
    return re.sub(r"\d+\.\d{10,}", lambda number: f"{float(number[0]):.9g}", text)


def test_commands_print_what_the_page_shows(
    datasets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("OVERSIGHT_DATASETS", str(datasets))
    subprocess.run([sys.executable, ROOT / "benchmarks/_panel_data.py", tmp_path], check=True)

    def fresh(block: re.Match[str]) -> str:
        commands = [line[2:] for line in block[1].splitlines() if line.startswith("$ ")]
        assert commands
        assert all(command.startswith("oversight ") for command in commands)
        shown = "\n".join(f"$ {command}\n{printed(command)}" for command in commands)
        return f"```console\n{shown}\n```"

    found = BLOCK.sub(fresh, page)
    assert len(BLOCK.findall(page)) == 10
    if os.environ.get("OVERSIGHT_WRITE_DOCS"):
        PAGE.write_text(found, encoding="utf-8")
    assert rounded(found) == rounded(PAGE.read_text(encoding="utf-8"))
