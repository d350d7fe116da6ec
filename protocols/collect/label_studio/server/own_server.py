"""Start, find and stop a Label Studio server of one's own on this machine.

One folder a server: its data, its log, and ``server.json`` (readable by its owner alone) with the
admin's password and token. The server's process inherits a locked file and holds the lock as long as
it lives, however it ends, so that no process number can be mistaken for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from harness import ConfigError, LabelStudioError
from harness.machine import LOCK, end_process, hold_start_lock, is_alive, is_free, locks, log_end, wait_until
from protocols.collect.label_studio.server.install import (
    DATABASE,
    clean_environment,
    environment,
    home,
    template,
)

ADMIN = "admin@oversight.invalid"
MAIN = "main"
_DEADLINE, _GRACE = 180.0, 10.0
_STATE, _LOG = "server.json", "server.log"


@dataclass(frozen=True, slots=True)
class LabelStudioServer:
    """A running server.

    Attributes
    ----------
    folder
        Where its data, log and state lie.
    url
        Where it listens: ``http://127.0.0.1:PORT``.
    pid
        Its process.
    admin
        The admin's e-mail address; password and token are in ``server.json`` and nowhere else.
    """

    folder: str
    url: str
    pid: int
    admin: str
    token: str = field(repr=False)
    password: str = field(repr=False)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return urlsplit(self.url).port or 0

    @property
    def public(self) -> dict[str, object]:
        """Everything but the secrets, and where these are."""
        shown = {name: value for name, value in asdict(self).items() if name not in ("token", "password")}
        return {**shown, "secrets": str(Path(self.folder, _STATE)), "log": str(Path(self.folder, _LOG))}


def start_server(
    name: str = MAIN, port: int = 0, *, folder: Path | None = None, hooks: bool = False
) -> LabelStudioServer:
    """Start a server, or return the one that runs; concurrent calls end with the same one.

    The first call on a machine installs Label Studio and makes its tables.

    Parameters
    ----------
    name
        Which server: servers of different names share nothing.
    port
        On the loopback interface; 0 takes the one it had last, or any free one.
    folder
        Where its data go; by default a folder of that name in the user's cache.
    hooks
        Whether webhooks may call this machine. Everybody with an account can then have the server
        fetch addresses that only this machine reaches. A server that runs keeps to how it was started.

    Raises
    ------
    ConfigError
        The port is taken, or the server runs on another one.
    LabelStudioError
        It could not be installed, or did not come up.
    """
    if not 0 <= port <= 65535:
        raise ConfigError(f"the port must lie between 0 and 65535, not {port}")
    folder = _folder(name) if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True)
    with hold_start_lock(folder):
        if not is_alive(folder):
            _launch(folder, port, hooks=hooks)
        server = _wait_ready(folder)
    if port not in (0, server.port):
        raise ConfigError(
            f"this server already runs on port {server.port}: use that one, or stop it first with "
            "oversight label-studio stop"
        )
    return server


def stop_server(name: str = MAIN, *, folder: Path | None = None) -> bool:
    """End a server and wait until it is gone; its data stay. True if one was running."""
    folder = _folder(name) if folder is None else folder
    if not folder.is_dir():
        return False
    with hold_start_lock(folder):
        server = _read(folder) if is_alive(folder) else None
        if server is not None:
            _end(folder, server.pid)
    return server is not None


def find_server(name: str = MAIN, *, folder: Path | None = None) -> LabelStudioServer | None:
    """Return the running server, or None."""
    folder = _folder(name) if folder is None else folder
    return _read(folder) if folder.is_dir() and is_alive(folder) else None


def _folder(name: str) -> Path:
    return home() / "servers" / name


def _launch(folder: Path, port: int, *, hooks: bool) -> None:
    python, last = environment(), _read(folder)
    if not port:
        port = last.port if last and is_free(last.port) else _any_free_port()
    elif not is_free(port):
        raise ConfigError(f"port {port} is taken: choose another with --port, or leave it out")
    server = LabelStudioServer(
        folder=str(folder),
        url=f"http://127.0.0.1:{port}",
        pid=0,
        admin=ADMIN,
        token=last.token if last else secrets.token_hex(20),
        password=last.password if last else secrets.token_urlsafe(12),
    )
    if not (folder / "data" / DATABASE).exists():
        (folder / "data").mkdir(exist_ok=True)
        shutil.copyfile(template(), folder / "data" / f"{DATABASE}.part")
        (folder / "data" / f"{DATABASE}.part").replace(folder / "data" / DATABASE)
    _write(folder, server)  # so that no process number of an earlier server stays behind
    _write(folder, replace(server, pid=_spawn(python, folder, server, hooks=hooks)))


def _spawn(python: Path, folder: Path, server: LabelStudioServer, *, hooks: bool) -> int:
    """Start the process and return its number; it is no child of this one, so nobody need wait for it."""
    fcntl = locks()
    environ = clean_environment(
        {
            "LABEL_STUDIO_BASE_DATA_DIR": str(folder / "data"),
            "LABEL_STUDIO_USERNAME": server.admin,
            "LABEL_STUDIO_PASSWORD": server.password,
            "LABEL_STUDIO_USER_TOKEN": server.token,
            "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
            "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
            "SSRF_PROTECTION_ENABLED": str(not hooks).lower(),
        }
    )
    detach = ["/bin/sh", "-c", 'log=$1; shift; "$@" >"$log" 2>&1 & echo $!', "sh", str(folder / _LOG)]
    serve = [str(python), "-m", "label_studio.server", "start", "--no-browser"]
    # Its default is to listen on every interface.
    where = ["--internal-host", "127.0.0.1", "--port", str(server.port)]
    lock = os.open(folder / LOCK, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(  # noqa: S603 - a fixed command; what varies are arguments
            [*detach, *serve, *where],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(lock,),
            check=True,
        )
    finally:
        os.close(lock)  # the server has its own copy, and with it the lock
    return int(done.stdout)


def _wait_ready(folder: Path) -> LabelStudioServer:
    server = _read(folder)
    if server is None:
        raise LabelStudioError(
            f"{folder / _STATE} is damaged: remove it, and end the server's process by hand"
        )

    def moved() -> bool:
        # It takes the next port without a word to the caller; only its log tells.
        return b"Trying to start at" in (folder / _LOG).read_bytes()

    in_time = wait_until(lambda: _answers(server) or moved() or not is_alive(folder), _DEADLINE)
    if in_time and is_alive(folder) and not moved():
        return server
    if is_alive(folder):
        _end(folder, server.pid)
    if moved():
        raise ConfigError(
            f"port {server.port} was taken meanwhile: start again, or choose another with --port"
        )
    tail = log_end(folder / _LOG)
    what = "ended while starting" if in_time else f"did not answer within {_DEADLINE:.0f} s"
    raise LabelStudioError("\n  ".join([f"Label Studio {what}; the end of {folder / _LOG}:", *tail]))


def _answers(server: LabelStudioServer) -> bool:
    """Ask who the token belongs to: another program on this port cannot know."""
    import httpx

    with contextlib.suppress(httpx.HTTPError, ValueError):
        reply = httpx.get(
            f"{server.url}/api/current-user/whoami",
            headers={"Authorization": f"Token {server.token}"},
            timeout=10.0,
            trust_env=False,
        )
        return reply.status_code == httpx.codes.OK and reply.json().get("email") == server.admin
    return False


def _any_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _read(folder: Path) -> LabelStudioServer | None:
    with contextlib.suppress(OSError, ValueError, TypeError):
        return LabelStudioServer(**json.loads((folder / _STATE).read_text(encoding="utf-8")))
    return None


def _write(folder: Path, server: LabelStudioServer) -> None:
    fresh = folder / f"{_STATE}.part"
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        json.dump(asdict(server), stream)
    fresh.replace(folder / _STATE)


def _end(folder: Path, pid: int) -> None:
    if not pid:
        raise LabelStudioError(
            f"a server runs in {folder}, but its process is not known (its start was killed): end it by hand"
        )
    if not end_process(folder, pid, _GRACE):
        raise LabelStudioError(f"process {pid} of Label Studio does not end, not even by SIGKILL")
