"""Connections that say nothing are ended, those that are at work stay."""

from __future__ import annotations

import asyncio

from aiohttp import web

from oversight.harness.web import open_listener, serving


async def ask(port: int, silent: int) -> tuple[list[bytes], bytes]:
    """Responses on connections with unfinished requests, and on one that waits for a slow answer."""
    begun = [await asyncio.open_connection("127.0.0.1", port) for _ in range(silent)]
    for _, writer in begun[1:]:
        writer.write(b"GET / HT")
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    ends = [await reader.read() for reader, _ in begun]
    released.set()
    said = await reader.read()
    for _, each in (*begun, (reader, writer)):
        each.close()
    return ends, said


released = asyncio.Event()


async def answer(_request: web.Request) -> web.Response:
    await released.wait()
    return web.Response(text="well")


def test_silent_connections_block_nobody() -> None:
    async def serve() -> tuple[list[bytes], bytes]:
        application = web.Application()
        application.router.add_get("/", answer)
        with open_listener("test", "127.0.0.1", 0) as listening:
            async with serving(application, listening, patience=0.05):
                return await ask(listening.getsockname()[1], 4)

    ends, said = asyncio.run(serve())
    assert ends == [b""] * 4
    assert said.endswith(b"well")
