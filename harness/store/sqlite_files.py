"""SQLite files that cannot be written (on another's account, on a disc, in an archive), or are not there."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa


def is_read_only(file: str) -> bool:
    """Whether a database is there that cannot be written, or not its log beside it."""
    path = Path(file)
    return path.is_file() and not (os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK))


def connect_read_only(file: str) -> sqlite3.Connection:
    """Open a database for reading; without a log, nothing is made beside it, and no change is expected."""
    path = Path(file).absolute()
    log = path.with_name(path.name + "-wal")
    how = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    return sqlite3.connect(f"file:{quote(str(path))}?{how}", uri=True, check_same_thread=False)


def has_database(url: str) -> bool:
    """Whether a database is there, and would not be made by opening it; those of servers are."""
    if not url.startswith("sqlite:///"):
        return True
    file = sa.make_url(url).database
    return file is not None and Path(file).exists()
