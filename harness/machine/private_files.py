"""Files that their owner alone can read: what people say of patients and cases lies in them."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

_OTHERS = 0o077
"""Rights of the group and of everybody else."""


def repair_rights(path: str | Path) -> None:
    """Take the rights of others off a file or folder of this user's; a link and what it leads to stay.

    What belongs to somebody else, or is not there, stays as it is.
    """
    with contextlib.suppress(OSError):
        found = os.lstat(path)
        mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
        if mine and not stat.S_ISLNK(found.st_mode) and found.st_mode & _OTHERS:
            Path(path).chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)


def repair_tree(folder: Path) -> None:
    """`repair_rights` of a folder and all that lies in it."""
    repair_rights(folder)
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            repair_rights(Path(root, name))
