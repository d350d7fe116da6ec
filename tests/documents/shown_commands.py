"""Pages that show commands with what they print: the commands are run again, and must print the same.

OVERSIGHT_WRITE_DOCS=1 writes what they print into the pages.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from oversight.harness.cli.main import main

PART = re.compile(r"(?:<!-- file: (\S+) -->\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_line(line: str, refused: str = "") -> str:
    """Return what one line prints; its pipe may be ``| head -N`` or ``| tail -N``.

    The line `refused` ends with exit code 2.
    """
    words, _, pipe = line.removeprefix("$ ").partition(" | ")
    program, *rest = shlex.split(words)
    if program == "python":
        subprocess.run([sys.executable, *rest], check=True)
        return ""
    assert program == "oversight"
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        assert main(rest) == (2 if line == refused else 0), out.getvalue()
    lines = [printed.rstrip() for printed in out.getvalue().splitlines()]
    if pipe:
        end, count = pipe.split(" -")
        lines = lines[: int(count)] if end == "head" else lines[-int(count) :]
    return "".join(f"{shown}\n" for shown in lines)


def play_page(page: Path, refused: str = "") -> int:
    """Run a page's commands in this folder, and hold the page to them; gives how many blocks it has."""

    def fresh(part: re.Match[str]) -> str:
        name, language, text = part.groups()
        if name:
            Path(name).write_text(text, encoding="utf-8")
        if language != "console":
            return part[0]
        lines = [line for line in text.splitlines() if line.startswith("$ ")]
        assert lines
        shown = "".join(f"{line}\n{run_line(line, refused)}" for line in lines)
        return f"```console\n{shown}```"

    text = page.read_text(encoding="utf-8")
    found = PART.sub(fresh, text)
    if os.environ.get("OVERSIGHT_WRITE_DOCS"):
        page.write_text(found, encoding="utf-8")
    assert round_floats(found) == round_floats(page.read_text(encoding="utf-8"))
    return sum(part[2] == "console" for part in PART.finditer(text))


def round_floats(text: str) -> str:
    """Long floats to nine digits: the last ones differ between processors."""
    return re.sub(r"\d+\.\d{10,}", lambda number: f"{float(number[0]):.9g}", text)
