"""Memory that the real command uses for every kind of odd reply, measured in a separate process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.test_kill import command, lay_out
from tests.fakes.openai_server import Reply, fake_openai
from tests.llm.odd_replies import ODD, Odd

N, MOST_MB = 9, 300
MEASURED = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
print(os.wait4(process.pid, 0)[2].ru_maxrss)
"""
"""A process begins with the peak of the one that started it, and the tests themselves are large."""


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.name)
def test_no_odd_reply_takes_much_memory(odd: Odd, tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: odd.reply if "number 4." in prompt else Reply("green")) as server:
        lay_out(tmp_path, N, server.url)
        study = tmp_path / "study.toml"
        study.write_text(study.read_text() + "tries = 1\n")
        words = [sys.executable, "-c", MEASURED, *command("run")]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr
    took = int(done.stdout.splitlines()[-1]) // 1024
    sys.stdout.write(f"{odd.name}: {took} MB\n")
    assert 20 < took < MOST_MB
