"""A server process on this machine that outlives whoever starts it, known by a lock.

The process holds the lock file of its directory as long as it lives, however it ends, so no process
number can be mistaken for it. One caller at a time starts or stops it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from harness.errors import ConfigError

LOCK = "server.lock"
_POLL = 0.05
_KILL_GRACE = 10.0


def locks() -> ModuleType:
    """The module of the locks that a process passes on to what it starts.

    Raises
    ------
    ConfigError
        On Windows, which has none.
    """
    try:
        import fcntl
    except ImportError:
        raise ConfigError(
            "servers of one's own run on Linux and macOS; here, name one that runs elsewhere "
            "(LABEL_STUDIO_URL, or the endpoint of a model in study.toml)"
        ) from None
    return fcntl


def hold_lock(directory: Path) -> None:
    """Take the server's lock until this process, and every fork of it, has ended."""
    fcntl = locks()
    fcntl.flock(os.open(directory / LOCK, os.O_WRONLY | os.O_CREAT, 0o600), fcntl.LOCK_EX)


def is_alive(directory: Path) -> bool:
    """Whether a server holds its lock."""
    fcntl = locks()
    with (directory / LOCK).open("a") as lock:
        try:
            # Shared, so that two callers asking at once do not take each other for a server.
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextlib.contextmanager
def hold_start_lock(directory: Path) -> Iterator[None]:
    """Let one process at a time start or stop the server."""
    fcntl = locks()
    with (directory / "start.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def end_process(directory: Path, pid: int, grace: float) -> bool:
    """End the process, by force after `grace` seconds; whether it is gone."""
    for sign, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, _KILL_GRACE)):
        # Asked each time: once the lock is free the number may belong to somebody else.
        if is_alive(directory):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sign)
        if wait_until(lambda: not is_alive(directory), seconds):
            return True
    return False


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for the condition, at most so long; whether it came true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def is_free(port: int) -> bool:
    """Whether a server could listen on the port of the loopback interface."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def log_end(log: Path) -> list[str]:
    """Return the last lines of a server's log, for an error message."""
    return log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
