"""Measure how much of an endpoint's limit a search uses, with a loopback server of known latency."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing as mp
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._field_ours import CLASSES, ITEMS, call_command

LATENCY, LIMIT = 0.2, 256
STUDY = """\
[study]
name = "A busy endpoint"

[items]
file = "items.jsonl"
classes = {classes}
shuffle = false

[models.small]
endpoint = "{url}"
model = "bench"
concurrency = {limit}

[search]
model = "small"
"""
_PART = re.compile(rb"\\n([A-Z ]+): (?:your |only [^:\\]*: ([^\\]+))")
_CASE = re.compile(rb"Case (\d+)")
_COMPLETION = (
    '{"id":"c","object":"chat.completion","created":0,"model":"bench","choices":[{"index":0,"message":'
    '{"role":"assistant","content":%s},"finish_reason":"stop"}],'
    '"usage":{"prompt_tokens":50,"completion_tokens":9,"total_tokens":59}}'
)
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


@dataclass(frozen=True)
class Usage:
    """Mean number of calls under way between the first call and the last reply, all calls, the maximum."""

    mean: float
    calls: int
    most: int
    seconds: float


class _Connection(asyncio.Protocol):
    """Answers every requested part after the latency."""

    def __init__(self, state: Any) -> None:
        self._state, self._data = state, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        end = self._data.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._data[:end].lower()
        start = head.find(b"content-length:")
        length = int(head[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0
        if len(self._data) < end + 4 + length:
            return
        body, self._data = self._data[end + 4 : end + 4 + length], self._data[end + 4 + length :]
        loop, state = asyncio.get_running_loop(), self._state
        now = loop.time()
        state[0] = state[0] or now
        state[1] += 1
        state[2] += 1
        state[3] = max(state[3], state[2])
        loop.call_later(LATENCY, self._answer, _reply(body), now)

    def _answer(self, reply: bytes, begun: float) -> None:
        now, state = asyncio.get_running_loop().time(), self._state
        state[2] -= 1
        state[4] += now - begun
        state[5] = now
        self._transport.write(reply)


def _reply(body: bytes) -> bytes:
    """Return every part that the request names: a choice by the item's number, otherwise some words."""
    cases = _CASE.findall(body)
    number = int(cases[-1]) if cases else 0
    lines = []
    for name, only in _PART.findall(body):
        options = only.decode().split(", ") if only else ["words"]
        lines.append(f"{name.decode()}: {options[number % len(options)]}")
    text = (_COMPLETION % json.dumps("\n".join(lines))).encode()
    return _HEAD % len(text) + text


def _serve(port: Any, state: Any) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(state), "127.0.0.1", 0, backlog=1024)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())


@contextlib.contextmanager
def _endpoint() -> Iterator[tuple[str, Any]]:
    context = mp.get_context("spawn")
    port, state = context.Queue(), context.Array("d", 6, lock=False)
    process = context.Process(target=_serve, args=(port, state), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{port.get(timeout=60)}/v1", state
    finally:
        process.terminate()
        process.join()


def measure_usage() -> Usage:
    """A search with default settings, from its first call to its last."""
    truth = np.random.default_rng(0).integers(4, size=ITEMS)
    with tempfile.TemporaryDirectory() as scratch, _endpoint() as (url, state):
        folder = Path(scratch)
        rows = [{"id": f"{i:04}", "text": f"Case {i} of 0"} for i in range(ITEMS)]
        classes = CLASSES[:4]
        files = {
            "study.toml": STUDY.format(classes=json.dumps(classes), url=url, limit=LIMIT),
            "items.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
            "key.csv": "id,label\n" + "".join(f"{i:04},{classes[y]}\n" for i, y in enumerate(truth)),
            "experts.toml": "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in classes),
        }
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        call_command(folder, "label", "route")
        call_command(folder, "label", "simulate", "--key", str(folder / "key.csv"))
        call_command(folder, "search", "start")
        seconds = state[5] - state[0]
        return Usage(mean=state[4] / seconds, calls=int(state[1]), most=int(state[3]), seconds=seconds)
