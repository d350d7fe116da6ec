"""How many calls an endpoint takes: a window that follows what it says, and known rates.

The window is additive increase, multiplicative decrease (Chiu & Jain, 1989, Computer Networks 17): each
success widens it by one call per window, each overload halves it, once per window of calls. Rates are
kept by spacing calls out, which is right only where a rate is known; without one the window suffices.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

LONGEST_PAUSE = 300.0
"""Seconds; an endpoint that asks for more is asked again after this long."""

_BURST = 1.0  # seconds' worth of calls that may go out at once
_SOON = 1e-4  # seconds not worth sleeping for


class Limiter:
    """The limits of one endpoint, shared by all models behind it; for one event loop.

    Parameters
    ----------
    concurrency
        Most calls under way at once.
    requests_per_minute, tokens_per_minute
        Known limits; None has none.
    clock, sleep
        Seconds that pass; others for tests.

    Attributes
    ----------
    concurrency
        Most calls under way at once.
    window
        Calls that may be under way at once, as of now.
    counts_tokens
        Whether there is a limit on tokens.
    """

    def __init__(
        self,
        concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.concurrency, self.window = concurrency, float(concurrency)
        self.counts_tokens = tokens_per_minute is not None
        self._under_way = 0
        self._narrowed = clock()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._clock, self._sleep = clock, sleep
        self._requests, self._tokens = _Pace(requests_per_minute), _Pace(tokens_per_minute)
        self._not_before = 0.0

    async def acquire(self, tokens: int = 0) -> float:
        """Wait for a place and for the endpoint's rates; return when the call starts.

        Parameters
        ----------
        tokens
            Tokens the call is expected to use; only matters with a limit on them.
        """
        # Whoever waits goes first, so that no model starves behind another's quick calls.
        if self._waiting or self._under_way >= max(1, int(self.window)):
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():
                    self.release()
                raise
        else:
            self._under_way += 1
        try:
            delay = self._delay(tokens)
            while delay > _SOON:
                await self._sleep(delay)
                delay = self._not_before - self._clock()  # told to pause while waiting
        except asyncio.CancelledError:
            self.release()
            raise
        return self._clock()

    def release(self) -> None:
        """Give a place back, whatever came of the call."""
        self._under_way -= 1
        self._admit()

    def succeeded(self) -> None:
        """Widen the window a little."""
        if self.window < self.concurrency:
            self.window = min(self.concurrency, self.window + 1 / self.window)
            self._admit()

    def overloaded(self, started: float, retry_after: float | None) -> None:
        """Halve the window, and pause if the endpoint asked for it.

        Parameters
        ----------
        started
            When the refused call started; those that started before the last halving do not count
            again.
        retry_after
            Seconds that the endpoint asked to wait.
        """
        now = self._clock()
        if started >= self._narrowed:
            self.window = max(1.0, self.window / 2)
            self._narrowed = now
        if retry_after is not None:
            self._not_before = max(self._not_before, now + min(retry_after, LONGEST_PAUSE))

    def used(self, expected: int, tokens: int) -> None:
        """Correct what `acquire` was told by the tokens that were used."""
        self._tokens.correct(tokens - expected)

    def _delay(self, tokens: int) -> float:
        now = self._clock()
        start = max(self._requests.next(now, 1), self._tokens.next(now, tokens), self._not_before)
        return start - now

    def _admit(self) -> None:
        while self._waiting and self._under_way < max(1, int(self.window)):
            place = self._waiting.popleft()
            if not place.done():
                self._under_way += 1
                place.set_result(None)


class _Pace:
    """A rate per minute, kept by spacing out (a leaky bucket that holds one second)."""

    def __init__(self, per_minute: float | None) -> None:
        self._seconds = 60 / per_minute if per_minute else 0.0
        self._free_at = 0.0

    def next(self, now: float, amount: int) -> float:
        """Book `amount` and return from when on it may be used."""
        if not self._seconds:
            return now
        start = max(self._free_at, now - _BURST)
        self._free_at = start + amount * self._seconds
        return max(now, start)

    def correct(self, amount: int) -> None:
        self._free_at += amount * self._seconds
