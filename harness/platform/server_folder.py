"""A background server process that is recognised by a file lock.

The server process inherits a locked file of its folder, and holds the lock until the process ends for any
reason. So the process cannot be confused with a later one that has the same id. Only one caller at a time can
start or stop the server.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from oversight.harness.errors import ConfigError, OversightError
from oversight.harness.platform.files import write_whole

State = TypeVar("State")
Found = TypeVar("Found")
_LOCK = "server.lock"
_POLL, _GRACE, _KILL_GRACE = 0.05, 10.0, 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFolder(Generic[State]):
    """The folder of one server, with its lock, log and state.

    Attributes
    ----------
    path
        The folder itself.
    kind
        Dataclass of the state; its field `pid` is the process id, 0 while the id is unknown.
    program, product
        Names of the program and of the product, for messages.
    failure
        Type of the error that is raised if the process does not start or end.
    deadline
        Seconds within which the server must answer after its start.
    """

    path: Path
    kind: type[State]
    program: str
    product: str
    failure: type[OversightError]
    deadline: float

    @property
    def log(self) -> Path:
        """Path of the server's log."""
        return self.path / "server.log"

    @property
    def state_file(self) -> Path:
        """Path of the state file, readable only by its owner."""
        return self.path / "server.json"

    def read_state(self) -> State | None:
        """Return the state; None if the file is missing or damaged."""
        with contextlib.suppress(OSError, ValueError):
            return TypeAdapter(self.kind).validate_json(self.state_file.read_bytes())
        return None

    def write_state(self, state: State) -> None:
        """Write the state atomically."""
        write_whole(json.dumps(asdict(state)), self.state_file, mode=0o600)  # type: ignore[call-overload]

    def spawn(self, command: Sequence[str], environment: Mapping[str, str], cwd: Path) -> int:
        """Start the server and return its process id.

        The server is not a child process, so the caller need not wait for its end.
        """
        detach = ["/bin/sh", "-c", 'log=$1; shift; "$@" >"$log" 2>&1 & echo $!', "sh", str(self.log)]
        lock = os.open(self.path / _LOCK, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl = _locks()
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = subprocess.run(  # noqa: S603 - a fixed command; only arguments vary
                [*detach, *command],
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                start_new_session=True,
                pass_fds=(lock,),
                umask=0o077,
                check=True,
            )
        finally:
            os.close(lock)  # the server has a copy of the descriptor, which keeps the lock
        return int(done.stdout)

    def wait_ready(self, look: Callable[[], Found | None]) -> Found:
        """Wait until `look` finds the server.

        If the server's process ends first or the deadline passes, stop the process and raise an error that
        quotes the end of the server's log.
        """
        until = time.monotonic() + self.deadline
        while (found := look()) is None:
            alive = is_alive(self.path)
            if not alive or time.monotonic() > until:
                self.stop()
                what = f"did not answer within {self.deadline:.0f} s" if alive else "ended while starting"
                tail = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
                raise self.failure("\n  ".join([f"{self.program} {what}; the end of {self.log}:", *tail]))
            time.sleep(_POLL)
        return found

    def stop(self) -> bool:
        """Stop the server, by force if necessary, and wait for its end. Returns whether it was running."""
        state: Any = self.read_state() if is_alive(self.path) else None
        if state is None:
            return False
        if not state.pid:
            raise self.failure(
                f"a server runs in {self.path}, but its process id is unknown, because the command that "
                "started it was killed; end the process by hand"
            )
        if not end_process(self.path, state.pid, _GRACE):
            raise self.failure(f"process {state.pid} of {self.product} does not end, even after SIGKILL")
        return True


def is_alive(directory: Path) -> bool:
    """Return whether a server holds the lock of its folder."""
    fcntl = _locks()
    with (directory / _LOCK).open("a") as lock:
        try:
            # Take a shared lock: with exclusive locks, one of two simultaneous callers would find a server.
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextlib.contextmanager
def hold_start_lock(directory: Path) -> Iterator[None]:
    """Hold a lock inside the block, so that only one process at a time starts or stops the server."""
    fcntl = _locks()
    with (directory / "start.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def end_process(directory: Path, pid: int, grace: float) -> bool:
    """Send SIGTERM to the server process, and SIGKILL after `grace` seconds. Returns whether it has ended."""
    for sign, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, _KILL_GRACE)):
        # Check before each signal, because the id may belong to another process once the lock is free.
        if is_alive(directory):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sign)
        if wait_until(lambda: not is_alive(directory), seconds):
            return True
    return False


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for the condition, at most this many seconds. Returns whether the condition became true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def is_free(port: int) -> bool:
    """Whether a server could listen on a port of the loopback interface."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _locks() -> ModuleType:
    """Import the module for locks that child processes inherit.

    Raises
    ------
    ConfigError
        On Windows, which has no such locks.
    """
    try:
        import fcntl
    except ImportError:
        raise ConfigError(
            "local servers need Linux or macOS; on this system, use a server on another machine (set "
            "LABEL_STUDIO_URL, or a model's endpoint in study.toml)"
        ) from None
    return fcntl
