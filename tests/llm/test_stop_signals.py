"""A run notices every signal to stop, also one that arrives at its very end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from oversight.harness.errors import Stopped
from oversight.harness.llm import run_in_loop
from oversight.harness.llm.runner.event_loop import on_stop_signals

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def _as_in_a_new_process() -> Iterator[None]:
    """Restore default handlers: a command that was stopped in this process ignores later signals."""
    before = [signal.signal(number, signal.SIG_DFL) for number in SIGNALS]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in zip(SIGNALS, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_in_the_last_moment_is_reported(number: signal.Signals) -> None:
    async def work() -> list[int]:
        with on_stop_signals(lambda _: None) as came:
            os.kill(os.getpid(), number)
        return came

    before = signal.getsignal(number)
    assert run_in_loop(work()) == [number]
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_wakes_a_loop_that_waits(number: signal.Signals, capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> list[float]:
        given = asyncio.Queue[float]()
        with on_stop_signals(given.put_nowait):
            asyncio.get_running_loop().run_in_executor(None, os.kill, os.getpid(), number)
            first = await asyncio.wait_for(given.get(), 60)
            os.kill(os.getpid(), number)
            return [first, await asyncio.wait_for(given.get(), 60)]

    assert run_in_loop(work()) == [10.0, 0.0]
    assert capsys.readouterr().err.count("have 10 s to finish") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_loop_in_order(number: signal.Signals) -> None:
    ended = list[str]()

    async def work() -> None:
        os.kill(os.getpid(), number)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("stored")

    with pytest.raises(Stopped) as stopped:
        run_in_loop(work())
    assert (ended, stopped.value.exit_code) == (["stored"], 128 + number)
