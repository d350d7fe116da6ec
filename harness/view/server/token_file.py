"""The token of a study's page, stored so that an open page still works after a restart of the server."""

from __future__ import annotations

import os
import secrets
import stat
from hashlib import sha256
from pathlib import Path

from oversight.harness.errors import ConfigError
from oversight.harness.machine import cache_dir, hold_start_lock, write_whole

_SQLITE = "sqlite:///"


def read_token(store_url: str) -> str:
    """Return the token of a database, created at the first call in a file that only its owner can read.

    Raises
    ------
    ConfigError
        If the file belongs to another user, can be read by others, or cannot be written.
    """
    path = cache_dir() / "view" / f"{sha256(_name(store_url).encode()).hexdigest()[:32]}.token"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with hold_start_lock(path.parent):  # two servers that start at once keep the same one
            return _read(path) or _make(path)
    except OSError as error:
        raise ConfigError(f"{path}: the token cannot be stored: {error.strerror}") from error


def _name(store_url: str) -> str:
    """Return a name that is the same for all paths to one file, and different for other files."""
    if not store_url.startswith(_SQLITE):
        return store_url
    return f"{_SQLITE}{Path(store_url.removeprefix(_SQLITE)).resolve()}"


def _read(path: Path) -> str:
    """Return the stored token; empty if there is none."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return ""
    mine = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
    if not (mine and stat.S_ISREG(found.st_mode)):
        raise ConfigError(f"{path}: others own this token file or can read it; remove the file")
    token = path.read_text(encoding="ascii", errors="replace").strip()
    return token if len(token) >= 32 and token.isascii() else ""


def _make(path: Path) -> str:
    token = secrets.token_urlsafe(32)
    write_whole(token, path, mode=0o600)
    return token
