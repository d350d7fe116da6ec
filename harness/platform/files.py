"""The user's cache and data folders, file permissions, and atomic file writes."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from oversight.harness.errors import ConfigError, FullDisk, is_full

_OTHERS = 0o077
"""Permission bits of the group and of all other users."""


def repair_rights(path: str | Path) -> None:
    """Remove the permissions of other users from a file or folder of this user.

    Links, files of other users, and missing files are left unchanged.
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


def cache_dir() -> Path:
    """Return the user's cache directory for this project, creating it if it is missing.

    Returns
    -------
    Path
        ``$OVERSIGHT_CACHE``, else ``$XDG_CACHE_HOME/oversight``, else ``~/.cache/oversight``.

    Raises
    ------
    ConfigError
        If the directory cannot be created.
    """
    return _user_dir("cache", "OVERSIGHT_CACHE", "XDG_CACHE_HOME", "~/.cache")


def data_dir() -> Path:
    """Return the user's directory for data that cannot be recreated, creating it if it is missing.

    Returns
    -------
    Path
        ``$OVERSIGHT_DATA``, else ``$XDG_DATA_HOME/oversight``, else ``~/.local/share/oversight``.

    Raises
    ------
    ConfigError
        If the directory cannot be created.
    """
    return _user_dir("data", "OVERSIGHT_DATA", "XDG_DATA_HOME", "~/.local/share")


def _user_dir(what: str, own_name: str, shared_name: str, default: str) -> Path:
    own, shared = os.environ.get(own_name), os.environ.get(shared_name)
    folder = Path(own) if own else Path(shared or default) / "oversight"
    try:
        folder = folder.expanduser().absolute()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise ConfigError(
            f"the {what} directory {folder} cannot be created ({error}); set {own_name} to a writable one"
        ) from error
    return folder


def write_whole(text: str | Iterable[bytes], path: str | Path, mode: int = 0o600) -> Path:
    """Write a file atomically and return its path.

    Missing folders are created. `mode` gives the permissions before the user's umask is applied. The text may
    be given as encoded parts.

    Raises
    ------
    ConfigError
        If the file cannot be written, or the path is a folder or a device.
    FullDisk
        If the disk is full.
    """
    path = Path(path)
    part = path.parent / (path.name + ".part")
    try:
        if not path.name or (path.exists() and not path.is_file()):  # such as /dev/null
            raise ConfigError(f"{path}: cannot be written: it is not a file")
        path.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)  # otherwise a leftover file would keep its permissions
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "wb") as stream:
            try:
                stream.writelines([text.encode()] if isinstance(text, str) else text)
            except BaseException:  # remove the half-written file after any error of the generator
                with contextlib.suppress(OSError):
                    part.unlink()
                raise
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        told = f"{path}: cannot be written: {error.strerror}"
        raise (FullDisk(told) if is_full(error) else ConfigError(told)) from error
    return path
