"""The limiter against a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest

from harness.llm import Limiter
from harness.llm.limits.limiter import LONGEST_PAUSE
from harness.llm.models.chat_completions import retry_after


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_an_overload_halves_the_window_once_per_window_of_calls(clock: Clock) -> None:
    async def work() -> None:
        limiter = Limiter(16, clock=clock, sleep=clock.sleep)
        started = [await limiter.acquire() for _ in range(4)]
        clock.now += 1
        for start in started:
            limiter.overloaded(start, None)
        assert limiter.window == 8  # four refusals of one window are one overload
        limiter.overloaded(clock.now, None)
        assert limiter.window == 4
        for _ in range(400):
            limiter.succeeded()
        assert limiter.window == 16

    run(work())


def test_no_more_calls_are_under_way_than_the_window(clock: Clock) -> None:
    async def work() -> None:
        limiter = Limiter(8, clock=clock, sleep=clock.sleep)
        limiter.overloaded(clock.now, None)
        limiter.overloaded(clock.now, None)
        running = most = 0

        async def call() -> None:
            nonlocal running, most
            await limiter.acquire()
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            limiter.release()

        await asyncio.gather(*(call() for _ in range(50)))
        assert most == 2

    run(work())


def test_a_cancelled_waiter_leaves_its_place_to_the_next(clock: Clock) -> None:
    async def work() -> None:
        limiter = Limiter(1, clock=clock, sleep=clock.sleep)
        await limiter.acquire()
        first = asyncio.create_task(limiter.acquire())
        second = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0)
        first.cancel()
        limiter.release()
        await second
        assert first.cancelled() or first.cancelling()

    run(work())


def test_retry_after_pauses_the_whole_endpoint(clock: Clock) -> None:
    async def work() -> None:
        limiter = Limiter(4, clock=clock, sleep=clock.sleep)
        start = await limiter.acquire()
        limiter.overloaded(start, 7.0)
        limiter.release()
        assert await limiter.acquire() >= start + 7.0
        limiter.overloaded(clock.now, 10_000.0)
        limiter.release()
        before = clock.now
        assert await limiter.acquire() <= before + LONGEST_PAUSE + 1e-9

    run(work())


@pytest.mark.parametrize(("requests", "tokens", "per_call"), [(60, None, 0), (None, 6_000, 100)])
def test_known_rates_are_kept(
    requests: float | None, tokens: float | None, per_call: int, clock: Clock
) -> None:
    async def work() -> None:
        limiter = Limiter(100, requests, tokens, clock=clock, sleep=clock.sleep)
        begun = clock.now
        for _ in range(121):
            await limiter.acquire(per_call)
            limiter.release()
        assert 118 <= clock.now - begun <= 121  # one a second, with a second's worth in the bucket

    run(work())


def test_tokens_are_corrected_by_what_was_used(clock: Clock) -> None:
    async def work() -> None:
        limiter = Limiter(1, None, 6_000, clock=clock, sleep=clock.sleep)
        begun = clock.now
        for _ in range(61):
            await limiter.acquire(1_000)
            limiter.used(1_000, 100)
            limiter.release()
        assert clock.now - begun <= 70

    run(work())


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("Sat, 21 Nov 2026 12:00:30 GMT", 30.0),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-3", None),
        ("", None),
    ],
)
def test_retry_after_is_read_in_both_forms(value: str, seconds: float | None) -> None:
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert retry_after({"retry-after": value}, now) == seconds
