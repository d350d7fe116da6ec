"""Find out who else has a database open, and whether this user may write it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from oversight.harness.machine import find_openers
from oversight.harness.store.engines.addresses import find_file, read_address

_OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"""
_RIGHT = "SELECT has_table_privilege(current_user, 'item', 'INSERT')"


def find_users(url: str) -> str:
    """Name other processes that have a database open; empty if none. Close it in this process first."""
    file = find_file(read_address(url))
    if file is None:
        engine = sa.create_engine(read_address(url), poolclass=sa.NullPool)
        with engine.connect() as connection:
            number = connection.exec_driver_sql(_OTHERS).scalar_one()
        return f"{number} other connections are open" if number else ""
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as connection:
        try:  # SQLite removes the log only if nobody else has the file open
            is_alone = connection.execute("PRAGMA journal_mode=DELETE").fetchone()[0] == "delete"
        except sqlite3.OperationalError:
            is_alone = False
    if is_alone:
        return ""
    named = [f"process {pid} ({command})" for pid, command in find_openers(Path(file))]
    return f"{' and '.join(named) or 'another process'} has it open"


def may_write(connection: sa.Connection) -> bool:
    """Whether a connection may write the study's tables; a role for readers may not."""
    if connection.dialect.name == "sqlite":
        return True
    return bool(connection.exec_driver_sql(_RIGHT).scalar_one())
