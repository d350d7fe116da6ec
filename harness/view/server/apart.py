"""Work beside the event loop, which whoever ends the server does not wait for."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def run_apart(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The value of a function that runs in a thread of its own.

    A pool's threads are waited for when the program ends: minutes, where a database is locked or a large
    study is computed. This one is left behind.
    """
    loop = asyncio.get_running_loop()
    found = loop.create_future()

    def work() -> None:
        try:
            value = function(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001  it is raised where it is awaited
            say(found.set_exception, error)
        else:
            say(found.set_result, value)

    def say(settle: Callable[..., None], outcome: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(lambda: None if found.done() else settle(outcome))

    threading.Thread(target=work, name="view", daemon=True).start()
    done: T = await found
    return done
