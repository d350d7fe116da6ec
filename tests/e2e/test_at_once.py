"""Several commands at once on one study: each item is asked once; a refused command says why."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from oversight.harness.store import Store
from tests.e2e.test_kill import command, lay_out
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

pytestmark = pytest.mark.slow

N = 200


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command("run", *words), cwd=folder, stdout=pipe, stderr=pipe, text=True)


def count_predictions(folder: Path) -> int:
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        return store.count_rows()["prediction"]


@pytest.mark.parametrize("commands", [2, 4, 8])
def test_commands_that_wait_for_each_other_pay_once(commands: int, url: str, tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: Reply("green")) as server:
        lay_out(tmp_path, N, server.url)
        file = tmp_path / "study.toml"
        file.write_text(file.read_text().replace('name = "t"', f'name = "t"\nstore = "{url}"'))
        started = [start(tmp_path, "--wait") for _ in range(commands)]
        said = [process.communicate(timeout=120) for process in started]
        assert [process.returncode for process in started] == [0] * commands, said
        assert len(server.prompts) == N
    with Store(url) as store:
        assert store.count_rows()["prediction"] == N


@pytest.mark.parametrize("commands", [2, 4, 8])
def test_commands_at_once_pay_once_and_the_refused_say_for_whom(commands: int, tmp_path: Path) -> None:
    refused = threading.Event()
    with fake_openai(held_until(refused)) as server:
        lay_out(tmp_path, N, server.url)
        started = [start(tmp_path) for _ in range(commands)]
        ends = threading.Semaphore(0)

        def watch(process: subprocess.Popen[str]) -> None:
            said[process.pid] = process.communicate(timeout=120)[1]
            ends.release()

        said: dict[int, str] = {}
        watchers = [threading.Thread(target=watch, args=(process,)) for process in started]
        for watcher in watchers:
            watcher.start()
        for _ in range(commands - 1):
            assert ends.acquire(timeout=120)
        refused.set()
        for watcher in watchers:
            watcher.join(120)
        assert sorted(process.returncode for process in started) == [0] + [1] * (commands - 1), said
        [winner] = [process.pid for process in started if process.returncode == 0]
        for process in started:
            if process.pid != winner:
                assert f"m: process {winner} on {os.uname().nodename} has been working" in said[process.pid]
        assert len(server.prompts) == N
    assert count_predictions(tmp_path) == N


ENSURE = """\
import sys
from oversight.harness.store import Store
with Store(sys.argv[1]) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    print(store.controls.ensure_key().hex())
"""


def test_processes_that_draw_a_key_at_once_use_the_same(url: str) -> None:
    with Store(url):  # makes the tables
        pass
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", ENSURE, url]
    started = [subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(6)]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60) for process in started]
    assert {out for out, _ in said} == {said[0][0]}, said
    assert len(said[0][0].strip()) == 64


def test_commands_that_route_at_once_draw_one_set_of_questions(url: str, tmp_path: Path) -> None:
    lay_out(tmp_path, N)
    file = tmp_path / "study.toml"
    file.write_text(file.read_text().replace('name = "t"', f'name = "t"\nstore = "{url}"'))
    pipe = subprocess.PIPE
    words = command("label", "route")
    started = [subprocess.Popen(words, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) for _ in range(3)]
    said = [process.communicate(timeout=120) for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], said
    with Store(url) as store:
        assert store.count_rows()["question"] == N
    subprocess.run(command("store", "verify"), cwd=tmp_path, stdout=pipe, check=True)


def test_a_killed_holder_is_replaced_at_once(tmp_path: Path) -> None:
    asked, never = threading.Event(), threading.Event()

    def hang(prompt: str, n: int) -> Reply:
        asked.set()
        never.wait(60)
        return Reply("green")

    with fake_openai(hang) as server:
        lay_out(tmp_path, N, server.url)
        first = start(tmp_path)
        assert asked.wait(60)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        server.answer = lambda prompt, n: Reply("green")
        never.set()
        second = start(tmp_path)
        _, err = second.communicate(timeout=60)
        assert second.returncode == 0, err
    assert count_predictions(tmp_path) == N


def held_until(event: threading.Event) -> Callable[[str, int], Reply]:
    def answer(prompt: str, n: int) -> Reply:
        event.wait(120)
        return Reply("green")

    return answer


def test_one_models_refused_key_leaves_the_others_alone(tmp_path: Path) -> None:
    def bad(prompt: str, n: int) -> Reply:
        return Reply(status=401, body='{"error": {"message": "revoked"}}')

    with fake_openai(lambda prompt, n: Reply("green")) as server, fake_openai(bad) as broken:
        lay_out(tmp_path, N, server.url)
        add_model(tmp_path, "x", broken)
        process = start(tmp_path, "--json")
        out, err = process.communicate(timeout=120)
        assert process.returncode == 1
        assert "oversight: x: " in err
        assert "revoked; check the key" in err
        assert '"stopped"' in out
        assert len(server.prompts) == N
    assert count_predictions(tmp_path) == N


def add_model(folder: Path, name: str, server: FakeOpenAI) -> None:
    file = folder / "study.toml"
    more = f'[models.{name}]\nendpoint = "{server.url}"\nmodel = "{name}"\n'
    file.write_text(file.read_text() + more)
