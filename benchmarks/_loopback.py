"""A fast loopback server that speaks chat completions, in a process of its own, and the bare client.

The server reads as little as it may: heads end at a blank line, bodies by Content-Length. It is no
judge of requests; tests/fakes has one that is.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing as mp
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_ANSWER = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "bench",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "B"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 1, "total_tokens": 51},
    }
).encode()
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_OK = _HEAD % len(_ANSWER) + _ANSWER
_NONE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class _Connection(asyncio.Protocol):
    def __init__(self, latency: float, state: Any) -> None:
        self._latency, self._state = latency, state
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end].lower()
            start = head.find(b"content-length:")
            length = int(head[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0
            if len(self._data) < end + 4 + length:
                return
            self._data = self._data[end + 4 + length :]
            if head.startswith(b"get"):
                self._transport.write(_NONE)
                continue
            if not self._state[0]:
                self._state[0] = asyncio.get_running_loop().time()
            self._state[1] += 1
            self._state[2] = asyncio.get_running_loop().time()
            if self._latency:
                asyncio.get_running_loop().call_later(self._latency, self._transport.write, _OK)
            else:
                self._transport.write(_OK)


@dataclass(frozen=True)
class Loopback:
    """`first` and `last` are when the first and the last call came (CLOCK_MONOTONIC), `calls` how many."""

    url: str
    state: Any

    @property
    def first(self) -> float:
        return float(self.state[0])

    @property
    def last(self) -> float:
        return float(self.state[2])

    @property
    def calls(self) -> int:
        return int(self.state[1])


def _serve(latency: float, port: Any, state: Any) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(latency, state), "127.0.0.1", 0, backlog=1024)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())


@contextlib.contextmanager
def loopback(latency: float = 0.0) -> Iterator[Loopback]:
    """Run a server until the end of the block."""
    context = mp.get_context("spawn")
    port, state = context.Queue(), context.Array("d", 3, lock=False)
    process = context.Process(target=_serve, args=(latency, port, state), daemon=True)
    process.start()
    try:
        yield Loopback(f"http://127.0.0.1:{port.get(timeout=60)}/v1", state)
    finally:
        process.terminate()
        process.join()


async def bare(url: str, prompts: list[str], concurrency: int) -> None:
    """The bare loop: aiohttp, orjson, worker tasks over one iterator; nothing kept, nothing retried."""
    import aiohttp
    import orjson

    source = iter(prompts)

    async def work(session: aiohttp.ClientSession) -> None:
        for prompt in source:
            body = {"model": "bench", "messages": [{"role": "user", "content": prompt}], "temperature": 0.0}
            headers = {"Content-Type": "application/json", "Authorization": "Bearer none"}
            async with session.post(f"{url}/chat/completions", data=orjson.dumps(body), headers=headers) as r:
                answer = orjson.loads(await r.read())
                assert answer["choices"][0]["message"]["content"] == "B"

    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(work(session) for _ in range(concurrency)))
