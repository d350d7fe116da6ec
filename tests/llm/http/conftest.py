"""Clients of a server, in either event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest
import uvloop

from oversight.harness.llm import HttpClient
from oversight.harness.llm.models.http_client import HttpReply

Use: TypeAlias = Callable[[HttpClient], Awaitable[Any]]
Asking: TypeAlias = Callable[..., Any]


@pytest.fixture(params=["asyncio", "uvloop"])
def asking(request: pytest.FixtureRequest) -> Asking:
    """Use a client of a base URL, by default for one request; return what that gave."""
    loop_factory = uvloop.new_event_loop if request.param == "uvloop" else None

    def run(base_url: str, use: Use | None = None, **settings: Any) -> Any:
        async def main() -> Any:
            options = {"timeout": 20.0, "max_reply_bytes": 4_000_000, **settings}
            client = HttpClient(base_url, {"Authorization": "Bearer secret"}, **options)
            try:
                return await (use or _once)(client)
            finally:
                await client.close()

        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return runner.run(main())

    return run


async def _once(client: HttpClient) -> HttpReply:
    return await client.request("POST", "/path", b"{}")
