"""A loopback forward proxy: tunnels (CONNECT), and requests in absolute form."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.fakes.raw_server import Listener, ListeningServer, Received, Receiver
from tests.fakes.serving import serving


class _Handler(Receiver):
    def handle(self) -> None:
        with suppress(OSError):
            while received := self.receive():
                method, target, _ = received.line.split(" ")
                if method == "CONNECT":
                    self.tunnel(target)
                    return
                self.pass_on(received, target)

    def tunnel(self, target: str) -> None:
        with _dial(target) as beyond:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_copy, args=(beyond, self.request), daemon=True)
            back.start()
            _copy(self.request, beyond)
            back.join()

    def pass_on(self, received: Received, target: str) -> None:
        method = received.line.split(" ")[0]
        authority, _, path = target.removeprefix("http://").partition("/")
        kept = [f"{n}: {v}" for n, v in received.headers.items() if n != "proxy-authorization"]
        head = "\r\n".join([f"{method} /{path} HTTP/1.1", *kept, "Connection: close", "", ""])
        with _dial(authority) as beyond:
            beyond.sendall(head.encode() + received.body)
            _copy(beyond, self.request)


def _dial(authority: str) -> socket.socket:
    """Names that end in .test are this machine, as a proxy may know names that its clients do not."""
    host, _, port = authority.rpartition(":")
    return socket.create_connection(("127.0.0.1" if host.endswith(".test") else host, int(port)))


def _copy(source: socket.socket, goal: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            goal.sendall(data)
        goal.shutdown(socket.SHUT_WR)


@contextmanager
def forward_proxy(tls: ssl.SSLContext | None = None) -> Iterator[Listener]:
    """Serve until the end of the block."""
    listener = Listener(tls)
    with serving(ListeningServer(listener, _Handler)):
        yield listener
