"""The host's side of a session in JSON lines; what the other side sends is not believed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents.sandbox.base import Host, Payload, SandboxLimits, Stopped

LONGEST_LINE = 64 << 20
"""Bytes of one message from a session, all answers of which come in one."""


async def converse(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    order: Payload,
    tasks: int,
    host: Host,
    limits: SandboxLimits,
) -> dict[str, Any]:
    """Send an order, answer the session's calls, and return its last message.

    Raises
    ------
    Stopped
        If it waits for nothing, calls too often, or sends what is no message.
    EOFError
        If it ended without a last word.
    """
    for index in range(tasks):
        host.begin(index)
    _send(writer, order)
    under_way: set[asyncio.Task[None]] = set()
    left = tasks * (limits.calls + 1)
    try:
        while True:
            message = await _next(reader, under_way, limits)
            if "call" not in message:
                return message
            left -= 1
            if left < 0:
                raise Stopped(f"more than {limits.calls} calls an item")
            task = asyncio.create_task(_reply(writer, host, message))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
    finally:
        for task in under_way:
            task.cancel()


async def _next(
    reader: asyncio.StreamReader, under_way: set[asyncio.Task[None]], limits: SandboxLimits
) -> dict[str, Any]:
    """Return the next message; time runs only while nothing is being answered."""
    line = asyncio.ensure_future(reader.readline())
    try:
        while not line.done():
            done, _ = await asyncio.wait(
                {line, *under_way}, timeout=limits.idle, return_when="FIRST_COMPLETED"
            )
            if not done and not under_way:
                raise Stopped(f"it waited {limits.idle:g} s for nothing")
        text = line.result()
        message = json.loads(text) if text.endswith(b"\n") else None
    except (ValueError, RecursionError):
        raise Stopped("it sent what is no message") from None
    except ConnectionError:
        raise EOFError from None
    finally:
        line.cancel()
    if message is None:
        raise EOFError
    if not isinstance(message, dict) or not {"call", "done", "stopped"} & set(message):
        raise Stopped("it sent what is no message")
    return message


async def _reply(writer: asyncio.StreamWriter, host: Host, message: dict[str, Any]) -> None:
    index, call = message.get("index"), message["call"]
    index = index if isinstance(index, int) else -1
    call = call if isinstance(call, dict) else {}
    try:
        _send(writer, {"id": message.get("id"), "reply": await host.ask(index, call)})
    except RuntimeError as error:
        _send(writer, {"id": message.get("id"), "error": str(error)})


def _send(writer: asyncio.StreamWriter, message: Payload) -> None:
    if not writer.is_closing():
        writer.write(json.dumps(message).encode() + b"\n")
