"""The event loop of a run, and stop signals; after the first signal, unfinished calls may still finish."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from types import FrameType
from typing import Any, TypeVar, cast

from oversight.harness.errors import Stopped
from oversight.harness.output import say
from oversight.harness.platform import is_unattended

T = TypeVar("T")

DRAIN = 10.0
"""Seconds that unfinished calls have to finish after a run is stopped."""


def run_in_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine as `asyncio.run` does; if a loop is running in this thread, use another thread."""
    return _run_beside(main) if _is_running() else _run(main)


def _is_running() -> bool:
    # This is a separate function so that the RuntimeError does not become the context of a run's exceptions.
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_beside(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in another thread; a KeyboardInterrupt in this thread cancels the coroutine."""
    started = list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]]()

    async def begin() -> T:
        started.append((asyncio.get_running_loop(), asyncio.current_task()))
        return await main

    with ThreadPoolExecutor(1) as beside:
        work = beside.submit(_run, begin())
        try:
            return work.result()
        except KeyboardInterrupt:
            for loop, task in started:
                if task is not None and not work.done():
                    loop.call_soon_threadsafe(task.cancel)
            raise


def _run(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=_find_loop()) as runner:
        return runner.run(_stoppable(main))


async def _stoppable(main: Coroutine[Any, Any, T]) -> T:
    """Cancel the work and raise `Stopped` at SIGTERM or SIGHUP, unless other code handles these signals."""
    loop, came = asyncio.get_running_loop(), list[int]()
    task = cast("asyncio.Task[Any]", asyncio.current_task())

    def end(number: int, _: FrameType | None) -> None:
        came.append(number)
        loop.call_soon_threadsafe(task.cancel)

    with _handling((signal.SIGTERM, signal.SIGHUP), end):
        try:
            return await main
        except asyncio.CancelledError:
            if came:
                raise Stopped(came[0]) from None
            raise


def _find_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if find_spec("uvloop") is None:  # uvloop is optional, and not available on every platform
        return None
    import uvloop

    return uvloop.new_event_loop


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """During the block, collect garbage rarely and only among new objects, to speed up fast runs."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextmanager
def on_stop_signals(stop: Callable[[float], None]) -> Iterator[list[int]]:
    """Call `stop` at each stop signal, with the seconds left to finish. Yields the received signals.

    Works only in the main thread, and only for signals that no other code handles. The previous handlers are
    restored at the end.
    """
    came: list[int] = []
    loop = asyncio.get_running_loop()

    def receive() -> None:
        stop(0.0 if len(came) > 1 else DRAIN)
        if len(came) == 1:
            say(f"\nstopping; unfinished calls have {DRAIN:.0f} s to finish; Ctrl-C again stops at once")

    def note(number: int, _: FrameType | None) -> None:
        # Record the signal at once, because a loop that is about to end may never call receive().
        came.append(number)
        loop.call_soon_threadsafe(receive)

    with _handling((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), note):
        yield came


@contextmanager
def _handling(
    numbers: Iterable[signal.Signals], handle: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Call `handle` at these signals, except for signals that other code handles."""
    before = {number: signal.signal(number, handle) for number in numbers if _is_free(number)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_free(number: signal.Signals) -> bool:
    if threading.current_thread() is not threading.main_thread():
        return False
    now = signal.getsignal(number)
    of_asyncio = getattr(getattr(now, "func", None), "__module__", None) == "asyncio.runners"
    of_loop = getattr(now, "__module__", None) == __name__
    return is_unattended(number) or of_asyncio or of_loop
