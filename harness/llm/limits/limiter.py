"""Limits on the calls to an endpoint: a window and a pace, which adapt to its replies.

The window is the number of calls that may be unfinished at once. It follows additive increase, multiplicative
decrease (Chiu & Jain, 1989, Computer Networks 17): each success widens it by one call per window, and each
cluster of refusals halves it, at most once per second. A single refusal affects only its own call. The pace
spaces calls out if a rate is known from the settings, from the endpoint's headers, or from refusals
(`oversight.harness.llm.limits.learned_pace`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from oversight.harness.llm.limits.learned_pace import LearnedPace
from oversight.harness.llm.limits.outage import Outage
from oversight.harness.output import say

LONGEST_PAUSE = 300.0
"""Longest pause in seconds, even if the endpoint asks for a longer one."""

_BURST = 0.1  # seconds' worth of calls that may start at once after a pause
_CATCH_UP = 0.25  # the same under a learned pace, in case this machine was suspended
_WORTH_SAYING = 30.0  # seconds
_SOON = 1e-4  # shorter waits are skipped, in seconds
_BETWEEN = 1.0  # seconds between two halvings of the window


class Limiter:
    """The limits of one model at its endpoint, or of several models that share limits; for one event loop.

    Parameters
    ----------
    concurrency
        Largest number of unfinished calls.
    requests_per_minute, tokens_per_minute
        Known limits; None means no limit.
    patience
        Seconds to wait during an outage; 0 does not wait.
    clock, sleep
        Clock in seconds and sleep function; replaced in tests.

    Attributes
    ----------
    concurrency
        Largest number of unfinished calls.
    window
        Number of calls that may be unfinished at present.
    counts_tokens
        Whether there is a limit on tokens.
    outage
        Tracks whether the endpoint answers at all.
    sleep
        Sleep function.
    """

    def __init__(
        self,
        concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        *,
        patience: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.concurrency, self.window = concurrency, float(concurrency)
        self.counts_tokens = tokens_per_minute is not None
        self.outage = Outage(concurrency, patience, clock, sleep)
        self.sleep = sleep
        self._under_way = 0
        self._narrowed = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._clock = clock
        self._learned, self._longest_reset = LearnedPace(), 0.0
        self._set = requests_per_minute and requests_per_minute / 60
        self._told: float | None = None
        self._requests = _Spacing(self._set)
        self._tokens = _Spacing(tokens_per_minute and tokens_per_minute / 60)
        self._line, self._has_said = asyncio.Lock(), False

    @property
    def is_limited(self) -> bool:
        """Whether the endpoint refuses calls in clusters, or did so recently."""
        return self._learned.is_limited

    @property
    def is_paced(self) -> bool:
        """Whether the endpoint accepts calls and its rate is known from refusals."""
        return self._learned.is_known

    async def acquire(self, tokens: int = 0) -> float:
        """Wait for a free place and for the endpoint's rates. Returns the time at which the call may start.

        Parameters
        ----------
        tokens
            Expected tokens of the call; used only if tokens are limited.
        """
        await self.outage.wait()
        # Waiting calls go first, so that a model with fast calls does not starve another.
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
        if self._requests.rate or self._tokens.rate:
            try:
                await self._take_turn(tokens)
            except asyncio.CancelledError:
                self.release()
                raise
        return self._clock()

    def release(self) -> None:
        """Release a place after a call, whether it succeeded or failed."""
        self._under_way -= 1
        self.outage.looked()
        self._admit()

    def succeeded(self) -> None:
        """Widen the window a little."""
        self.outage.answered()
        was_limited = self.is_limited
        self._learned.succeeded(self._clock(), self._under_way)
        if was_limited:
            self._set_pace()
        if self.window < self.concurrency:
            self.window = min(self.concurrency, self.window + 1 / self.window)
            self._admit()

    def refused(self, started: float) -> None:
        """Record that the endpoint refused a call; a refusal in a cluster halves the window.

        Parameters
        ----------
        started
            Time at which the refused call started. Calls that started before the last halving do not halve
            the window again.
        """
        now = self._clock()
        clustered = self._learned.refused(now, self._under_way)
        self._set_pace()
        if clustered and started >= self._narrowed and now - self._narrowed >= _BETWEEN:
            self.window = max(1.0, self.window / 2)
            self._narrowed = now

    def told(self, limit: float, reset: float) -> None:
        """Use the limit in the endpoint's headers: `limit` requests, available again after `reset` seconds.

        Endpoints count per second, minute or day. `reset` is the time until the window ends or until a bucket
        is full again. The longest reset seen is taken as the length of the window.
        """
        self._longest_reset = max(self._longest_reset, reset)
        if self._longest_reset > 0:
            self._told = max(limit / self._longest_reset, 1 / LONGEST_PAUSE)
            self._set_pace()

    def used(self, expected: int, tokens: int) -> None:
        """Replace the expected tokens of a call, as given to `acquire`, by the tokens that were used."""
        self._tokens.correct(tokens - expected)

    def _set_pace(self) -> None:
        known = [rate for rate in (self._set, self._told, self._learned.rate) if rate]
        rate = min(known, default=None)
        if self._requests.rate is None:
            self._requests.free_at = self._clock()  # no burst, because the saved allowance is used up
        self._requests.rate = rate
        self._requests.burst = _CATCH_UP if rate == self._learned.rate else _BURST

    async def _take_turn(self, tokens: int) -> None:
        """Wait in line, so that a changed pace applies to all waiting calls."""
        async with self._line:
            while True:
                now = self._clock()
                delay = max(self._requests.free_at, self._tokens.free_at) - now
                if delay <= _SOON:
                    break
                if delay > _WORTH_SAYING and not self._has_said:
                    self._has_said = True
                    say(f"the endpoint's rate limit allows the next call in {delay:.0f} s; waiting for it")
                await self.sleep(delay)
            self._requests.book(now, 1)
            self._tokens.book(now, tokens)

    def _admit(self) -> None:
        while self._waiting and self._under_way < max(1, int(self.window)):
            place = self._waiting.popleft()
            if not place.done():
                self._under_way += 1
                place.set_result(None)


class _Spacing:
    """Spaces calls out to keep a rate per second; without a rate (None), it does nothing."""

    def __init__(self, rate: float | None) -> None:
        self.rate, self.free_at, self.burst = rate, 0.0, _BURST

    def book(self, now: float, amount: int) -> None:
        if self.rate:
            self.free_at = max(self.free_at, now - self.burst) + amount / self.rate

    def correct(self, amount: int) -> None:
        if self.rate:
            self.free_at += amount / self.rate
