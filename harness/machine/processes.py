"""Processes, known so that another process can tell later whether one of them still runs."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from functools import cache
from pathlib import Path


def host_name() -> str:
    """Name of this machine."""
    return socket.gethostname()


@cache
def machine_id() -> str:
    """What processes share that see each other's numbers: host, start of the machine, process namespace."""
    parts = [host_name()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def process_start(pid: int) -> str:
    """When a process of this machine began, in its system's own terms; empty where that is not told."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]  # the name in parentheses may hold anything


def is_gone(machine: str, pid: int, start: str) -> bool:
    """Whether a process has certainly ended; one of another machine may still run.

    Parameters
    ----------
    machine, pid, start
        `machine_id`, number and `process_start` as the process itself said them; a number that was given
        to another process since began at another time.
    """
    if machine != machine_id() or sys.platform == "win32":  # where asking a process would end it
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # somebody else's
        pass
    return process_start(pid) != start
