"""A process gives up all it will not need, in the order in which that is still possible."""

from __future__ import annotations

import ctypes
import os
import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.sandbox.jail import landlock, seccomp
else:  # run as a script, without the package
    import landlock
    import seccomp

_NOBODY = 65534
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SIGKILL = 9
_INTERPRETER = 1 << 30
"""Bytes of address space that an idle interpreter may have mapped, mostly files."""

libc = ctypes.CDLL(None, use_errno=True)


def lock_down(memory: int, cpu_seconds: int) -> list[str]:
    """Restrict the calling process for good; return the layers, innermost last.

    Parameters
    ----------
    memory
        Bytes it may map beyond what it has.
    cpu_seconds
        Computing time it may use beyond what it has.

    Raises
    ------
    OSError
        If a layer cannot be put on: a process that is not locked down must not go on.
    """
    layers = ["rlimits"]
    used = resource.getrusage(resource.RUSAGE_SELF)
    limits = {
        resource.RLIMIT_DATA: used.ru_maxrss * 1024 + memory,
        resource.RLIMIT_AS: _INTERPRETER + memory,  # shared memory is not data
        resource.RLIMIT_CPU: int(used.ru_utime + used.ru_stime) + 1 + cpu_seconds,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_MEMLOCK: 0,
    }
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        layers.append("uid 65534")
    for what, value in limits.items():
        resource.setrlimit(what, (value, value))
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    _prctl(_PR_SET_DUMPABLE, 0)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    abi = landlock.install(libc)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    seccomp.install(libc)
    return [*layers, "no_new_privs", f"Landlock {abi}", "seccomp"]


def _prctl(option: int, value: int) -> None:
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option} was refused")
