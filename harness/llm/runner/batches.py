"""Group commit: store or read together the values that many tasks request within a few milliseconds."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar

Given = TypeVar("Given")
Found = TypeVar("Found")


class Batches(Generic[Given, Found]):
    """Passes single requests to a function in batches; use it as a context manager to process the last ones.

    The function is called in the event loop's thread. In another thread, Python's interpreter lock would
    change hands at every row, which takes longer than the work itself.

    Parameters
    ----------
    work
        Called with one batch at a time. Returns the results in order, or None.
    enough
        Size from which a batch is processed without delay.
    linger
        Seconds that a smaller batch waits for more requests.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Given]], Sequence[Found] | None],
        enough: int = sys.maxsize,
        linger: float = 0.003,
    ) -> None:
        self._work, self._enough, self._linger = work, enough, linger
        self._waiting: list[tuple[Given, asyncio.Future[Found]]] = []
        self._timer: asyncio.TimerHandle | None = None

    async def add_request(self, item: Given) -> Found:
        """Add a request, and return its result when its batch is processed.

        Raises
        ------
        Exception
            The exception that `work` raised, if any.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Found] = loop.create_future()
        self._waiting.append((item, done))
        if len(self._waiting) >= self._enough:
            self._flush()
        elif self._timer is None:
            self._timer = loop.call_later(self._linger, self._flush)
        return await done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Process the remaining requests when the block ends, with or without an error."""
        error = self._flush()
        if error is not None:
            raise error

    def _flush(self) -> Exception | None:
        """Process the waiting requests and wake their tasks. Returns the exception, if any."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch, self._waiting = self._waiting, []
        results: list[Any] = [None] * len(batch)
        error = None
        try:
            if batch:
                results = list(self._work([item for item, _ in batch]) or results)
        except Exception as raised:  # noqa: BLE001  all waiting tasks must receive any exception
            error = raised
        for (_, done), result in zip(batch, results, strict=True):
            if done.done():  # a waiting task was cancelled
                continue
            if error is None:
                done.set_result(result)
            else:
                done.set_exception(error)
        return error
