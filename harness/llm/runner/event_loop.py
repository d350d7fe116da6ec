"""The event loop of a run: uvloop where it is installed, which takes less time for each call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from typing import Any, TypeVar

T = TypeVar("T")


def run_in_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, as `asyncio.run` does."""
    with asyncio.Runner(loop_factory=_find_loop()) as runner:
        return runner.run(main)


def _find_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if find_spec("uvloop") is None:  # not made for this platform
        return None
    import uvloop

    return uvloop.new_event_loop
