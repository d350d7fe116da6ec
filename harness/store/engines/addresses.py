"""Addresses of databases: an SQLite file, or PostgreSQL on a server that several machines share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.output import keep_secret, redact
from oversight.harness.store.engines.patience import PatientConnection
from oversight.harness.store.engines.sqlite_files import connect_read_only, is_read_only, set_up_sqlite

_SERVER = ("postgres", "postgresql", "postgresql+psycopg")
_DEFAULTS: Mapping[str, str | int] = {
    "application_name": "oversight",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "tcp_user_timeout": 60_000,
}
"""Connection parameters that the address does not give; without them a dead server blocks forever."""


def read_address(url: str) -> sa.URL:
    """Parse an address as an SQLAlchemy URL; its password is registered as a secret.

    Raises
    ------
    StoreError
        If the address is malformed, or names a database that is neither SQLite nor PostgreSQL.
    """
    shown = show_address(url)
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
    return redact(url.removeprefix("sqlite:///"))


def find_file(address: sa.URL) -> str | None:
    """Return the path of a database's file; None for a database in memory or on a server."""
    is_file = address.drivername.startswith("sqlite") and address.database not in (None, "", ":memory:")
    return address.database if is_file else None


def make_engine(
    url: str, write_json: Callable[[Any], str], read_json: Callable[[str | bytes], Any]
) -> tuple[sa.Engine, str | None, bool]:
    """Create the engine of an address. Returns also its file (or None), and whether it is read-only.

    Raises
    ------
    StoreError
        If the address is malformed, or the driver of such a database is missing.
    """
    address = read_address(url)
    file, more = find_file(address), dict[str, Any]()
    read_only = file is not None and is_read_only(file)
    if file is not None and read_only:
        more["creator"] = partial(connect_read_only, file)
    elif file is not None:
        more["connect_args"] = {"factory": PatientConnection}
    elif address.drivername == _SERVER[-1]:
        said = {name: value for name, value in _DEFAULTS.items() if name not in address.query}
        more |= {"connect_args": said, "pool_pre_ping": True}  # detects a restarted server
        # Our messages replace psycopg's messages about lost connections.
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
    """Whether a database exists; always true for servers."""
    file = find_file(read_address(url))
    return file is None or Path(file).exists()
