"""Group commit: combine the database requests that many tasks make within a few milliseconds."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar

Given = TypeVar("Given")
Found = TypeVar("Found")


class Batches(Generic[Given, Found]):
    """Collects requests and passes them to a function in batches; leaving the context passes the last batch.

    The function is called in the event loop's thread, because in another thread, switching the interpreter
    lock at every row would take longer than the work itself.

    Parameters
    ----------
    work
        Function that processes one batch of requests. Returns the results in order, or None.
    enough
        Number of requests at which a batch is processed without waiting for further requests.
    linger
        Seconds for which a batch with fewer requests waits for further ones.
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
        """Add a request, wait until its batch is processed, and return its result.

        Raises
        ------
        Exception
            The exception that `work` raised for the batch.
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
        """Process the remaining requests, even after an error in the block."""
        error = self._flush()
        if error is not None:
            raise error

    def _flush(self) -> Exception | None:
        """Process the waiting requests and resume their tasks.

        Returns the exception that `work` raised, or None.
        """
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
