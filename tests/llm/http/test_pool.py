"""Connections are kept, given up when stale, never shared by two requests; headers stay whole."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from threading import Event

import pytest

from oversight.harness import ConfigError
from oversight.harness.config import ModelSection
from oversight.harness.errors import TransientModelError
from oversight.harness.llm import HttpClient, make_model
from tests.fakes.raw_server import Received, answer, raw_server
from tests.llm.http.conftest import Asking


def test_one_connection_per_concurrent_request(asking: Asking) -> None:
    async def rounds(client: HttpClient) -> list[bytes]:
        async def one(j: int) -> bytes:
            return (await client.request("POST", "/path", b"%d" % j)).body

        found = []
        for _ in range(5):
            found += await asyncio.gather(*(one(j) for j in range(8)))
        return found

    with raw_server(lambda r: [answer(b"to " + r.body)]) as server:
        found = asking(f"http://127.0.0.1:{server.port}", rounds)
    assert found == [b"to %d" % j for j in range(8)] * 5
    assert server.connections == 8


def test_a_connection_that_the_server_closed_meanwhile_is_not_used(asking: Asking) -> None:
    def once(_: Received) -> Iterator[bytes | None]:
        yield from (answer(), None)

    async def use(client: HttpClient) -> None:
        for _ in range(3):
            await client.request("POST", "/path", b"{}")
            await asyncio.to_thread(server.ended.acquire, timeout=20)

    with raw_server(once) as server:
        asking(f"http://127.0.0.1:{server.port}", use)
    assert len(server.seen) == server.connections == 3


@pytest.mark.parametrize("parts", [[], [b"HTTP/1.1 200 OK\r\n"], [answer(b"{} ")[:-1]]])
def test_time_runs_out_wherever_the_server_stops(parts: list[bytes], asking: Asking) -> None:
    done = Event()

    def reply(_: Received) -> Iterator[bytes]:
        yield from parts
        done.wait(20)

    with raw_server(reply) as server:
        try:
            with pytest.raises(TransientModelError, match="no answer within"):
                asking(f"http://127.0.0.1:{server.port}", timeout=0.2)
        finally:
            done.set()


def test_time_runs_out_while_connecting(asking: Asking) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"  # the server never answers the handshake
        with pytest.raises(TransientModelError, match=r"timeout after 1\.8 s"):
            asking(url, timeout=2.0)


def test_a_cancelled_request_leaves_nothing_to_the_next(asking: Asking) -> None:
    asked, go_on = Event(), Event()

    def reply(received: Received) -> Iterator[bytes]:
        asked.set()
        if received.body == b"first":
            go_on.wait(20)
        yield answer(received.body)

    async def use(client: HttpClient) -> bytes:
        first = asyncio.create_task(client.request("POST", "/path", b"first"))
        await asyncio.to_thread(asked.wait, 20)
        first.cancel()
        go_on.set()
        return (await client.request("POST", "/path", b"second")).body

    with raw_server(reply) as server:
        assert asking(f"http://127.0.0.1:{server.port}", use) == b"second"
    assert server.connections == 2


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://no-such-host.invalid"])
def test_missing_server_is_a_connection_error(url: str, asking: Asking) -> None:
    with pytest.raises(TransientModelError, match="no connection to "):
        asking(url)


@pytest.mark.parametrize("key", ["sk-1\r\nX-Evil: 1", "sk-1\nx", "sk-\x00", "sk-ü", "sk-\x7f"])
def test_a_key_that_would_end_its_header_is_refused_and_not_shown(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.environ", {"MY_KEY": key})
    with pytest.raises(ConfigError, match="the key in MY_KEY contains a line break") as raised:
        make_model(ModelSection(model="m", endpoint="http://model.test/v1", api_key_env="MY_KEY"))
    assert "sk-" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://host/a\r\nX-Evil: 1",
        "http://host\n/v1",
        "http://ho st/v1",
        "http://host:port/v1",
        "http://",
        "http://[::1/v1",
        "http://host/v1?key=hunter2",
    ],
)
def test_a_url_that_cannot_be_sent_is_refused_and_not_shown(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    with pytest.raises(ConfigError, match="the endpoint") as raised:
        make_model(ModelSection(model="m", endpoint=url))
    assert "hunter2" not in str(raised.value)
    assert "Evil" not in str(raised.value)
