"""A closed terminal: SIGHUP ends every command in order, and a reader that goes away ends no work."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from oversight.harness.store import Store
from tests.answer_page.conftest import draw, serve
from tests.cli.search_study import answer
from tests.cli.search_study import lay_out as lay_out_search
from tests.e2e.test_kill import command, lay_out
from tests.e2e.test_kill_search import count_stored
from tests.e2e.test_stop import count_predictions, read_until
from tests.fakes.batch_server import FakeBatches, fake_batches, said
from tests.fakes.openai_server import fake_openai

pytestmark = pytest.mark.slow
SIGNALS = [signal.SIGHUP, signal.SIGTERM]


@pytest.fixture(autouse=True)
def _hangup_is_heard() -> Iterator[None]:
    """Undo `nohup`, under which commands rightly ignore the signal."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(command(*words), cwd=folder, stderr=subprocess.PIPE, text=True)


def ends_in_order(process: subprocess.Popen[str], number: signal.Signals) -> bool:
    """Whether a command that was sent a signal ends by it, and says that work is left."""
    _, err = process.communicate(timeout=60)
    says = "stopped; run the same command again to continue" in err and "Traceback" not in err
    return process.returncode == 128 + number and says


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_ends_the_wait_for_batches(number: signal.Signals, tmp_path: Path) -> None:
    with fake_batches(FakeBatches(lambda line: said(line, "green"), steps=1000)) as server:
        lay_out(tmp_path, 6, server.url)
        process = start(tmp_path, "run", "--batch")
        read_until(process, "6 requests are in unfinished batches")
        process.send_signal(number)
        assert ends_in_order(process, number)
        server.steps = 0
        subprocess.run(command("run", "--batch"), cwd=tmp_path, stderr=subprocess.DEVNULL, check=True)
        assert (len(server.batches), count_predictions(tmp_path)) == (1, 6)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("words", [["label", "push"], ["experts", "list"], ["doctor"]], ids=" ".join)
def test_signal_ends_a_command_that_waits_for_label_studio(
    words: list[str], number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(tmp_path, 6)
    subprocess.run(command("label", "route"), cwd=tmp_path, stdout=subprocess.DEVNULL, check=True)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("LABEL_STUDIO_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("LABEL_STUDIO_API_KEY", "0123456789")
        process = start(tmp_path, *words)
        silent.settimeout(30)
        connection, _ = silent.accept()
        with connection:
            process.send_signal(number)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                # Python handles a signal that arrives just before a blocking call only after the call.
                process.send_signal(number)
            assert ends_in_order(process, number)


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_ends_a_search_whose_calls_are_stored(number: signal.Signals, tmp_path: Path) -> None:
    with fake_openai(answer) as server:
        lay_out_search(tmp_path, server.url, concurrency=4)
        process = start(tmp_path, "search", "start")
        read_until(process, "workflows of the library")
        process.send_signal(number)
        assert ends_in_order(process, number)
        assert count_stored(tmp_path) == len(server.requests)
        subprocess.run(command("search", "resume"), cwd=tmp_path, capture_output=True, check=True)
        assert count_stored(tmp_path) == len(server.requests)


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_ends_the_answer_page_with_every_answer(number: signal.Signals, tmp_path: Path) -> None:
    study = draw(tmp_path / "study")
    with serve(Path(study.folder)) as desk:
        status, _ = desk.answer(desk.begin("ana"))
        assert status == 200
        desk.process.send_signal(number)
        assert desk.process.wait(30) == 0
    with Store(study.store_url) as store:
        assert len(store.content.read_answers()) == 1


@pytest.fixture(params=[("stderr",), ("stdout",), ("stdout", "stderr")], ids=" and ".join)
def streams(request: pytest.FixtureRequest) -> Iterator[dict[str, int]]:
    """Standard streams whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    yield {name: writer if name in request.param else subprocess.DEVNULL for name in ("stdout", "stderr")}
    os.close(writer)


@pytest.mark.parametrize("words", [["label", "status"], ["search", "start"]])
def test_command_does_its_work_without_a_reader(
    words: list[str], streams: dict[str, int], tmp_path: Path
) -> None:
    with fake_openai(answer) as server:
        lay_out_search(tmp_path, server.url, concurrency=4)
        done = subprocess.run(
            command(*words), cwd=tmp_path, stdout=streams["stdout"], stderr=streams["stderr"], check=False
        )
        assert done.returncode == 0
        if words == ["search", "start"]:
            n = len(server.requests)
            subprocess.run(command("search", "resume"), cwd=tmp_path, capture_output=True, check=True)
            assert len(server.requests) == n
