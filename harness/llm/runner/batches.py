"""Group commit: what many tasks want stored or read within a few milliseconds goes together."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar

Given = TypeVar("Given")
Found = TypeVar("Found")


class Batches(Generic[Given, Found]):
    """Puts single requests through a function of many; a context manager where the last must not be lost.

    The function is called in the event loop's own thread: in another one the two would hand Python's lock
    to and fro at every row, which takes longer than the work.

    Parameters
    ----------
    work
        Called with one batch at a time; it returns what it found for each, in order, or nothing.
    enough
        A batch of so many waits for no more.
    linger
        Seconds that a smaller one waits for more.
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

    async def put(self, item: Given) -> Found:
        """Add one; return when its batch is done.

        Raises
        ------
        Exception
            The one that `work` raised, if it did.
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
        """Work off what has gathered, whatever ended the block."""
        error = self._flush()
        if error is not None:
            raise error

    def _flush(self) -> Exception | None:
        """Work off what has gathered and wake whoever waits for it; return what went wrong."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch, self._waiting = self._waiting, []
        results: list[Any] = [None] * len(batch)
        error = None
        try:
            if batch:
                results = list(self._work([item for item, _ in batch]) or results)
        except Exception as raised:  # noqa: BLE001  whatever it is, everybody who waits must hear of it
            error = raised
        for (_, done), result in zip(batch, results, strict=True):
            if done.done():  # whoever waited was cancelled
                continue
            if error is None:
                done.set_result(result)
            else:
                done.set_exception(error)
        return error
