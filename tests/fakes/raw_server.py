"""A loopback server that sends exactly the bytes a test says, with TLS if it is to."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

from tests.fakes.serving import serving


@dataclass(frozen=True)
class Received:
    """A request: its first line, headers (names in lower case), body, and the number of its connection."""

    line: str
    headers: dict[str, str]
    body: bytes
    connection: int


def answer(body: bytes = b"{}", *headers: str, status: str = "200 OK") -> bytes:
    """A reply with a length."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


@dataclass
class Listener:
    """Record of a raw server: its requests, its connections, and a semaphore that counts ended ones."""

    tls: ssl.SSLContext | None = None
    port: int = 0
    seen: list[Received] = field(default_factory=list)
    connections: int = 0
    ended: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    lock: threading.Lock = field(default_factory=threading.Lock)


class Receiver(StreamRequestHandler):
    """Reads requests from a connection."""

    server: ListeningServer

    def setup(self) -> None:
        listener = self.server.listener
        with listener.lock:
            listener.connections += 1
            self.number = listener.connections
        if listener.tls is not None:
            self.request = listener.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def receive(self) -> Received | None:
        line = self.rfile.readline().decode().strip()
        headers = {}
        while head := self.rfile.readline().decode().strip():
            name, _, value = head.partition(":")
            headers[name.lower()] = value.strip()
        if not line:
            return None
        body = self.rfile.read(int(headers.get("content-length", 0)))
        received = Received(line, headers, body, self.number)
        self.server.listener.seen.append(received)
        return received

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()
        self.request.close()  # the TLS socket is not the socket that the server made


class ListeningServer(ThreadingTCPServer):
    """A thread for each connection."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, listener: Listener, handler: type[Receiver], host: str = "127.0.0.1") -> None:
        self.listener = listener
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, 0), handler)
        listener.port = self.server_address[1]

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.listener.ended.release()

    def handle_error(self, *_: object) -> None:
        """A client that hangs up, or dislikes a certificate, is no error of the server."""


@contextmanager
def raw_server(
    reply: Callable[[Received], Iterable[bytes | None]],
    tls: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
) -> Iterator[Listener]:
    """Send the parts that `reply(request)` gives; where one is None, the connection is closed there."""

    class Handler(Receiver):
        def handle(self) -> None:
            with suppress(OSError):  # the client may close the connection
                while received := self.receive():
                    for part in reply(received):
                        if part is None:
                            return
                        self.wfile.write(part)

    listener = Listener(tls)
    with serving(ListeningServer(listener, Handler, host)):
        yield listener
