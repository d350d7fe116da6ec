"""Files that only their owner may read, because they contain data about patients and cases."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

_OTHERS = 0o077
"""Permissions of the group and of all other users."""


def repair_rights(path: str | Path) -> None:
    """Remove others' permissions from a file or folder of this user; links are left unchanged.

    Files of other users, and missing files, are left unchanged.
    """
    with contextlib.suppress(OSError):
        found = os.lstat(path)
        mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
        if mine and not stat.S_ISLNK(found.st_mode) and found.st_mode & _OTHERS:
            Path(path).chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)


def repair_tree(folder: Path) -> None:
    """Call `repair_rights` for a folder and everything in it."""
    repair_rights(folder)
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            repair_rights(Path(root, name))
