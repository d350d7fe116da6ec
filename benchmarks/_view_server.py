"""Start `oversight view` on this machine, for tests and benchmarks."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlencode, urlsplit


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
    command = [sys.executable, "-m", "oversight.harness.cli.main", "view", "--port", str(port), "--json"]
    process = subprocess.Popen(  # noqa: S603  the project's own command
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
