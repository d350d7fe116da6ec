"""The event loop of a run: uvloop where it is installed, beside a notebook's, which runs already.

And Python's collector of garbage meanwhile.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from types import FrameType
from typing import Any, TypeVar, cast

from oversight.harness.errors import Stopped
from oversight.harness.machine import is_unattended

T = TypeVar("T")


def run_in_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, as `asyncio.run` does; where a loop runs already, in its own thread."""
    return _run_beside(main) if _is_running() else _run(main)


def _is_running() -> bool:
    # By itself, as whatever is raised while an error is handled has that one as its context.
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_beside(main: Coroutine[Any, Any, T]) -> T:
    """In another thread; an interrupt, which only this one hears, stops what is under way there."""
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
    """Have SIGTERM and SIGHUP end the work in order, as Ctrl-C does, unless somebody else attends to them."""
    loop, task, came = (
        asyncio.get_running_loop(),
        cast("asyncio.Task[Any]", asyncio.current_task()),
        list[int](),
    )

    def end(number: int, _: FrameType | None) -> None:
        came.append(number)
        loop.call_soon_threadsafe(task.cancel)

    is_main = threading.current_thread() is threading.main_thread()
    numbers = [signal.SIGTERM, signal.SIGHUP] if is_main else []
    before = {number: signal.signal(number, end) for number in numbers if is_unattended(number)}
    try:
        return await main
    except asyncio.CancelledError:
        if came:
            raise Stopped(came[0]) from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _find_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if find_spec("uvloop") is None:  # not made for this platform
        return None
    import uvloop

    return uvloop.new_event_loop


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Keep the collector from looking through all that was imported, and often: a quarter of a fast run."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
