"""The server of the model that a worker of a cluster starts beside itself."""

from __future__ import annotations

import http.client
import socket
import sys

import pytest

from oversight.harness.cluster.node_worker import NodeSettings, serving
from oversight.harness.errors import ModelError

LOADING = """
import http.server, sys

class Handler(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        Handler.asked += 1
        self.send_response(503 if Handler.asked < 3 else int(sys.argv[2]))
        self.end_headers()
    def log_message(self, *words):
        pass

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def make_settings(code: str, *words: str) -> NodeSettings:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = [sys.executable, "-c", code, str(port), *words]
    return NodeSettings(keys={}, serve=command, ports=[port])


@pytest.mark.parametrize("status", ["200", "404"])
def test_a_server_that_loads_its_model_is_waited_for(status: str) -> None:
    beside = make_settings(LOADING, status)
    with serving(beside):
        connection = http.client.HTTPConnection("127.0.0.1", beside.ports[0], timeout=30)
        connection.request("GET", "/health")
        assert connection.getresponse().status == int(status)
        connection.close()


def test_ended_server_is_reported() -> None:
    with (
        pytest.raises(ModelError, match="ended with exit code 3"),
        serving(make_settings("raise SystemExit(3)")),
    ):
        pass
