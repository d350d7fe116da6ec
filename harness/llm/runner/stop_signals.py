"""Stop signals while models are asked: the first lets what is under way come, the second does not."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from oversight.harness.machine import is_unattended
from oversight.harness.output import say

DRAIN = 10.0
"""Seconds that what is under way has when a run is stopped."""


@contextmanager
def on_stop_signals(stop: Callable[[float], None]) -> Iterator[list[int]]:
    """Call `stop` with the seconds left at each signal; yield the numbers of those that came.

    Only in the main thread, where signals arrive, and only for those that nobody else attends to; afterwards
    they do what they did before.
    """
    came: list[int] = []
    loop = asyncio.get_running_loop()

    def receive() -> None:
        stop(0.0 if len(came) > 1 else DRAIN)
        if len(came) == 1:
            say(f"\nstopping; what is under way has {DRAIN:.0f} s to come, once more stops at once")

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)  # not in receive, which the loop may never call if it is about to end
        loop.call_soon_threadsafe(receive)

    attended = [number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if _is_free(number)]
    before = [signal.signal(number, note) for number in attended]
    try:
        yield came
    finally:
        for number, handler in zip(attended, before, strict=True):
            signal.signal(number, handler)


def _is_free(number: signal.Signals) -> bool:
    if threading.current_thread() is not threading.main_thread():
        return False
    now = signal.getsignal(number)
    of_asyncio = getattr(getattr(now, "func", None), "__module__", None) == "asyncio.runners"
    of_loop = getattr(now, "__module__", None) == "oversight.harness.llm.runner.event_loop"
    return is_unattended(number) or of_asyncio or of_loop
