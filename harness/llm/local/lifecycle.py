"""Start, find and stop the small language model that runs on this machine.

One server per cache directory, in a process of its own that outlives the caller; what is known of it
lies in files there, see `harness.machine.process` and `local_state`.
"""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from harness.errors import ConfigError, ModelError
from harness.llm.local.state import LOG, ServerState, read_state, remove_state, state_directory
from harness.llm.local.weights import find_weights
from harness.machine import end_process, hold_start_lock, is_alive, is_free, log_end, wait_until

_DEADLINE, _GRACE = 120.0, 10.0
_KEPT = {"HOME", "LANG", "LD_LIBRARY_PATH", "OVERSIGHT_CACHE", "PATH", "TMPDIR", "XDG_CACHE_HOME"}


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A running server of the small local model.

    Attributes
    ----------
    pid
        Its process.
    url
        Base URL for any OpenAI client: ``http://127.0.0.1:PORT/v1``; any key will do.
    model
        The model's name.
    log
        Path of the server's log.
    """

    pid: int
    url: str
    model: str
    log: str

    @property
    def port(self) -> int:
        """The port it listens on."""
        return urlsplit(self.url).port or 0


def start_local_model(port: int = 0) -> LocalServer:
    """Start the local model's server, or return the one that runs.

    The first call installs the weights (93 MB). Concurrent calls end with the same server.

    Parameters
    ----------
    port
        Port on the loopback interface; 0 takes any free one.

    Raises
    ------
    ConfigError
        The server's library is not installed, the port is taken, or a server runs on another port.
    ModelError
        The weights could not be installed, or the server did not come up.
    """
    if not 0 <= port <= 65535:
        raise ConfigError(f"the port must lie between 0 and 65535, not {port}")
    directory = state_directory()
    with hold_start_lock(directory):
        if not is_alive(directory):
            _launch(directory, port)
        server = _wait_ready(directory)
    if port not in (0, server.port):
        raise ConfigError(
            f"the local model already runs on port {server.port}: use that one, or stop it first "
            "with oversight model stop"
        )
    return server


def stop_local_model() -> bool:
    """End the local model's server and wait until it is gone.

    Returns
    -------
    bool
        Whether one was running.
    """
    directory = state_directory()
    with hold_start_lock(directory):
        pid = read_state(directory).pid if is_alive(directory) else 0
        if pid:
            _end(directory, pid)
        remove_state(directory)
    return pid > 0


def find_local_model() -> LocalServer | None:
    """Return the running server, or None; a state left behind by a dead one does not count."""
    directory = state_directory()
    # In this order: a starting server takes the lock after the state of the one before is gone.
    state = read_state(directory) if is_alive(directory) else ServerState()
    if not state.url:
        return None
    return LocalServer(state.pid, state.url, state.model, log=str(directory / LOG))


def _launch(directory: Path, port: int) -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise ConfigError("the local model needs its server library: pip install 'oversight[local]'")
    if not is_free(port):
        raise ConfigError(
            f"port {port} cannot be used (taken, or not allowed): choose another with --port, or leave it out"
        )
    gguf = find_weights()
    remove_state(directory)
    # No key or token of the caller may live on in a process that outlives it.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(("LC_", "PYTHON", "DYLD_"))
    }
    with (directory / LOG).open("wb") as log:
        subprocess.run(  # noqa: S603 - a fixed command, no shell
            [sys.executable, "-m", "harness.llm.local.serve", str(directory), str(gguf), str(port)],
            cwd=Path(__file__).parents[3],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            check=False,
        )


def _wait_ready(directory: Path) -> LocalServer:
    def ready() -> bool:
        server = find_local_model()
        return (server is not None and _answers(server.port)) or not is_alive(directory)

    in_time = wait_until(ready, _DEADLINE)
    server = find_local_model()
    if in_time and server is not None:
        return server
    if pid := read_state(directory).pid:
        _end(directory, pid)
    tail = log_end(directory / LOG)
    what = "ended while starting" if in_time else f"did not answer within {_DEADLINE:.0f} s"
    raise ModelError("\n  ".join([f"the local model's server {what}; the end of {directory / LOG}:", *tail]))


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    return False


def _end(directory: Path, pid: int) -> None:
    if not end_process(directory, pid, _GRACE):
        raise ModelError(f"process {pid} of the local model does not end, not even by SIGKILL")
