"""Set up SQLite files, including read-only ones."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from oversight.harness.machine import repair_rights
from oversight.harness.store.engines.patience import ATTEMPT

PATIENT = f"PRAGMA busy_timeout={ATTEMPT * 1000:.0f}"
_SETTINGS = (
    "journal_mode=WAL",
    "synchronous=NORMAL",
    "foreign_keys=ON",
    "cache_size=-65536",  # KiB; large, because writes to indices of hashes are scattered
)
_FEW = "cache_size=-2048"


def is_read_only(file: str) -> bool:
    """Whether a database file exists that, itself or in its log, cannot be written."""
    path = Path(file)
    return path.is_file() and not (os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK))


def connect_read_only(file: str) -> sqlite3.Connection:
    """Open a database for reading only."""
    return sqlite3.connect(address_read_only(file), uri=True, check_same_thread=False)


def address_read_only(file: str) -> str:
    """Return SQLite's URI of a file for reading.

    Without a log, the URI says that the file cannot change, so SQLite creates no file beside it.
    """
    path = Path(file).absolute()
    log = path.with_name(path.name + "-wal")
    how = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    return f"file:{quote(str(path))}?{how}"


def make_private(file: str | None) -> None:
    """Remove other users' permissions from a database and its side files, if this user owns them."""
    if file is not None:
        for ending in ("", "-wal", "-shm"):
            repair_rights(file + ending)


def set_up_sqlite(connection: Any, _record: object) -> None:
    """Configure a new connection."""
    cursor = connection.cursor()
    cursor.execute(PATIENT)
    for setting in _SETTINGS:
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


@contextmanager
def keeping_few(connection: sa.Connection | None) -> Iterator[None]:
    """Keep only a few pages in SQLite's cache during one pass over a file."""
    if connection is None or connection.dialect.name != "sqlite":
        yield
        return
    connection.exec_driver_sql(f"PRAGMA {_FEW}")
    try:
        yield
    finally:
        connection.exec_driver_sql(f"PRAGMA {_SETTINGS[-1]}")
