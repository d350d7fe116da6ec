"""Commands print in any encoding: tables in its characters, JSON as the same JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

COUNTS = '{"K": 4, "S_o": 77, "n_o": 120, "S_c": 321, "n_c": 360}'


def run(encoding: str, *words: str) -> str:
    command = [sys.executable, "-m", "oversight.harness.cli.main", "estimate", "--counts", COUNTS, *words]
    env = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode(encoding)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp437"])
def test_tables_are_printed(encoding: str) -> None:
    shown, wanted = run(encoding), run("utf-8")
    assert "\\u" not in shown
    lines = [line for line in wanted.splitlines() if " – " in line]
    assert lines
    for line in lines:
        interval = next(cell for cell in line.split("│") if " – " in cell).strip()
        assert interval in shown or interval.replace("–", "-") in shown
    assert json.loads(run(encoding, "--json")) == json.loads(run("utf-8", "--json"))
