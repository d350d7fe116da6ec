"""Drop all rights that a process does not need, in an order that works (Linux on x86-64).

Landlock comes first, with no exceptions: the process may not open, create or execute files, and may not
open connections. Then seccomp allows only listed system calls, by a classic BPF program that tests the
number of the call. All other calls fail with EPERM. A call that would make memory executable also fails with
EPERM. A call in the numbering of another architecture kills the process.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct

_NOBODY = 65534
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SIGKILL = 9
_INTERPRETER = 1 << 30
"""Bytes of address space allowed for an idle interpreter, which are mostly mapped files."""
# Landlock's system calls have the same numbers on every architecture.
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446
_VERSION_ONLY = 1

_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Number of file access rights in each version of the Landlock interface."""
_TCP_SINCE, _TCP = 4, 0b11
_SCOPE_SINCE, _SCOPE = 6, 0b11
ALLOWED = {
    "read": 0,
    "write": 1,
    "close": 3,
    "fstat": 5,
    "poll": 7,
    "lseek": 8,
    "mmap": 9,
    "mprotect": 10,
    "munmap": 11,
    "brk": 12,
    "rt_sigaction": 13,
    "rt_sigprocmask": 14,
    "rt_sigreturn": 15,
    "sched_yield": 24,
    "mremap": 25,
    "madvise": 28,
    "setitimer": 38,
    "getpid": 39,
    "exit": 60,
    "sigaltstack": 131,
    "gettid": 186,
    "futex": 202,
    "restart_syscall": 219,
    "clock_gettime": 228,
    "clock_getres": 229,
    "exit_group": 231,
    "epoll_wait": 232,
    "epoll_ctl": 233,
    "epoll_pwait": 281,
    "getrandom": 318,
    "rseq": 334,
    "epoll_pwait2": 441,
}
"""Allowed system calls, by name: for memory, time, randomness, own signals, and open descriptors."""

_EXECUTABLE = 4
_AUDIT_X86_64 = 0xC000003E
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _EPERM, _KILL = 0x7FFF0000, 0x00050001, 0x80000000
_NUMBER, _ARCH, _THIRD_ARGUMENT = 0, 4, 32
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

libc = ctypes.CDLL(None, use_errno=True)


def lock_down(memory: int, cpu_seconds: int) -> list[str]:
    """Restrict the calling process permanently. Returns the names of the layers of protection.

    Parameters
    ----------
    memory
        Bytes that the process may map in addition to its present memory.
    cpu_seconds
        Seconds of CPU time that the process may use in addition to the time used so far.

    Raises
    ------
    OSError
        If a layer cannot be installed. The process must then not continue.
    """
    layers = ["rlimits"]
    used = resource.getrusage(resource.RUSAGE_SELF)
    limits = {
        resource.RLIMIT_DATA: used.ru_maxrss * 1024 + memory,
        # RLIMIT_DATA does not limit shared memory, so limit the address space too.
        resource.RLIMIT_AS: _INTERPRETER + memory,
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
    for option, value in ((_PR_SET_PDEATHSIG, _SIGKILL), (_PR_SET_DUMPABLE, 0), (_PR_SET_NO_NEW_PRIVS, 1)):
        if libc.prctl(option, value, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), f"prctl {option} was refused")
    abi = _install_landlock()
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    _install_seccomp()
    return [*layers, "no_new_privs", f"Landlock {abi}", "seccomp"]


def _install_landlock() -> int:
    """Restrict the calling process permanently by Landlock; ``no_new_privs`` must be set before.

    Revoke all rights that the kernel's Landlock can revoke: on files, TCP ports, abstract sockets, and
    signals to other processes.

    Returns
    -------
    int
        Version of the kernel's Landlock interface.
    """
    abi: int = libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_ONLY))
    if abi <= 0:
        raise OSError("Landlock is not available")
    files = (1 << _FILE_RIGHTS.get(abi, max(_FILE_RIGHTS.values()))) - 1
    attributes = struct.pack("Q", files)
    if abi >= _TCP_SINCE:
        attributes += struct.pack("Q", _TCP)
    if abi >= _SCOPE_SINCE:
        attributes += struct.pack("Q", _SCOPE)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    ruleset = libc.syscall(_LANDLOCK_CREATE, buffer, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if ruleset < 0 or libc.syscall(_LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0)) != 0:
        raise OSError(ctypes.get_errno(), "Landlock refused the rules")
    os.close(ruleset)
    return abi


def _install_seccomp() -> None:
    """Install the system call filter in this process permanently; ``no_new_privs`` must be set before."""
    code = filter_program()
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.create_string_buffer(header), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp: the kernel refused the filter")


def filter_program() -> bytes:
    """Return the system call filter as classic BPF code: eight bytes per instruction."""
    numbers = [n for name, n in ALLOWED.items() if name not in ("mmap", "mprotect")]
    code = [
        _step(_LOAD, _ARCH),
        _step(_EQUAL, _AUDIT_X86_64, yes=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]
    for left, number in enumerate(reversed(numbers)):
        # Jump over the remaining comparisons to the last instruction, which allows the call.
        code.insert(4, _step(_EQUAL, number, yes=left + 5))
    code += [
        _step(_EQUAL, ALLOWED["mmap"], yes=1),
        _step(_EQUAL, ALLOWED["mprotect"], no=2),
        _step(_LOAD, _THIRD_ARGUMENT),
        _step(_ANY_BIT, _EXECUTABLE, no=1),
        _step(_RETURN, _EPERM),
        _step(_RETURN, _ALLOW),
    ]
    # `no=2` jumps to the refusal if a call is not on the list and does not concern memory.
    return b"".join(code)


def _step(code: int, k: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, k)
