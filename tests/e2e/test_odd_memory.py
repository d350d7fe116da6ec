"""The real command under every kind of odd reply, in a process of its own: how much memory it takes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.test_kill import command, lay_out
from tests.fakes.openai_server import Reply, fake_openai
from tests.llm.odd_replies import ODD, Odd

N, MOST_MB = 9, 300


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.name)
def test_no_odd_reply_takes_much_memory(odd: Odd, tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: odd.reply if "number 4." in prompt else Reply("green")) as server:
        lay_out(tmp_path, N, server.url)
        study = tmp_path / "study.toml"
        study.write_text(study.read_text() + "tries = 1\n")
        process = subprocess.Popen(command("run"), cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        with process.stderr as errors:
            said = errors.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert "Traceback" not in said
    assert used.ru_maxrss < MOST_MB * 1024, f"{odd.name}: {used.ru_maxrss // 1024} MB"
