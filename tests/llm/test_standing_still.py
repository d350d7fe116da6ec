"""A limited endpoint, and a machine that stands still at times, as busy ones do: the rate is used."""

from __future__ import annotations

import asyncio
import random
import selectors
from statistics import mean, median

import pytest

from oversight.harness.errors import Fault, TransientModelError
from oversight.harness.llm import LimitedModel, Limiter, ModelReply, Request
from oversight.harness.llm.models import limited_model
from oversight.harness.types import Usage

SECONDS, LATENCY, WORKERS = 6.0, 0.05, 64


class HaltingLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes at once where it waits, and at times beyond what it waits for."""

    def __init__(self, draw: random.Random, share: float, seconds: float) -> None:
        self.now, self._select = 1000.0, selectors.SelectSelector()
        super().__init__(self._select)
        self._really = self._select.select
        self._draw, self._between, self._seconds = draw, seconds / share if share else float("inf"), seconds
        self._halt = self._next()
        self._select.select = self._pass  # type: ignore[method-assign]

    def time(self) -> float:
        return self.now

    def _next(self) -> float:
        return self.now + self._between * self._draw.expovariate(1.0)

    def _pass(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += 1e-4 + (timeout or 0.0)
        if self.now >= self._halt:
            self.now += self._seconds * self._draw.expovariate(1.0)
            self._halt = self._next()
        return self._really(0)


class Endpoint:
    """Accepts `rate` calls per second, with a burst of one second's calls; it does not report its limit."""

    def __init__(self, rate: float, loop: HaltingLoop) -> None:
        self._rate, self._loop = rate, loop
        self._left, self._counted = rate, loop.now
        self.last, self.refused = 0.0, 0

    async def ask(self, _: Request) -> ModelReply:
        now = self._loop.now
        self._left = min(self._rate, self._left + (now - self._counted) * self._rate)
        self._counted = now
        taken = self._left >= 1
        self._left -= taken
        await asyncio.sleep(LATENCY)
        if not taken:
            self.refused += 1
            raise TransientModelError("HTTP 429", fault=Fault.RATE_LIMIT, retry_after=1.0)
        self.last = now
        return ModelReply("B", "stop", 50, 1)

    async def close(self) -> None:
        """Nothing is open."""


def take(rate: int, seed: int, share: float, seconds: float) -> tuple[float, int]:
    """Time over the least possible, and how many calls were refused."""
    draw = random.Random(seed)  # noqa: S311  not for secrets
    limited_model._random.seed(seed)  # noqa: SLF001  so that pauses are the same every time
    with asyncio.Runner(loop_factory=lambda: HaltingLoop(draw, share, seconds)) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, HaltingLoop)
        endpoint, begun = Endpoint(rate, loop), loop.now
        limiter = Limiter(WORKERS, patience=600.0, clock=loop.time)
        model, todo = LimitedModel(endpoint, limiter, 20), iter(range(round(rate * (1 + SECONDS))))

        async def work() -> None:
            for _ in todo:
                await model.ask(Request.of("?"), Usage())

        async def all_of_them() -> None:
            await asyncio.gather(*(work() for _ in range(WORKERS)))

        runner.run(all_of_them())
    return (endpoint.last - begun) / SECONDS, endpoint.refused


@pytest.mark.parametrize(("rate", "most_refused"), [(20, 150), (60, 115), (300, 200)])
@pytest.mark.parametrize(("share", "seconds", "seeds"), [(0.0, 0.0, 2), (0.5, 0.1, 20)])
def test_rate_limit_is_used_fully_even_if_the_machine_stalls(
    rate: int, most_refused: int, share: float, seconds: float, seeds: int
) -> None:
    times, refused = zip(*(take(rate, seed, share, seconds) for seed in range(seeds)), strict=True)
    assert mean(times) <= (1.07 if share else 1.015)
    assert sorted(times)[int(0.9 * seeds)] <= (1.17 if share else 1.015)
    assert median(refused) <= most_refused
