"""The token of a study's page, kept so that a page that is open goes on after the server was restarted."""

from __future__ import annotations

import contextlib
import os
import secrets
from hashlib import sha256
from pathlib import Path

from harness.errors import ConfigError
from harness.machine import cache_dir, write_whole


def read_token(store_url: str) -> str:
    """The token of a database, made at the first call; a file that its owner alone can read.

    Raises
    ------
    ConfigError
        If the file is another's, or others can read it.
    """
    path = cache_dir() / "view" / f"{sha256(store_url.encode()).hexdigest()[:32]}.token"
    with contextlib.suppress(FileNotFoundError):
        _check_private(path)
        token = path.read_text(encoding="ascii", errors="replace").strip()
        if len(token) >= 32 and token.isascii():
            return token
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    token = secrets.token_urlsafe(32)
    write_whole(token, path, mode=0o600)
    return token


def _check_private(path: Path) -> None:
    found = path.stat()
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o077):
        raise ConfigError(f"{path}: others can read this token, or made it; remove the file")
