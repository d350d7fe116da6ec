"""Limits on the calls to an endpoint: a window and a rate, which adapt to the endpoint's replies.

The window is the maximum number of unfinished calls. It follows additive increase, multiplicative decrease
(Chiu & Jain, 1989, Computer Networks 17): a window of n calls grows by one call after n successes, and a
cluster of refusals halves it, at most once per second. A single refusal affects only its own call. Calls are
also spaced out if a rate (calls per second) is known from the settings, from the endpoint's headers, or from
refusals.

While an endpoint refuses calls, it works at its limit, so its successes per second are its rate. Calls are
then spaced out at slightly more than this rate, which uses the rate fully and causes few refusals. Without
refusals, the rate is raised slowly.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable

from oversight.harness.output import say

_LOGGER = logging.getLogger(__name__)
_IN_A_ROW = 16
"""Number of consecutive failures that count as an outage, or 4 · concurrency if that is less."""
_FIRST_TEST, _LONGEST = 1.0, 30.0  # first and longest time between test calls, in seconds


class CircuitBreaker:
    """Detects outages of an endpoint, and delays calls during an outage.

    An instance can be used in only one event loop. During an outage, one test call at a time is made, at
    growing intervals.

    Parameters
    ----------
    concurrency
        Maximum number of unfinished calls.
    patience
        Seconds to wait for the end of an outage; 0 disables the detection of outages.
    clock, sleep
        Clock in seconds and sleep function; replaced in tests.

    Attributes
    ----------
    is_on
        Whether there is an outage now.
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
        self._looking, self._interval = False, _FIRST_TEST
        self._changed = asyncio.Event()

    @property
    def is_too_long(self) -> bool:
        """Whether the endpoint's last answer was more than `patience` seconds ago."""
        silent = 0.0 if self._answered is None else self._clock() - self._answered
        return bool(self.patience) and silent > self.patience

    async def wait(self) -> None:
        """Wait until the outage is over, or until it is this call's turn to be the test call."""
        if self._answered is None:
            self._answered = self._clock()  # before the first answer, an outage is timed from the first call
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
        """Record that the endpoint replied, which ends an outage.

        `refused` is whether the reply is a refusal by the rate limit, which does not count as an answer for
        `is_too_long`.
        """
        if not refused:
            self._answered = self._clock()
        self._failures = 0
        if self._items:
            self._items.clear()
        self.is_on, self._interval = False, _FIRST_TEST

    def failed(self, item: int, *, sent: bool) -> None:
        """Record a failed call whose failure is probably unrelated to its item.

        Parameters
        ----------
        item
            Number that identifies the item. Failures of sent calls indicate an outage only if they concern
            more than one item.
        sent
            Whether the call was sent.
        """
        self._failures += 1
        self._items.add(item)
        if self.patience and self._failures >= self._enough and (len(self._items) > 1 or not sent):
            if not self.is_on:
                _LOGGER.info("the endpoint does not answer; single calls test whether it answers again")
            self.is_on = True

    def looked(self) -> None:
        """Record that a test call has ended, and let the waiting calls check whether the outage is over."""
        if self._looking:
            self._looking = False
            self._changed.set()
            self._changed = asyncio.Event()


_CLUSTER = 0.25  # above this share of refusals among recent calls, a rate limit is assumed
_TOLERATED = 0.1  # above this share of refusals, the rate is measured again
_RARE = 0.015  # the rate is raised if there are at most this many refusals per success
_GREED = 1.03  # the used rate is the measured rate times this factor
# fraction by which one measurement raises the rate: least initial value, and maximum
_GROWTH, _FASTEST = 0.1, 0.5
# After this many refusals in a row and at least this many seconds without a success, the rate is not trusted.
_IN_VAIN, _A_WHILE = 8, 0.1
# minimum seconds of the first measurement and of later ones; maximum seconds of any measurement
_FIRST, _LOOK, _LONGEST_LOOK = 0.25, 0.75, 10.0
_FEW, _ENOUGH = 4, 8  # minimum successes in the first measurement; minimum calls in later ones
_UNUSED = 4.0  # a limit above this multiple of the measured rate is dropped, because it has no effect


