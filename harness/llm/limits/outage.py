"""Wait while an endpoint answers no calls, and test it with single calls at growing intervals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

_LOGGER = logging.getLogger(__name__)
_IN_A_ROW = 16
"""Number of failures in a row that make an outage; smaller if few calls are unfinished."""
_FIRST, _LONGEST = 1.0, 30.0  # seconds between test calls


class Outage:
    """Tracks whether an endpoint answers, and holds calls back while it does not; for one event loop.

    Parameters
    ----------
    concurrency
        Largest number of unfinished calls.
    patience
        Seconds to wait during an outage; 0 does not wait.
    clock, sleep
        Clock in seconds and sleep function; replaced in tests.

    Attributes
    ----------
    is_on
        Whether there is an outage at present.
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
        """Whether the endpoint has answered nothing for longer than `patience` seconds."""
        silent = 0.0 if self._answered is None else self._clock() - self._answered
        return bool(self.patience) and silent > self.patience

    async def wait(self) -> None:
        """Wait until the outage is over, or until this call may be the test call."""
        if self._answered is None:
            self._answered = self._clock()  # an answer cannot arrive before the call starts
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
        """Record that the endpoint answered; a refusal by its rate limit does not end an outage."""
        if not refused:
            self._answered = self._clock()
        self._failures = 0
        if self._items:
            self._items.clear()
        self.is_on, self._interval = False, _FIRST

    def failed(self, item: int, *, sent: bool) -> None:
        """Record that a call failed for a reason that is probably unrelated to its item.

        Parameters
        ----------
        item
            Number that identifies the item; repeated failures of one item do not count if the call was sent.
        sent
            Whether the call was sent.
        """
        self._failures += 1
        self._items.add(item)
        if self.patience and self._failures >= self._enough and (len(self._items) > 1 or not sent):
            if not self.is_on:
                _LOGGER.info("the endpoint answers nothing; single calls test whether it is back")
            self.is_on = True

    def looked(self) -> None:
        """Release the next waiting call, or all waiting calls, after a test call has ended."""
        if self._looking:
            self._looking = False
            self._changed.set()
            self._changed = asyncio.Event()
