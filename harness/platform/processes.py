"""Handle signals, and identify processes, so that another process can find out whether they still run."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from functools import cache
from pathlib import Path
from types import FrameType

from oversight.harness.errors import Stopped


def stop_in_order() -> None:
    """Make SIGTERM and SIGHUP raise `Stopped` in the main thread, unless they have another handler."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _raise_stopped)


def is_unattended(number: signal.Signals) -> bool:
    """Return whether a signal stops the process, because no other code handles or ignores it."""
    return signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler, _raise_stopped)


def _raise_stopped(number: int, _: FrameType | None) -> None:
    raise Stopped(number)


def host_name() -> str:
    """Return the name of this machine."""
    return socket.gethostname()


@cache
def machine_id() -> str:
    """Return an id that is equal for processes that can see each other's process ids.

    It consists of the names of the host, the boot and the process namespace.
    """
    parts = [host_name()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def process_start(pid: int) -> str:
    """Return the start time of a process of this machine, in the system's format; empty if unknown."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]  # skip the name in parentheses, which may contain spaces


def is_gone(machine: str, pid: int, start: str) -> bool:
    """Return whether a process has certainly ended; false for a process of another machine.

    Parameters
    ----------
    machine, pid, start
        `machine_id`, process id and `process_start` that were recorded for the process. A new process with
        the same id has another start time.
    """
    if machine != machine_id() or sys.platform == "win32":  # on Windows, os.kill(pid, 0) sends Ctrl+C
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # the process belongs to another user
        pass
    return process_start(pid) != start


def find_openers(file: Path) -> list[tuple[int, str]]:
    """Return the ids and commands of this user's other processes that have a file open; only on Linux.

    Files whose names begin with the name of `file`, such as an SQLite log, also count. If any process holds a
    write lock on one of these files, only the processes with a lock are returned.
    """
    with contextlib.suppress(OSError):
        wanted = {(s.st_dev, s.st_ino) for s in map(os.stat, file.parent.glob(f"{file.name}*"))}
        pids = [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdecimal()]
        found = [pid for pid in pids if pid != os.getpid() and _has_open(pid, wanted)]
        locking = _find_writers({inode for _, inode in wanted})
        return [(pid, _name_command(pid)) for pid in sorted(set(found) & locking or found)]
    return []


def _has_open(pid: int, wanted: set[tuple[int, int]]) -> bool:
    with contextlib.suppress(OSError):  # the process belongs to another user or has ended
        for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208  ten times as fast for many processes
            with contextlib.suppress(OSError):
                found = os.stat(f"/proc/{pid}/fd/{name}")  # noqa: PTH116
                if (found.st_dev, found.st_ino) in wanted:
                    return True
    return False


def _find_writers(inodes: set[int]) -> set[int]:
    """Return the processes that hold a write lock on any of these files."""
    rows: list[list[str]] = []
    with contextlib.suppress(OSError):
        rows = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
    held = [row for row in rows if len(row) > 5 and row[3] == "WRITE"]
    return {int(row[4]) for row in held if int(row[5].rpartition(":")[2]) in inodes}


def _name_command(pid: int) -> str:
    """Return the first words of a process's command, without folders; later words may contain secrets."""
    with contextlib.suppress(OSError):
        line = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace")
        words = [word.rpartition("/")[2] for word in line.split("\0")[:3] if word]
        return " ".join(words[: words.index("-c")] if "-c" in words else words)[:80]
    return ""
