"""What changed: a number for the state of the database, and everybody who waits for the next one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from harness.errors import StoreError
from harness.store import Store

_LOOK = 0.25
"""Seconds between two looks at the database."""
_SILENCE = 15.0
"""Seconds after which a page is told that nothing changed, so that a broken connection is noticed."""


class ChangeFeed:
    """The versions of a study's database, one after the other.

    Parameters
    ----------
    store
        The study's database.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed = asyncio.Condition()
        self.version = 0
        """Number of changes seen so far."""
        self.trouble = ""
        """Why the database cannot be read now; empty where it can."""

    async def follow(self) -> None:
        """Look at the database again and again, until cancelled; one that is lost is tried again."""
        while True:
            try:
                await self._follow_connection()
            except StoreError as error:
                self.trouble = str(error)
                await self._tell()
                await asyncio.sleep(4 * _LOOK)

    async def _follow_connection(self) -> None:
        stack = contextlib.ExitStack()
        read = await asyncio.to_thread(stack.enter_context, self._store.watching())
        try:
            seen = None
            while True:
                found = await asyncio.to_thread(read)
                if (seen is not None and found != seen) or self.trouble:
                    self.trouble = ""
                    await self._tell()
                seen = found
                await asyncio.sleep(_LOOK)
        finally:
            stack.close()

    async def _tell(self) -> None:
        self.version += 1
        async with self._changed:
            self._changed.notify_all()

    async def versions(self) -> AsyncIterator[int | None]:
        """The present version, then every later one; None where nothing changed for a while."""
        seen = self.version
        yield seen
        while True:
            with contextlib.suppress(TimeoutError):
                async with self._changed:
                    while self.version == seen:
                        await asyncio.wait_for(self._changed.wait(), _SILENCE)
            yield None if self.version == seen else self.version
            seen = self.version
