"""The commands of docs/saving.md print what it shows; OVERSIGHT_WRITE_DOCS=1 writes what they print."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from harness.cli.main import main
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "saving.md"
PART = re.compile(r"(?:<!-- file: (\S+) -->\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REFUSED = "$ oversight plan --study controls.toml"


def run_line(line: str) -> str:
    """What one command line prints; ``| head -N`` is the only pipe it may have."""
    words, _, pipe = line.partition(" | ")
    program, *rest = shlex.split(words.removeprefix("$ "))
    if program == "python":
        subprocess.run([sys.executable, *rest], check=True)
        return ""
    assert program == "oversight"
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        assert main(rest) == (2 if line == REFUSED else 0), out.getvalue()
    lines = [printed.rstrip() for printed in out.getvalue().splitlines()]
    return "".join(f"{shown}\n" for shown in (lines[: int(pipe.removeprefix("head -"))] if pipe else lines))


def rounded(text: str) -> str:
    """Long floats to nine digits: the last ones differ between processors."""
    return re.sub(r"\d+\.\d{10,}", lambda number: f"{float(number[0]):.9g}", text)


def test_commands_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "data", tmp_path / "data")
    (tmp_path / "tour").mkdir()
    monkeypatch.chdir(tmp_path / "tour")
    monkeypatch.delenv("COLUMNS", raising=False)

    def fresh(part: re.Match[str]) -> str:
        name, language, text = part.groups()
        if language == "toml":
            Path(name).write_text(text, encoding="utf-8")
        if language != "console":
            return part[0]
        lines = [line for line in text.splitlines() if line.startswith("$ ")]
        assert lines
        shown = "".join(f"{line}\n{run_line(line)}" for line in lines)
        return f"```console\n{shown}```"

    page = PAGE.read_text(encoding="utf-8")
    found = PART.sub(fresh, page)
    if os.environ.get("OVERSIGHT_WRITE_DOCS"):
        PAGE.write_text(found, encoding="utf-8")
    assert rounded(found) == rounded(PAGE.read_text(encoding="utf-8"))


def test_the_page_walks_every_feature_that_saves_questions() -> None:
    commands = "\n".join(
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("$ ")
    )
    for feature in ("route --questions", "route --more", "plan --width", "--metrics", "experts quality"):
        assert feature in commands
    for setting in ("judge =", "gold =", "repeat =", "overlap ="):
        assert setting in PAGE.read_text(encoding="utf-8")
