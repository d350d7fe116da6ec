"""Landlock without rules: the calling process may open, make, run and connect to nothing (Linux)."""

from __future__ import annotations

import ctypes
import os
import struct

_CREATE, _RESTRICT = 444, 446  # the same numbers on every architecture
_VERSION_ONLY = 1

_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Number of rights over files that each version of the interface knows."""
_TCP_SINCE, _TCP = 4, 0b11
_SCOPE_SINCE, _SCOPE = 6, 0b11


def version(libc: ctypes.CDLL) -> int:
    """Version of the kernel's interface; 0 if there is none."""
    found: int = libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_ONLY))
    return max(found, 0)


def install(libc: ctypes.CDLL) -> int:
    """Restrict the calling process for good; it must have given up new privileges.

    Every right that the kernel can take away is taken: over files, over TCP ports, over abstract
    sockets and signals to processes outside.

    Returns
    -------
    int
        Version of the kernel's interface.
    """
    abi = version(libc)
    if not abi:
        raise OSError("Landlock is not there")
    files = (1 << _FILE_RIGHTS.get(abi, max(_FILE_RIGHTS.values()))) - 1
    attributes = struct.pack("Q", files)
    if abi >= _TCP_SINCE:
        attributes += struct.pack("Q", _TCP)
    if abi >= _SCOPE_SINCE:
        attributes += struct.pack("Q", _SCOPE)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    ruleset = libc.syscall(_CREATE, buffer, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if ruleset < 0 or libc.syscall(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0)) != 0:
        raise OSError(ctypes.get_errno(), "Landlock refused the rules")
    os.close(ruleset)
    return abi
