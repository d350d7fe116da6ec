"""Measure how much of an endpoint's concurrency a search uses, with a local server of known latency."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks._field_ours import CLASSES, ITEMS, call_command, lay_out
from benchmarks._field_task import FieldTask
from benchmarks._loopback import Behaviour, loopback

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


@dataclass(frozen=True)
class Usage:
    """Mean number of concurrent calls between first call and last reply, number of calls, and seconds."""

    mean: float
    calls: int
    seconds: float


def _reply(body: bytes) -> bytes:
    """Return a reply with one line for every answer part that the request asks for.

    If a part has options, the item's number determines which one is chosen. A part without options gets a
    fixed word.
    """
    cases = _CASE.findall(body)
    number = int(cases[-1]) if cases else 0
    lines = []
    for name, only in _PART.findall(body):
        options = only.decode().split(", ") if only else ["words"]
        lines.append(f"{name.decode()}: {options[number % len(options)]}")
    return (_COMPLETION % json.dumps("\n".join(lines))).encode()


def measure_usage() -> Usage:
    """Run a search with default settings against the local server, and measure its calls."""
    with tempfile.TemporaryDirectory() as scratch, loopback(Behaviour(LATENCY, body=_reply)) as server:
        folder, task = Path(scratch), FieldTask(4, ITEMS, 0)
        task.truth = np.random.default_rng(0).integers(4, size=ITEMS)
        lay_out(folder, task, STUDY.format(classes=json.dumps(CLASSES[:4]), url=server.url, limit=LIMIT))
        call_command(folder, "search", "start")
        seconds = server.last_reply - server.first
        return Usage(mean=server.waited / seconds, calls=server.calls, seconds=seconds)
