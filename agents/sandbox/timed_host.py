"""How long a session lasts of itself: waiting and computing, not the calls that it waits for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from oversight.agents.sandbox.base import Host, Payload, Stopped

T = TypeVar("T")


class TimedHost(Host):
    """A host that knows how long a session has lasted without a call of it under way."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._under_way = 0
        self._free = 0.0
        """Seconds with calls under way, those that still are left out."""
        self._since = self._started = time.monotonic()

    def begin(self, index: int) -> None:
        """As of `Host`."""
        self._host.begin(index)

    async def ask(self, index: int, call: Payload) -> Payload:
        """As of `Host`."""
        if not self._under_way:
            self._since = time.monotonic()
        self._under_way += 1
        try:
            return await self._host.ask(index, call)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._free += time.monotonic() - self._since

    async def bound(self, session: Coroutine[Any, Any, T], total: float) -> T:
        """What a session returns; it is stopped once it has lasted so many seconds of its own."""
        task = asyncio.create_task(session)
        try:
            while not task.done():
                left = total - self._lasted()
                if left <= 0:
                    raise Stopped(f"it lasted more than {total:g} s without a call")
                await asyncio.wait({task}, timeout=left)
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    def _lasted(self) -> float:
        now = time.monotonic()
        return now - self._started - self._free - (now - self._since if self._under_way else 0.0)
