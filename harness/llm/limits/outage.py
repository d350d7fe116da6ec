"""Endpoints that answer nobody for a while: waited out with single calls, at growing intervals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

_LOGGER = logging.getLogger(__name__)
_IN_A_ROW = 16
"""So many failures without an answer between them are an outage; fewer where fewer calls are under way."""
_FIRST, _LONGEST = 1.0, 30.0  # seconds between the calls that look whether it is over


class Outage:
    """Whether an endpoint answers at all; holds calls back while it does not, for one event loop.

    Parameters
    ----------
    concurrency
        Most calls under way at once.
    patience
        Seconds for which an outage is waited out; with 0 none is.
    clock, sleep
        Seconds that pass.

    Attributes
    ----------
    is_on
        Whether it lasts.
    """

    def __init__(
        self,
        concurrency: int,
        patience: float,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self.is_on, self.patience = False, patience
        self._enough = min(_IN_A_ROW, 4 * concurrency)
        self._clock, self._sleep = clock, sleep
        self._answered: float | None = None
        self._failures, self._items = 0, set[int]()
        self._looking, self._interval = False, _FIRST
        self._changed = asyncio.Event()

    @property
    def is_too_long(self) -> bool:
        """Whether nothing was answered for longer than the patience."""
        silent = 0.0 if self._answered is None else self._clock() - self._answered
        return bool(self.patience) and silent > self.patience

    async def wait(self) -> None:
        """Wait until the outage is over, or it is this call's turn to look whether it is."""
        if self._answered is None:
            self._answered = self._clock()  # nothing can have been answered earlier
        while self.is_on:
            if self._looking:
                await self._changed.wait()
                continue
            self._looking = True
            try:
                await self._sleep(self._interval)
            except asyncio.CancelledError:
                self.looked()
                raise
            self._interval = min(_LONGEST, 2 * self._interval)
            return

    def answered(self, *, refused: bool = False) -> None:
        """Take in that the endpoint is there; a refusal by its limits does not end the silence."""
        if not refused:
            self._answered = self._clock()
        self._failures = 0
        if self._items:
            self._items.clear()
        self.is_on, self._interval = False, _FIRST

    def failed(self, item: int, *, sent: bool) -> None:
        """Take in that a call failed in a way that says little of its item.

        Parameters
        ----------
        item
            Tells items apart: failures of one alone are its own, if it could be sent at all.
        sent
            Whether there was a connection.
        """
        self._failures += 1
        self._items.add(item)
        if self.patience and self._failures >= self._enough and (len(self._items) > 1 or not sent):
            if not self.is_on:
                _LOGGER.info("the endpoint answers nothing; single calls look whether it is back")
            self.is_on = True

    def looked(self) -> None:
        """Let the next call that waits look, or all go on, whatever came of the last."""
        if self._looking:
            self._looking = False
            self._changed.set()
            self._changed = asyncio.Event()
