"""Outages against a clock that the test moves: waited out with single calls, and nobody's fault."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from oversight.harness import FatalModelError, TransientModelError
from oversight.harness.errors import Fault
from oversight.harness.llm import LimitedModel, Limiter, ModelReply, Request
from oversight.harness.types import Usage
from tests.llm.clock import Clock

CALLS = 40


class Endpoint:
    """Answers by what the time and the call say, and takes a moment for it."""

    def __init__(self, clock: Clock, answer: Callable[[float, str], ModelReply]) -> None:
        self.clock, self.answer = clock, answer
        self.asked: list[float] = []

    async def ask(self, request: Request) -> ModelReply:
        self.asked.append(self.clock.now)
        await asyncio.sleep(0)
        return self.answer(self.clock.now, request.conversation)

    async def close(self) -> None:
        """Nothing to close."""


def down(until: float, **error: object) -> Callable[[float, str], ModelReply]:
    def answer(now: float, text: str) -> ModelReply:
        if now < until:
            raise TransientModelError("down", **error)  # type: ignore[arg-type]
        return ModelReply(text, input_tokens=1, output_tokens=1)

    return answer


def ask_all(endpoint: Endpoint, clock: Clock, patience: float, concurrency: int = 8) -> list[str]:
    async def work() -> list[str]:
        limiter = Limiter(concurrency, patience=patience, clock=clock, sleep=clock.sleep)
        model, left, found = LimitedModel(endpoint, limiter), iter(range(CALLS)), list[str]()

        async def worker() -> None:
            for j in left:
                try:
                    found.append((await model.ask(Request.of(str(j)), Usage())).text)
                except TransientModelError as error:
                    found.append(error.fault)

        await asyncio.gather(*(worker() for _ in range(concurrency)))
        return found

    return asyncio.run(work())


@pytest.mark.parametrize(
    "error", [{"fault": Fault.SERVER}, {"fault": Fault.CONNECTION, "sent": False}, {"fault": Fault.TIMEOUT}]
)
@pytest.mark.parametrize("concurrency", [4, 8, 64])
def test_outage_is_bridged_with_few_calls(error: dict[str, object], concurrency: int, clock: Clock) -> None:
    endpoint = Endpoint(clock, down(clock.now + 300, **error))
    assert sorted(ask_all(endpoint, clock, 600, concurrency), key=int) == [str(j) for j in range(CALLS)]
    during = [at for at in endpoint.asked if 1010 < at < 1300]
    assert 5 <= len(during) <= 20
    assert 1300 <= endpoint.asked[-1] <= 1340


def test_a_refused_connection_fails_no_item_even_one_by_one(clock: Clock) -> None:
    endpoint = Endpoint(clock, down(clock.now + 60, fault=Fault.CONNECTION, sent=False))
    assert len(ask_all(endpoint, clock, 600, concurrency=1)) == CALLS
    assert Fault.CONNECTION not in ask_all(endpoint, clock, 600, concurrency=1)


def test_an_outage_longer_than_the_patience_stops(clock: Clock) -> None:
    endpoint = Endpoint(clock, down(float("inf")))
    begun = clock.now
    with pytest.raises(FatalModelError, match=r"no reply for 600 s; last error: down"):
        ask_all(endpoint, clock, 600)
    assert 600 <= clock.now - begun <= 700


def test_without_patience_every_item_fails_at_once(clock: Clock) -> None:
    endpoint = Endpoint(clock, down(float("inf")))
    assert ask_all(endpoint, clock, 0.0) == [Fault.SERVER] * CALLS
    assert len(endpoint.asked) == 5 * CALLS


def test_item_that_always_breaks_the_endpoint_is_not_an_outage(clock: Clock) -> None:
    def answer(now: float, text: str) -> ModelReply:
        if text == str(CALLS - 1):
            raise TransientModelError("broken")
        return ModelReply(text, input_tokens=1, output_tokens=1)

    found = ask_all(Endpoint(clock, answer), clock, 600, concurrency=1)
    assert found.count(Fault.SERVER) == 1
    assert clock.now - 1000 < 60


def test_calls_refused_together_do_not_use_up_their_tries(clock: Clock) -> None:
    endpoint = Endpoint(clock, down(clock.now + 200, fault=Fault.RATE_LIMIT, retry_after=2.0))
    assert Fault.RATE_LIMIT not in ask_all(endpoint, clock, 600, concurrency=32)


def test_only_the_refused_call_waits_for_retry_after(clock: Clock) -> None:
    refused = iter([True])

    def answer(now: float, text: str) -> ModelReply:
        if next(refused, False):
            raise TransientModelError("slow down", fault=Fault.RATE_LIMIT, retry_after=30.0)
        return ModelReply(text, input_tokens=1, output_tokens=1)

    async def work() -> None:
        limiter = Limiter(2, clock=clock, sleep=clock.sleep)
        endpoint = Endpoint(clock, answer)
        model = LimitedModel(endpoint, limiter)
        first = asyncio.create_task(model.ask(Request.of("first"), Usage()))
        await asyncio.sleep(0)
        await model.ask(Request.of("other"), Usage())
        await first
        assert endpoint.asked[1] == 1000
        assert 1030 <= endpoint.asked[2] <= 1033

    asyncio.run(work())


@pytest.mark.parametrize(("takes", "least", "most"), [(40, 0.1, 1.1), (0, 30.0, 33.0)])
def test_under_a_learnt_pace_a_refused_call_lines_up_again_while_others_are_taken(
    takes: int, least: float, most: float, clock: Clock
) -> None:
    limiter = Limiter(16, clock=clock, sleep=clock.sleep)
    for _ in range(8):  # one second of refusals and answers is enough to estimate the rate
        clock.now += 0.125
        limiter.refused(clock.now)
        limiter.succeeded()
    for _ in range(takes):
        limiter.succeeded()
    assert limiter.is_paced is (takes > 0)
    refused = iter([True])

    def answer(now: float, text: str) -> ModelReply:
        if next(refused, False):
            raise TransientModelError("slow down", fault=Fault.RATE_LIMIT, retry_after=30.0)
        return ModelReply(text, input_tokens=1, output_tokens=1)

    endpoint = Endpoint(clock, answer)
    asyncio.run(LimitedModel(endpoint, limiter).ask(Request.of("it"), Usage()))
    first, second = endpoint.asked
    assert least <= second - first <= most
