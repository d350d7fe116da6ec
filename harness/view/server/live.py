"""Give each version of a study's database a number, and wait for the next version."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from pathlib import Path

from oversight.harness.errors import StoreError
from oversight.harness.store import Store
from oversight.harness.web import run_apart

_LOOK = 0.25
"""Seconds between two checks of the database."""
_SILENCE = 15.0
"""Seconds without a change after which a page gets a message, so that it notices a broken connection."""


class ChangeFeed:
    """Counts the changes of a study's database, so that pages can wait for the next change.

    Parameters
    ----------
    store
        The study's database.
    file
        The study file that the server has read.
    """

    def __init__(self, store: Store, file: Path) -> None:
        self._store, self._file = store, file
        self._settings = self._read_settings()
        self._next, self._ended = asyncio.Event(), threading.Event()
        self.version = 0
        """Number of changes seen so far; the first check counts as a change."""
        self.trouble = ""
        """Reason why the database cannot be read at present; empty if it can be read."""
        self.is_outdated = False
        """Whether the study file has changed, so that its settings are not those of the page."""

    def _read_settings(self) -> bytes:
        try:
            return self._file.read_bytes()
        except OSError:
            return b""

    async def follow(self) -> None:
        """Check the database repeatedly until `end` is called; retry if it cannot be read."""
        await run_apart(self._look_on, asyncio.get_running_loop())

    def _look_on(self, loop: asyncio.AbstractEventLoop) -> None:
        seen: object = None
        while not self._ended.is_set():
            try:
                with self._store.watching() as read:
                    while not self._ended.is_set():
                        self.is_outdated = self._read_settings() != self._settings
                        found = read(), self.is_outdated
                        if found != seen:
                            loop.call_soon_threadsafe(self.count_change)
                        seen = found
                        self._ended.wait(_LOOK)
            except StoreError as error:
                seen = None
                loop.call_soon_threadsafe(self.count_change, str(error))
                self._ended.wait(4 * _LOOK)

    def end(self) -> None:
        """Stop checking the database, and wake everything that waits for a change."""
        self._ended.set()
        self._next.set()

    def count_change(self, trouble: str = "") -> None:
        """Count a change, or record the reason why the database cannot be read."""
        if trouble and trouble == self.trouble:
            return
        self.trouble = trouble
        self.version += 1
        told, self._next = self._next, asyncio.Event()
        told.set()

    async def begun(self) -> None:
        """Wait until the first check of the database is complete."""
        if not self.version:
            await self._next.wait()

    async def versions(self) -> AsyncIterator[int | None]:
        """Yield the number of the present version, then of each later version, until `end` is called.

        The method yields None if nothing changed for a while.
        """
        await self.begun()
        seen = self.version
        yield seen
        while not self._ended.is_set():
            # Take the event before comparing versions, so that a change in between is also reported.
            following = self._next
            if self.version == seen:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(following.wait(), _SILENCE)
            if not self._ended.is_set():
                before, seen = seen, self.version
                yield None if seen == before else seen
