"""A server that is away for a whole minute, by the real clock: the run waits, and no item fails for it."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path

import pytest

from tests.e2e.test_kill import command, lay_out
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

N, BEFORE, AWAY = 200, 60, 60.0


class Dying:
    """Answers `BEFORE` calls, then sets `reached` and hangs up on all later calls."""

    def __init__(self) -> None:
        self.reached = threading.Event()

    def __call__(self, _prompt: str, n: int) -> Reply:
        if n + 1 == BEFORE:
            self.reached.set()
        return Reply("red", drop=n >= BEFORE)


def port_of(server: FakeOpenAI) -> int:
    return int(server.url.rsplit(":", 1)[1].partition("/")[0])


@pytest.mark.slow
def test_a_minute_without_a_server_fails_no_item(tmp_path: Path) -> None:
    answer = Dying()
    with fake_openai(answer) as server:
        lay_out(tmp_path, N, server.url)
        words = command("run", "--json")
        process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        assert answer.reached.wait(60)
    assert not threading.Event().wait(AWAY)
    assert process.poll() is None  # it waits
    with fake_openai(lambda prompt, n: Reply("red"), port=port_of(server)) as back:
        out, _ = process.communicate(timeout=120)
    result = json.loads(out)["models"]["m"]
    assert (result["predictions"], result["ok"], result["failed"]) == (N, N, 0)
    assert len(back.prompts) == N - BEFORE
