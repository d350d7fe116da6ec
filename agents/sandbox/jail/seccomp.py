"""A system-call allow-list for the calling process (Linux on x86-64), without a library.

The filter is a classic BPF program over the number of the call. Whatever is not on the list fails
with EPERM; so does making memory executable. A process of another instruction set is killed.
"""

from __future__ import annotations

import ctypes
import struct

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
"""Memory, time, randomness, signals to oneself, and the descriptors that are open already."""

_EXECUTABLE = 4
_AUDIT_X86_64 = 0xC000003E
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _EPERM, _KILL = 0x7FFF0000, 0x00050001, 0x80000000
_NUMBER, _ARCH, _THIRD_ARGUMENT = 0, 4, 32
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


def program() -> bytes:
    """Return the filter as the kernel reads it: eight bytes an instruction."""
    numbers = [n for name, n in ALLOWED.items() if name not in ("mmap", "mprotect")]
    code = [
        _step(_LOAD, _ARCH),
        _step(_EQUAL, _AUDIT_X86_64, yes=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]
    for left, number in enumerate(reversed(numbers)):
        # Over the comparisons that follow, and over the tail but its last step.
        code.insert(4, _step(_EQUAL, number, yes=left + 5))
    code += [
        _step(_EQUAL, ALLOWED["mmap"], yes=1),
        _step(_EQUAL, ALLOWED["mprotect"], no=2),
        _step(_LOAD, _THIRD_ARGUMENT),
        _step(_ANY_BIT, _EXECUTABLE, no=1),
        _step(_RETURN, _EPERM),
        _step(_RETURN, _ALLOW),
    ]
    # A call that is neither on the list nor about memory must end at the refusal: see `no=2`.
    return b"".join(code)


def _step(code: int, k: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, k)


def install(libc: ctypes.CDLL) -> None:
    """Put the calling process under the filter, for good; it must have given up new privileges."""
    code = program()
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.create_string_buffer(header), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp: the filter was refused")
