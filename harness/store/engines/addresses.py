"""Addresses and engines of databases: an SQLite file, or PostgreSQL on a server."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.output import keep_secret, redact
from oversight.harness.platform import find_openers, repair_rights
from oversight.harness.store.engines.retrying import ATTEMPT, RetryingConnection

PATIENT = f"PRAGMA busy_timeout={ATTEMPT * 1000:.0f}"
_SETTINGS = (
    "synchronous=NORMAL",
    "foreign_keys=ON",
    "secure_delete=ON",  # so that erased content is gone even if the command is killed before `scrub_file`
    "cache_size=-65536",  # 64 MiB; ids are hashes, so writing to an index touches many pages
)


def is_read_only(file: str) -> bool:
    """Whether a database file exists, and the file or its folder is read-only."""
    path = Path(file)
    return path.is_file() and not (os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK))


def connect_read_only(file: str) -> sqlite3.Connection:
    """Open a database for reading only."""
    return sqlite3.connect(address_read_only(file), uri=True, check_same_thread=False)


def address_read_only(file: str) -> str:
    """Return the SQLite URI that opens a file for reading only.

    If the file has no write-ahead log, the URI declares it immutable, so that SQLite creates no files next to
    it.
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
    """Configure a new SQLite connection."""
    cursor = connection.cursor()
    cursor.execute(PATIENT)
    if isinstance(connection, RetryingConnection):  # databases in memory have no log
        connection.use_log()
    for setting in _SETTINGS:
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


_OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"""
_RIGHT = "SELECT has_table_privilege(current_user, 'item', 'INSERT')"


def find_users(url: str) -> str:
    """Return a text about the other users of a database; empty if there are none.

    The caller must first close this process's connections to the database, because they count as other users.
    """
    file = find_file(read_address(url))
    if file is None:
        engine = sa.create_engine(read_address(url), poolclass=sa.NullPool)
        with engine.connect() as connection:
            number = connection.exec_driver_sql(_OTHERS).scalar_one()
        return f"{number} other connections are open" if number else ""
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as connection:
        try:  # SQLite removes the log only if nobody else has the database open
            is_alone = connection.execute("PRAGMA journal_mode=DELETE").fetchone()[0] == "delete"
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:  # for example, the disk is full
                raise
            is_alone = False
    return "" if is_alone else name_openers(file) or "another process has it open"


def name_openers(file: str) -> str:
    """Return a text about the processes that have a file open; empty if none are known."""
    named = [f"process {pid} ({command})" for pid, command in find_openers(Path(file))]
    return f"{' and '.join(named)} has it open" if named else ""


def may_write(connection: sa.Connection) -> bool:
    """Whether the connection's database role may write the study's tables; always true for SQLite."""
    if connection.dialect.name == "sqlite":
        return True
    return bool(connection.exec_driver_sql(_RIGHT).scalar_one())


_FILE = "sqlite:///"
_SERVER = ("postgres", "postgresql", "postgresql+psycopg")
_DEFAULTS: Mapping[str, str | int] = {
    "application_name": "oversight",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "tcp_user_timeout": 60_000,
}
"""Defaults of connection parameters; without timeouts, a dead server would block a command forever."""


def read_address(url: str) -> sa.URL:
    """Parse an address as an SQLAlchemy URL; its password is registered as a secret.

    Raises
    ------
    StoreError
        If the address is malformed, or names a database that is neither SQLite nor PostgreSQL.
    """
    shown = show_address(url)
    if url.startswith(_FILE):  # a path may contain "?", which separates the parameters of other addresses
        file = url.removeprefix(_FILE)
        # SQLAlchemy would remove ".." from the path without following links.
        return sa.URL.create("sqlite", database=str(Path(file).resolve()) if ".." in file else file)
    try:
        address = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError) as error:  # ValueError for an invalid port
        raise StoreError(f"{shown}: the database cannot be used: {error}") from error
    keep_secret(address.password)
    if address.drivername in _SERVER:
        return address.set(drivername=_SERVER[-1])
    if address.drivername.partition("+")[0] != "sqlite":
        raise StoreError(f"{shown}: a study is stored in a file, or in a database at postgresql://HOST/NAME")
    return address


def show_address(url: str) -> str:
    """Format an address for messages: the path of a file, or a URL without its password."""
    return redact(url.removeprefix(_FILE))


def find_file(address: sa.URL) -> str | None:
    """Return the path of a database's file; None for a database in memory or on a server."""
    is_file = address.drivername.startswith("sqlite") and address.database not in (None, "", ":memory:")
    return address.database if is_file else None


def make_engine(
    url: str, write_json: Callable[[Any], str], read_json: Callable[[str | bytes], Any]
) -> tuple[sa.Engine, str | None, bool]:
    """Return the engine, the database file (None on a server), and whether the file is read-only.

    Raises
    ------
    StoreError
        If the address is malformed, or its database driver cannot be imported.
    """
    address = read_address(url)
    file, more = find_file(address), dict[str, Any]()
    read_only = file is not None and is_read_only(file)
    if file is not None and read_only:
        more["creator"] = partial(connect_read_only, file)
    elif file is not None:
        more["connect_args"] = {"factory": RetryingConnection}
    elif address.drivername == _SERVER[-1]:
        said = {name: value for name, value in _DEFAULTS.items() if name not in address.query}
        more |= {"connect_args": said, "pool_pre_ping": True}  # detects a restarted server
        # Hide psycopg's messages about lost connections, because this package prints its own messages.
        logging.getLogger("psycopg").addHandler(logging.NullHandler())
    try:
        engine = sa.create_engine(address, json_serializer=write_json, json_deserializer=read_json, **more)
    except ImportError as error:
        shown, mend = show_address(url), "pip install 'oversight-eval[postgres]'"
        raise StoreError(f"{shown}: the PostgreSQL driver cannot be loaded ({error}); {mend}") from error
    if address.drivername.startswith("sqlite") and not read_only:
        sa.event.listen(engine, "connect", set_up_sqlite)
    return engine, file, read_only


def has_database(url: str) -> bool:
    """Whether the database file exists; always true for a server."""
    file = find_file(read_address(url))
    return file is None or Path(file).exists()
