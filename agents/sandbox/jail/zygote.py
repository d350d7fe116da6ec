"""The jail: a process that starts once, with a clean environment, and forks for every session.

The standard input of ``python -P -s -S zygote.py`` is a Unix socket to the host. The first message is the
text of the prelude. A message ``start`` carries the session's socket and forks a child. A message ``end N``
ends child N and reports how it ended.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING

sys.path.insert(0, os.path.dirname(__file__))  # noqa: PTH120  import as little as possible

if TYPE_CHECKING:
    from oversight.agents.sandbox.jail import lockdown, session
else:
    import lockdown
    import session

_WARM = (
    *("_strptime", "array", "collections", "copy", "dataclasses", "datetime", "enum", "functools", "heapq"),
    *("itertools", "json", "math", "operator", "random", "re", "statistics", "string", "textwrap", "typing"),
)
"""Modules to import before the lockdown, because afterwards no file can be opened."""

_PATIENCE, _MOMENT = 100, 0.002
"""Number of checks whether a child has ended, and seconds between checks; afterwards the child is killed."""


def main() -> None:
    """Start and end sessions on the host's messages, until the host closes the connection."""
    control = socket.socket(fileno=0)
    for name in _WARM:
        __import__(name)
    sys.path.clear()
    session.no_sleep()
    prelude = _long_message(control)
    children: dict[int, int] = {}
    control.send(_rehearse().encode())
    while True:
        message, descriptors, *_ = socket.recv_fds(control, 256, 1)
        if not message:
            break
        word, number, *limits = message.decode().split()
        if word == "start":
            (descriptor,) = descriptors
            pid = os.fork()
            if pid == 0:
                _child(descriptor, prelude, *map(int, limits))
            children[int(number)] = pid
            os.close(descriptor)
            control.send(b"started")
        else:
            control.send(_end(children.pop(int(number))).encode())
    for pid in children.values():
        os.kill(pid, signal.SIGKILL)


def _rehearse() -> str:
    """Lock down a child process as a test. Returns ``"ready: "`` and the layers' names, or the error."""
    here, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(there, ("ready: " + ", ".join(lockdown.lock_down(1 << 28, 1))).encode())
        except OSError as error:
            os.write(there, str(error).encode())
        finally:
            os._exit(0)
    os.close(there)
    os.waitpid(pid, 0)
    said = os.read(here, 256).decode()
    os.close(here)
    return said or "it could not be locked down"


def _child(descriptor: int, prelude: str, memory: int, seconds: int) -> None:
    status = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        descriptor = os.dup2(descriptor, 3)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        lockdown.lock_down(memory, seconds)
        session.Session(descriptor, loop).run(prelude)
        status = 0
    finally:
        os._exit(status)


def _end(pid: int) -> str:
    """End a child. Returns how it ended, for example ``"exit 0"`` or ``"signal 27"``.

    A child that this function has to kill is reported as ``"exit 0"``.
    """
    # Wait a little, because a child closes its socket shortly before it ends.
    for _ in range(_PATIENCE):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return f"signal {-code}" if code < 0 else f"exit {code}"
        time.sleep(_MOMENT)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "exit 0"


def _long_message(control: socket.socket) -> str:
    size = int(control.recv(64, socket.MSG_WAITALL).decode())
    return control.recv(size, socket.MSG_WAITALL).decode()


if __name__ == "__main__":
    main()
