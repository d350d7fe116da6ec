"""What the local model's server and its callers know of each other: two files in one directory.

The server holds the lock file as long as it lives, however it ends, so no process number can be
mistaken for it. The state file says where it listens.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from harness.errors import ConfigError
from harness.llm.local_weights import cache_dir

MODEL = "smollm2-135m-instruct"
LOG = "server.log"
_STATE, _LOCK = "server.json", "server.lock"


class State(NamedTuple):
    """What the state file says; no URL means "still loading", no pid that there is no state."""

    pid: int = 0
    url: str = ""
    model: str = MODEL


def state_directory() -> Path:
    """Return the directory of these files, made if it is missing.

    Raises
    ------
    ConfigError
        The system cannot run the server, or the directory cannot be made.
    """
    if sys.platform == "win32":
        raise ConfigError("the local model runs on Linux and macOS: on Windows use the subsystem for Linux")
    directory = cache_dir() / "local"
    try:
        directory.mkdir(exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{directory} cannot be made ({error}): set OVERSIGHT_CACHE") from error
    return directory


def read_state(directory: Path) -> State:
    """Return the state; an empty one if the file is missing or damaged."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads((directory / _STATE).read_text(encoding="utf-8"))
        return State(int(found["pid"]), str(found["url"]), str(found["model"]))
    return State()


def write_state(directory: Path, state: State) -> None:
    """Write the state file in one step."""
    fresh = directory / f"{_STATE}.{state.pid}"
    fresh.write_text(json.dumps(state._asdict()), encoding="utf-8")
    fresh.replace(directory / _STATE)


def remove_state(directory: Path) -> None:
    """Remove the state file, if there is one."""
    (directory / _STATE).unlink(missing_ok=True)


def hold(directory: Path) -> None:
    """Take the server's lock until this process, and every fork of it, has ended."""
    import fcntl

    fcntl.flock(os.open(directory / _LOCK, os.O_WRONLY | os.O_CREAT, 0o600), fcntl.LOCK_EX)


def lives(directory: Path) -> bool:
    """Whether a server holds its lock."""
    import fcntl

    with (directory / _LOCK).open("a") as lock:
        try:
            # Shared, so that two callers asking at once do not take each other for a server.
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextlib.contextmanager
def only_one(directory: Path) -> Iterator[None]:
    """Let one process at a time start or stop the server."""
    import fcntl

    with (directory / "start.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
