"""A fast local chat-completions server in a separate process, and a minimal client.

The server parses only the end of the head and Content-Length. Unlike the server in tests/fakes, it does not
check requests. It can fail at random, and limit the number of calls per second.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing as mp
import random
from collections.abc import Callable, Iterator
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
_REFUSED = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: %b\r\nContent-Length: 2\r\n\r\n{}"
_FAULTS = {
    "429": _REFUSED % b"0.3",
    "500": b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\n{}",
    "malformed": _HEAD % 20 + _ANSWER[:20],
}
_NONE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def _with_head(body: bytes) -> bytes:
    return _HEAD % len(body) + body


_OK = _with_head(_ANSWER)


@dataclass(frozen=True)
class Behaviour:
    """Behaviour of the server.

    Attributes
    ----------
    latency
        Seconds from a request to its reply.
    faults
        Kinds of faults (keys of `_FAULTS`, ``"hang"`` and ``"drop"``), each with its share of all calls.
    rate
        Accepted calls per second, after an initial burst of as many calls; 0 means no limit. A refusal asks
        to wait one second and does not disclose the limit.
    body
        Function from the body of a request to the body of the reply; None sends a fixed reply.
    """

    latency: float = 0.0
    faults: tuple[tuple[str, float], ...] = ()
    rate: float = 0.0
    body: Callable[[bytes], bytes] | None = None


class _Judge:
    """Decides whether a call succeeds."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour, self._random = behaviour, random.Random(7)  # noqa: S311  not for secrets
        self._left, self._counted = behaviour.rate, 0.0

    def fault(self, now: float) -> str | None:
        """Return the kind of fault of a call at time `now`; None if it succeeds."""
        if self._behaviour.rate:
            self._left = min(self._behaviour.rate, self._left + (now - self._counted) * self._behaviour.rate)
            self._counted = now
            if self._left < 1:
                return "limit"
            self._left -= 1
        drawn = self._random.random() if self._behaviour.faults else 1.0
        for kind, share in self._behaviour.faults:
            drawn -= share
            if drawn < 0:
                return kind
        return None


class _Connection(asyncio.Protocol):
    def __init__(self, behaviour: Behaviour, judge: _Judge, state: Any) -> None:
        self._latency, self._body = behaviour.latency, behaviour.body
        self._judge, self._state = judge, state
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
            body, self._data = self._data[end + 4 : end + 4 + length], self._data[end + 4 + length :]
            if head.startswith(b"get"):
                self._transport.write(_NONE)
            else:
                self._answer(asyncio.get_running_loop(), body)

    def _answer(self, loop: asyncio.AbstractEventLoop, body: bytes) -> None:
        now = loop.time()
        self._state[0] = self._state[0] or now
        self._state[1] += 1
        self._state[2] = now
        fault = self._judge.fault(now)
        if fault is None:
            self._state[3] = now
            reply = _OK if self._body is None else _with_head(self._body(body))
        elif fault == "hang":
            return
        elif fault == "drop":
            self._transport.close()
            return
        else:
            reply = _REFUSED % b"1" if fault == "limit" else _FAULTS[fault]
        if self._latency:
            loop.call_later(self._latency, self._send, reply, now)
        else:
            self._transport.write(reply)

    def _send(self, reply: bytes, begun: float) -> None:
        now = asyncio.get_running_loop().time()
        self._state[4] += now - begun
        self._state[5] = now
        self._transport.write(reply)


@dataclass(frozen=True)
class Loopback:
    """Address and counters of a running server.

    Times are in seconds (CLOCK_MONOTONIC): `first` that of the first call, `last` that of the last call, and
    `last_good` that of the last successful call. With a latency, `waited` is the sum of the waiting times of
    all calls, and `last_reply` the time of the last reply.
    """

    url: str
    state: Any

    @property
    def first(self) -> float:
        return float(self.state[0])

    @property
    def last(self) -> float:
        return float(self.state[2])

    @property
    def last_good(self) -> float:
        return float(self.state[3])

    @property
    def waited(self) -> float:
        return float(self.state[4])

    @property
    def last_reply(self) -> float:
        return float(self.state[5])

    @property
    def calls(self) -> int:
        return int(self.state[1])


def _serve(behaviour: Behaviour, port: Any, state: Any) -> None:
    judge = _Judge(behaviour)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: _Connection(behaviour, judge, state), "127.0.0.1", 0, backlog=1024
        )
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())


@contextlib.contextmanager
def loopback(behaviour: Behaviour = Behaviour()) -> Iterator[Loopback]:
    """Run a server until the end of the block."""
    context = mp.get_context("spawn")
    port, state = context.Queue(), context.Array("d", 6, lock=False)
    process = context.Process(target=_serve, args=(behaviour, port, state), daemon=True)
    process.start()
    try:
        yield Loopback(f"http://127.0.0.1:{port.get(timeout=60)}/v1", state)
    finally:
        process.terminate()
        process.join()


async def bare(url: str, prompts: list[str], concurrency: int) -> None:
    """Send prompts with a minimal client (aiohttp and orjson), which stores nothing and does not retry."""
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