class AdaptiveRateLimit:
    """Estimates the rate at which one endpoint accepts calls, from its successes and refusals.

    Attributes
    ----------
    rate
        Estimated calls per second; None while no rate limit is known.
    is_limited
        Whether many recent calls were refused, which indicates a rate limit.
    """

    def __init__(self) -> None:
        self.rate: float | None = None
        self._share = 0.0
        self.is_limited = False
        self._since = self._last = 0.0
        self._good = self._bad = 0
        self._in_vain, self._taken = 0, 0.0
        self._growth = _GROWTH

    @property
    def is_known(self) -> bool:
        """Whether a rate is known, and the endpoint has accepted calls recently."""
        if self.rate is None:
            return False
        return self._in_vain < _IN_VAIN or self._last - self._taken < max(_A_WHILE, 3 / self.rate)

    @property
    def is_clustered(self) -> bool:
        """Whether the share of refusals among recent calls is too high to be chance."""
        return self._share > _CLUSTER

    def succeeded(self, now: float, under_way: float) -> None:
        """Record a success at time `now`; `under_way` is the number of unfinished calls."""
        self._share -= self._share / max(16.0, under_way)
        self._in_vain, self._taken = 0, now
        if self.is_limited:
            self._count(now)
            self._good += 1
            self._look(now)

    def refused(self, now: float, under_way: float) -> bool:
        """Record a refusal. Returns whether it is one of many recent refusals (a cluster)."""
        was_clustered = self.is_clustered
        self._share += (1 - self._share) / max(16.0, under_way)
        self._in_vain += 1
        if self.is_clustered and not (was_clustered and self.is_limited):
            # Start measuring only now, because earlier calls may have used an allowance for bursts.
            self.is_limited = True
            self._begin(now)
        if self.is_limited:
            self._count(now)
            self._bad += 1
            self._look(now)
        return self.is_clustered

    def _begin(self, now: float) -> None:
        self._since = self._last = now
        self._good = self._bad = 0

    def _count(self, now: float) -> None:
        """Record that a call ended; after a long time without calls, start a new measurement of the rate."""
        if now - self._last > max(_FIRST, 3 / self.rate if self.rate else 0.0):
            if self._last - self._since >= _FIRST and self._good + self._bad >= _ENOUGH:
                self._conclude(self._last)
            self._begin(now)
        self._last = now

    def _look(self, now: float) -> None:
        """Update the rate if the current measurement has lasted long enough."""
        seconds, calls = now - self._since, self._good + self._bad
        is_first = self.rate is None and self._good >= _FEW and seconds >= _FIRST
        enough = _FIRST if self.is_clustered else _LOOK
        if is_first or (seconds >= enough and (calls >= _ENOUGH or seconds >= _LONGEST_LOOK)):
            self._conclude(now)
            self._begin(now)

    def _conclude(self, now: float) -> None:
        taken = self._good / (now - self._since)
        if not self._good:
            self.rate = self.rate and max(1.0, self.rate / 2)
        elif self.rate is None or self._bad > _TOLERATED * (self._good + self._bad):
            # A rate estimated from few successful calls can be far too low, so let it grow faster.
            self._growth = max(_GROWTH, self._good**-0.5)
            # The rate is at most halved, because the machine may have been suspended during the measurement.
            self.rate = max(_GREED * taken, (self.rate or 0.0) / 2)
        elif self._bad <= _RARE * self._good:
            self.rate *= 1 + self._growth
            self._growth = min(_FASTEST, 2 * self._growth)
            if self.rate > _UNUSED * taken:
                self.rate, self.is_limited = None, False


LONGEST_PAUSE = 300.0
"""Maximum pause in seconds, even if the endpoint asks for a longer pause."""

_BURST = 0.1  # seconds: after a pause, as many calls may start at once as the rate allows in this time
_CATCH_UP = 0.25  # value of _BURST if the rate was learned from refusals
_WORTH_SAYING = 30.0  # a message is printed before a wait of more than this many seconds
_SOON = 1e-4  # shorter waits, in seconds, are skipped
_BETWEEN = 1.0  # minimum seconds between two halvings of the window


