"""A fast local chat-completions server in a separate process.

The server parses only the end of the head and Content-Length. Unlike the server in tests/fakes, it does not
check requests. It can fail at random, and limit the number of calls per second.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import multiprocessing as mp
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_ANSWER = (
    '{"id":"c","object":"chat.completion","created":0,"model":"bench","choices":[{"index":0,"message":'
    '{"role":"assistant","content":%s},"finish_reason":"stop"}],'
    '"usage":{"prompt_tokens":50,"completion_tokens":9,"total_tokens":59}}'
)
_FIXED = (_ANSWER % '"B"').encode()
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_REFUSED = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: %b\r\nContent-Length: 2\r\n\r\n{}"
_FAULTS = {
    "429": _REFUSED % b"0.3",
    "500": b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\n{}",
    "malformed": _HEAD % 20 + _FIXED[:20],
}
_NONE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


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
    say
        Function from the body of a request to the text of the reply; None always replies ``B``.
    """

    latency: float = 0.0
    faults: tuple[tuple[str, float], ...] = ()
    rate: float = 0.0
    say: Callable[[bytes], str] | None = None


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
    def __init__(self, behaviour: Behaviour, judge: _Judge, seen: Any) -> None:
        self._latency, self._say = behaviour.latency, behaviour.say
        self._judge, self._seen = judge, seen
        self._data = b""

    def connection_made(self, transport: Any) -> None:
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
        self._seen.first = self._seen.first or now
        self._seen.calls += 1
        self._seen.last = now
        fault = self._judge.fault(now)
        if fault is None:
            self._seen.last_good = now
            answer = _FIXED if self._say is None else (_ANSWER % json.dumps(self._say(body))).encode()
            reply = _HEAD % len(answer) + answer
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
        self._seen.waited += now - begun
        self._seen.last_reply = now
        self._transport.write(reply)


class Counters(ctypes.Structure):
    """Counts and times of calls, in memory that the server shares with this process.

    Times are in seconds (CLOCK_MONOTONIC): `first` that of the first call, `last` that of the last call, and
    `last_good` that of the last successful call. With a latency, `waited` is the sum of the waiting times of
    all calls, and `last_reply` the time of the last reply.
    """

    _fields_ = (
        ("calls", ctypes.c_int64),
        *((name, ctypes.c_double) for name in ("first", "last", "last_good", "waited", "last_reply")),
    )


@dataclass(frozen=True)
class Loopback:
    """Address of a running server, and its `Counters`."""

    url: str
    seen: Any


def _serve(behaviour: Behaviour, port: Any, seen: Any) -> None:
    judge = _Judge(behaviour)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: _Connection(behaviour, judge, seen), "127.0.0.1", 0, backlog=1024
        )
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


@contextlib.contextmanager
def loopback(behaviour: Behaviour = Behaviour()) -> Iterator[Loopback]:
    """Run a server until the end of the block."""
    context = mp.get_context("spawn")
    port, seen = context.Queue(), context.Value(Counters, lock=False)
    process = context.Process(target=_serve, args=(behaviour, port, seen), daemon=True)
    process.start()
    try:
        yield Loopback(f"http://127.0.0.1:{port.get(timeout=60)}/v1", seen)
    finally:
        process.terminate()
        process.join()
