"""Start, find and stop the small language model that runs on this machine.

There is one server per cache directory. It runs in a separate process that outlives the caller; its state
is kept in files of that directory, see `oversight.harness.machine.server_folder`.
"""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from oversight.harness.distribution import install_line
from oversight.harness.errors import ConfigError, ModelError
from oversight.harness.llm.local.weights import find_weights
from oversight.harness.machine import ServerFolder, cache_dir, hold_start_lock, is_alive, is_free

_KEPT = {"HOME", "LANG", "LD_LIBRARY_PATH", "OVERSIGHT_CACHE", "PATH", "TMPDIR", "XDG_CACHE_HOME"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A running server of the small local model.

    Attributes
    ----------
    pid
        Process id.
    url
        Base URL for any OpenAI client: ``http://127.0.0.1:PORT/v1``; any key works. Empty while the model
        loads.
    model
        The model's name.
    log
        Path of the server's log.
    """

    pid: int
    url: str
    model: str = "smollm2-135m-instruct"
    log: str = field(default_factory=lambda: str(local_folder().log))

    @property
    def port(self) -> int:
        """Port that the server listens on."""
        return urlsplit(self.url).port or 0


def local_folder() -> ServerFolder[LocalServer]:
    """Return the folder of the local model's server, creating it if it is missing.

    Raises
    ------
    ConfigError
        If the system cannot run the server, or the folder cannot be created.
    """
    if sys.platform == "win32":
        raise ConfigError(
            "the local model runs on Linux and macOS; on Windows, use the Windows Subsystem for Linux"
        )
    path = cache_dir() / "local"
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be created ({error}); set OVERSIGHT_CACHE to another folder"
        ) from error
    return ServerFolder(
        path=path,
        kind=LocalServer,
        program="the local model's server",
        product="the local model",
        failure=ModelError,
        deadline=120.0,
    )


def start_local_model(port: int = 0) -> LocalServer:
    """Start the local model's server, or return the running one.

    The first call installs the weights (93 MB). Concurrent calls return the same server.

    Parameters
    ----------
    port
        Port on the loopback interface; 0 takes any free one.

    Raises
    ------
    ConfigError
        If the server's library is not installed, the port is taken, or a server runs on another port.
    ModelError
        If the weights could not be installed, or the server did not start.
    """
    if not 0 <= port <= 65535:
        raise ConfigError(f"the port must be between 0 and 65535, not {port}")
    folder = local_folder()
    with hold_start_lock(folder.path):
        if not is_alive(folder.path):
            _launch(folder, port)
        server = folder.wait_ready(_find_answering)
    if port not in (0, server.port):
        raise ConfigError(
            f"the local model already runs on port {server.port}: use that one, or stop it first "
            "with oversight server stop model"
        )
    return server


def stop_local_model() -> bool:
    """Stop the local model's server and wait until it has ended. Returns whether a server was running."""
    folder = local_folder()
    with hold_start_lock(folder.path):
        was_running = folder.stop()
        folder.state_file.unlink(missing_ok=True)
    return was_running


def find_local_model() -> LocalServer | None:
    """Return the running server, or None; the files of a server that died are ignored."""
    folder = local_folder()
    # Read the state after testing the lock: a new server takes the lock after it removed the old state.
    server = folder.read_state() if is_alive(folder.path) else None
    return server if server is not None and server.url else None


def _launch(folder: ServerFolder[LocalServer], port: int) -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise ConfigError(f"the local model needs its server library: {install_line('local')}")
    if not is_free(port):
        raise ConfigError(
            f"port {port} cannot be used (taken, or not allowed): choose another with --port, or leave it out"
        )
    gguf = find_weights()
    folder.state_file.unlink(missing_ok=True)
    # The server outlives its caller, so it must not inherit the caller's keys and tokens.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(("LC_", "PYTHON", "DYLD_"))
    }
    serve = [sys.executable, "-m", "oversight.harness.llm.local.serve", str(gguf), str(port)]
    folder.spawn(serve, environment, cwd=Path(__file__).parents[4])


def _find_answering() -> LocalServer | None:
    server = find_local_model()
    if server is not None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/health")
            if connection.getresponse().status == http.client.OK:
                return server
    return None
