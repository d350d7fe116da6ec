"""A loopback proxy before a real server that fails on request: what no server does when asked to."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.fakes.serving import serving


@dataclass(frozen=True)
class Fault:
    """Fault of one request: another status, a truncated or different body, or no answer.

    `forward` says whether the server still gets the request; `hold` is called before the answer.
    """

    status: int | None = None
    body: Callable[[bytes], bytes] | None = None
    drop: bool = False
    forward: bool = True
    hold: Callable[[], object] | None = None


@dataclass
class FaultyProxy:
    """`fault(method, path)` decides for each request; all requests are kept as "METHOD path".

    `date` is what it says the time is, in place of the server's own.
    """

    target: str
    fault: Callable[[str, str], Fault | None] = lambda method, path: None
    url: str = ""
    date: str | None = None
    seen: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def decide(self, method: str, path: str) -> Fault | None:
        with self.lock:
            self.seen.append(f"{method} {path}")
            return self.fault(method, path)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, proxy: FaultyProxy) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.proxy = proxy

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is no error of the proxy."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def relay(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.proxy.decide(self.command, self.path) or Fault()
        status, data, headers = 503, b"{}", {"Content-Type": "application/json"}
        if fault.forward:
            try:
                status, data, headers = self.forward(body)
            except OSError:
                fault = Fault(drop=True)
        if fault.hold is not None:
            fault.hold()
        if fault.drop:
            self.close_connection = True
            return
        data = data if fault.body is None else fault.body(data)
        self.send_response_only(fault.status or status)
        for name, value in (headers | {"Content-Length": str(len(data))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def forward(self, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        """Ask the real server."""
        goal = urlsplit(self.server.proxy.target)
        connection = http.client.HTTPConnection(goal.hostname or "", goal.port, timeout=60)
        own = ("host", "connection")
        try:
            headers = {k: v for k, v in self.headers.items() if k.lower() not in own}
            connection.request(self.command, self.path, body, headers)
            reply = connection.getresponse()
            kept = {n: reply.headers[n] for n in ("Content-Type", "Date") if n in reply.headers}
            if self.server.proxy.date is not None:
                kept["Date"] = self.server.proxy.date
            return reply.status, reply.read(), kept
        finally:
            connection.close()

    do_GET = do_POST = do_PATCH = do_DELETE = relay  # noqa: N815  the base class wants these names

    def log_message(self, *_: object) -> None:
        """Keep the test output clean."""


@contextmanager
def faulty_proxy(target: str) -> Iterator[FaultyProxy]:
    proxy = FaultyProxy(target)
    with serving(_Server(proxy)) as proxy.url:
        yield proxy
