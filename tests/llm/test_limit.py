"""The limiter against a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest

from oversight.harness.llm import Limiter
from oversight.harness.llm.models.chat_completions import read_limits, retry_after
from tests.llm.clock import Clock


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def refuse(limiter: Limiter, clock: Clock, times: int) -> None:
    for _ in range(times):
        limiter.refused(clock.now)


def test_a_lone_refusal_changes_nothing(clock: Clock) -> None:
    async def work() -> None:
        limiter = Limiter(16, clock=clock, sleep=clock.sleep)
        for _ in range(50):  # 4 % of the calls
            limiter.refused(await limiter.acquire())
            limiter.release()
            for _ in range(24):
                await limiter.acquire()
                limiter.succeeded()
                limiter.release()
        assert limiter.window == 16
        assert not limiter.is_limited
        assert clock.now == 1000.0  # nobody waited

    run(work())


def test_a_cluster_of_refusals_halves_the_window_once_a_second_and_successes_widen_it(clock: Clock) -> None:
    limiter = Limiter(16, clock=clock, sleep=clock.sleep)
    refuse(limiter, clock, 16)
    assert limiter.window == 8
    started = clock.now
    clock.now += 1
    limiter.refused(started - 1)  # a refusal of a call that started before the window was narrowed
    assert limiter.window == 8
    refuse(limiter, clock, 16)
    assert limiter.window == 4
    for _ in range(400):
        limiter.succeeded()
    assert limiter.window == 16


@pytest.mark.parametrize("rate", [20.0, 60.0, 300.0])
@pytest.mark.parametrize("burst", [0.0, 1.0])
def test_the_pace_is_learnt_from_refusals(rate: float, burst: float, clock: Clock) -> None:
    """The endpoint is a token bucket that does not report its rate; a call takes almost no time."""

    async def work() -> None:
        limiter = Limiter(1, clock=clock, sleep=clock.sleep)
        tokens, filled, good, refused = rate * burst, clock.now, 0, 0
        begun = clock.now
        while good < 15 * rate:
            started = await limiter.acquire()
            clock.now += 0.001
            tokens, filled = min(rate, tokens + rate * (clock.now - filled)), clock.now
            if tokens >= 1:
                tokens, good = tokens - 1, good + 1
                limiter.succeeded()
            else:
                refused += 1
                limiter.refused(started)
            limiter.release()
        assert clock.now - begun <= 1.15 * (15 - burst)
        assert refused <= 600 + 0.15 * good  # calls were sent without pauses at the beginning

    run(work())


def test_a_pace_that_the_endpoint_states_is_kept_from_then_on(clock: Clock) -> None:
    async def work() -> None:
        limiter = Limiter(64, clock=clock, sleep=clock.sleep)
        limiter.told(1200, 0.05)  # reported after a pause: the allowance is nearly full
        limiter.told(1200, 60.0)
        begun = clock.now
        for _ in range(201):
            await limiter.acquire()
            limiter.release()
        assert 9.8 <= clock.now - begun <= 10.1  # 20 a second

    run(work())


def test_no_more_calls_are_under_way_than_the_window(clock: Clock) -> None:
    async def work() -> None:
        limiter = Limiter(8, clock=clock, sleep=clock.sleep)
        refuse(limiter, clock, 16)
        clock.now += 1
        refuse(limiter, clock, 16)
        limiter.succeeded()
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
        assert 119 <= clock.now - begun <= 121  # one call per second, and no burst at the start

    run(work())


def test_expected_tokens_are_replaced_by_used_tokens(clock: Clock) -> None:
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


@pytest.mark.parametrize(
    ("limit", "reset", "read"),
    [
        ("5000", "12ms", (5000.0, 0.012)),
        ("14400", "6m0.5s", (14400.0, 360.5)),
        ("20", "1", (20.0, 1.0)),
        ("20", "soon", None),
        ("many", "1s", None),
        ("", "", None),
    ],
)
def test_stated_limits_are_read(limit: str, reset: str, read: tuple[float, float] | None) -> None:
    headers = {"x-ratelimit-limit-requests": limit, "x-ratelimit-reset-requests": reset}
    assert read_limits(headers) == read


@pytest.mark.parametrize(
    ("reset", "seconds"),
    [
        ("1764133260", 60.0),
        ("1764133260000", 60.0),
        ("1764133260000000", 60.0),
        ("2025-11-26T05:01:00Z", 60.0),
        ("2025-11-26T05:01:00", 60.0),
        ("60", 60.0),
        ("1m0s", 60.0),
        ("99999999", None),
        ("1864133260", None),
        ("1764133100", None),
    ],
)
def test_reset_given_as_a_date_is_read_as_a_duration(reset: str, seconds: float | None) -> None:
    now = datetime(2025, 11, 26, 5, 0, tzinfo=UTC)
    headers = {"x-ratelimit-limit-requests": "10", "x-ratelimit-reset-requests": reset}
    found = read_limits(headers, now)
    assert found == (None if seconds is None else (10.0, seconds))


def test_waits_for_a_reported_limit_are_bounded_and_announced(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    async def ask() -> float:
        limiter = Limiter(4, clock=clock, sleep=clock.sleep)
        limiter.told(1, 86_400)
        started = clock.now
        for _ in range(2):
            await limiter.acquire()
            limiter.release()
        return clock.now - started

    assert asyncio.run(ask()) <= 600
    assert capsys.readouterr().err.count("rate limit allows the next call in") == 1
