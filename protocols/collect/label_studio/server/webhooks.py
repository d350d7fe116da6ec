"""Hints that something was answered: a server's webhooks wake a poll early, and tell nothing else.

What a hook says is never read. Whoever knows the address can at most make the next pull come sooner.
Lost hooks cost nothing either, as the poll comes all the same.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from oversight.harness import ConfigError, OversightError
from oversight.protocols.collect.label_studio.server.client import Client

PATH = "/oversight-hint/"


@contextlib.contextmanager
def listen_for_webhooks(
    projects: Sequence[tuple[Client, int]], port: int, hint: threading.Event
) -> Iterator[None]:
    """Listen on the loopback interface, and have the projects' servers set the hint.

    Hooks are registered at the beginning, after those that a killed process left, and removed at the end.

    Parameters
    ----------
    port
        To listen on; 0 takes any free one.

    Raises
    ------
    ConfigError
        If a server is not on this machine, refuses to call it, or the port is taken.
    """
    if far := next((client for client, _ in projects if not client.connection.is_local), None):
        raise ConfigError(f"--webhook: {far.url} is not on this machine, and could not call it: leave it out")
    path = PATH + secrets.token_urlsafe(16)
    try:
        server = _Server(("127.0.0.1", port), _handler(path, hint))
    except OSError as error:
        raise ConfigError(f"--webhook {port}: cannot listen there ({error.strerror})") from None
    url = f"http://127.0.0.1:{server.server_address[1]}{path}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    made: list[tuple[Client, int]] = []
    try:
        for client, project in projects:
            for old in client.read_hooks(project, PATH):
                client.remove_hook(old)
            made.append((client, client.add_hook(project, url)))
        yield
    except OversightError as error:
        if "reserved network" in str(error):
            raise ConfigError(
                "--webhook: the server may not call this machine; one of your own does if started with: "
                "oversight label-studio start --hooks"
            ) from None
        raise
    finally:
        for client, hook in made:
            with contextlib.suppress(OversightError):
                client.remove_hook(hook)
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A caller that hangs up is no error."""


def _handler(path: str, hint: threading.Event) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 5

        def do_POST(self) -> None:
            known = secrets.compare_digest(self.path.encode(), path.encode())
            if known:
                hint.set()
            self.send_response_only(204 if known else 404)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing: the address is a secret."""

    return Handler
