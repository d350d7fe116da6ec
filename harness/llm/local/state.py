"""What the local model's server tells its callers: where it listens, in a file beside its lock."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import NamedTuple

from harness.errors import ConfigError
from harness.llm.local.weights import cache_dir

LOCAL_MODEL = "smollm2-135m-instruct"
LOG = "server.log"
_STATE = "server.json"


class ServerState(NamedTuple):
    """What the state file says; no URL means "still loading", no pid that there is no state."""

    pid: int = 0
    url: str = ""
    model: str = LOCAL_MODEL


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


def read_state(directory: Path) -> ServerState:
    """Return the state; an empty one if the file is missing or damaged."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads((directory / _STATE).read_text(encoding="utf-8"))
        return ServerState(int(found["pid"]), str(found["url"]), str(found["model"]))
    return ServerState()


def write_state(directory: Path, state: ServerState) -> None:
    """Write the state file in one step."""
    fresh = directory / f"{_STATE}.{state.pid}"
    fresh.write_text(json.dumps(state._asdict()), encoding="utf-8")
    fresh.replace(directory / _STATE)


def remove_state(directory: Path) -> None:
    """Remove the state file, if there is one."""
    (directory / _STATE).unlink(missing_ok=True)