class Limiter:
    """Limits the calls of one or several models that share an endpoint's limits.

    An instance can be used in only one event loop.

    Parameters
    ----------
    concurrency
        Largest number of unfinished calls.
    requests_per_minute, tokens_per_minute
        Limits from the settings; None means no limit.
    patience
        Seconds to wait for the end of an outage; 0 disables the detection of outages.
    clock, sleep
        Clock in seconds and sleep function; replaced in tests.

    Attributes
    ----------
    concurrency
        Maximum number of unfinished calls.
    window
        Current maximum number of unfinished calls, between 1 and `concurrency`.
    counts_tokens
        Whether there is a limit on tokens per minute.
    outage
        Detects outages of the endpoint.
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
        self.outage = CircuitBreaker(concurrency, patience, clock, sleep)
        self.sleep = sleep
        self._under_way = 0
        self._narrowed = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._clock = clock
        self._learned, self._longest_reset = AdaptiveRateLimit(), 0.0
        self._set = requests_per_minute and requests_per_minute / 60
        self._told: float | None = None
        self._requests = _Spacing(self._set)
        self._tokens = _Spacing(tokens_per_minute and tokens_per_minute / 60)
        self._line, self._has_said = asyncio.Lock(), False

    @property
    def is_limited(self) -> bool:
        """Whether many recent calls were refused, which indicates a rate limit."""
        return self._learned.is_limited

    @property
    def is_paced(self) -> bool:
        """Whether the endpoint has recently accepted calls and its rate was learned from refusals."""
        return self._learned.is_known

    async def acquire(self, tokens: int = 0) -> float:
        """Wait until window and rates allow another call. Returns the time after waiting, by `clock`.

        Parameters
        ----------
        tokens
            Expected tokens of the call, sent and received; used only if tokens are limited.
        """
        await self.outage.wait()
        # Calls wait in order of arrival, so that a model with fast calls does not block other models.
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
        """Record that a call has ended, whether it succeeded or failed; call this after each `acquire`."""
        self._under_way -= 1
        self.outage.looked()
        self._admit()

    def succeeded(self) -> None:
        """Record a successful call, and increase the window of n calls by 1 / n."""
        self.outage.answered()
        was_limited = self.is_limited
        self._learned.succeeded(self._clock(), self._under_way)
        if was_limited:
            self._set_pace()
        if self.window < self.concurrency:
            self.window = min(self.concurrency, self.window + 1 / self.window)
            self._admit()

    def refused(self, started: float) -> None:
        """Record that the endpoint refused a call; if many recent calls were refused, halve the window.

        Parameters
        ----------
        started
            Value that `acquire` returned for the call. Calls that started before the last halving do not
            halve the window again.
        """
        now = self._clock()
        clustered = self._learned.refused(now, self._under_way)
        self._set_pace()
        if clustered and started >= self._narrowed and now - self._narrowed >= _BETWEEN:
            self.window = max(1.0, self.window / 2)
            self._narrowed = now

    def told(self, limit: float, reset: float) -> None:
        """Use the rate limit in the endpoint's headers: `limit` requests, reset after `reset` seconds.

        The headers do not contain the length of the endpoint's time window (a second, minute or day). It is
        estimated by the largest `reset` so far, because `reset` is at most the whole window.
        """
        self._longest_reset = max(self._longest_reset, reset)
        if self._longest_reset > 0:
            self._told = max(limit / self._longest_reset, 1 / LONGEST_PAUSE)
            self._set_pace()

    def used(self, expected: int, tokens: int) -> None:
        """Replace the number of tokens that `acquire` expected for a call with the number actually used."""
        self._tokens.correct(tokens - expected)

    def _set_pace(self) -> None:
        known = [rate for rate in (self._set, self._told, self._learned.rate) if rate]
        rate = min(known, default=None)
        if self._requests.rate is None:
            self._requests.free_at = self._clock()  # no burst, because earlier calls used up the allowance
        self._requests.rate = rate
        self._requests.burst = _CATCH_UP if rate == self._learned.rate else _BURST

    async def _take_turn(self, tokens: int) -> None:
        """Wait until the rates allow the call; calls wait in line, so a new rate applies to all of them."""
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
    """Spaces out calls to keep a rate per second; does nothing if the rate is None."""

    def __init__(self, rate: float | None) -> None:
        self.rate, self.free_at, self.burst = rate, 0.0, _BURST

    def book(self, now: float, amount: int) -> None:
        if self.rate:
            self.free_at = max(self.free_at, now - self.burst) + amount / self.rate

    def correct(self, amount: int) -> None:
        if self.rate:
            self.free_at += amount / self.rate
