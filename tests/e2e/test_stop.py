"""Ctrl-C and SIGTERM: unfinished calls are waited for and stored; a second signal stops at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from oversight.harness.store import Store
from tests.e2e.test_kill import CONCURRENCY, command, lay_out
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143}


AS_A_TERMINAL_DOES = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""A shell's background jobs, such as the tests themselves may be, ignore Ctrl-C and hand that on."""


def start(folder: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", AS_A_TERMINAL_DOES, *command("run")]
    return subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True)


class Held:
    """Answers the first calls at once and holds all later ones until it is let go."""

    def __init__(self, free: int) -> None:
        self.free, self.held = free, threading.Semaphore(0)
        self.go = threading.Event()

    def __call__(self, _prompt: str, n: int) -> Reply:
        if n >= self.free:
            self.held.release()
            self.go.wait(60)
        return Reply("red")

    def wait_until_all_are_held(self) -> None:
        for _ in range(CONCURRENCY):
            assert self.held.acquire(timeout=60)


def read_until(process: subprocess.Popen[str], text: str) -> None:
    assert process.stderr is not None
    while text not in (line := process.stderr.readline()):
        assert line, f"it ended without saying {text!r}"


def count_predictions(folder: Path) -> int:
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        return store.count_rows()["prediction"]


@contextmanager
def stopping(
    folder: Path, number: signal.Signals
) -> Iterator[tuple[subprocess.Popen[str], Held, FakeOpenAI]]:
    """A run whose calls are held when the signal comes, once it has said that it stops."""
    held = Held(free=20)
    with fake_openai(held) as server:
        lay_out(folder, 400, server.url)
        process = start(folder)
        held.wait_until_all_are_held()
        process.send_signal(number)
        read_until(process, "stopping; unfinished calls have 10 s to finish")
        yield process, held, server


@pytest.mark.parametrize("number", SIGNALS)
def test_calls_under_way_are_stored(number: signal.Signals, tmp_path: Path) -> None:
    with stopping(tmp_path, number) as (process, held, server):
        held.go.set()
        _, err = process.communicate(timeout=60)
        assert process.returncode == SIGNALS[number]
        assert "run the same command again to continue" in err
        assert "Traceback" not in err
        assert count_predictions(tmp_path) == len(server.prompts) == 20 + CONCURRENCY
        subprocess.run(command("run"), cwd=tmp_path, stderr=subprocess.DEVNULL, check=True)
        assert len(server.prompts) == 400  # no call was sent twice


@pytest.mark.parametrize("number", SIGNALS)
def test_second_signal_stops_immediately_without_a_traceback(number: signal.Signals, tmp_path: Path) -> None:
    with stopping(tmp_path, number) as (process, held, _):
        process.send_signal(number)
        _, err = process.communicate(timeout=8)  # less than the time limit of unfinished calls
        held.go.set()
        assert process.returncode == SIGNALS[number]
        assert "Traceback" not in err
        assert count_predictions(tmp_path) == 20
