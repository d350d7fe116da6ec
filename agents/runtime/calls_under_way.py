"""Calls by key while they are made, each in a task of its own; once that has ended, no more are sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from oversight.agents.runtime.run_account import RequestAccount
from oversight.harness import FatalModelError, OversightError
from oversight.harness.llm import Model, ModelReply, Request, Reservation


class NotSent(OversightError):
    """A call was not sent, as no more calls are to be made."""


class CallsUnderWay:
    """The calls that are being made.

    A call waits for its turn, is out, and is stored; between two tries it waits again. Once `end` was called,
    those that wait raise, and those that are out are stored as ever: they are paid for.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[ModelReply]] = {}
        self._kept_on: set[asyncio.Task[Any]] = set()
        self._end: FatalModelError | NotSent | None = None

    def find(self, key: str) -> asyncio.Task[ModelReply] | None:
        """The task that makes a call; None if none does."""
        return self._tasks.get(key)

    def start(self, key: str, making: Coroutine[Any, Any, ModelReply]) -> asyncio.Task[ModelReply]:
        """Make a call."""
        task = self._tasks[key] = asyncio.create_task(self._run(making))
        task.add_done_callback(lambda _: self._tasks.pop(key, None))
        self._kept_on.add(task)  # cut off before its first step it could tell nobody why
        return task

    async def _run(self, making: Coroutine[Any, Any, ModelReply]) -> ModelReply:
        self.is_back()
        try:
            return await making
        except (NotSent, asyncio.CancelledError):
            if self._end is None:
                raise
            raise type(self._end)(str(self._end)) from None

    def check(self) -> None:
        """Raise NotSent if no more calls are to be made."""
        if self._end is not None:
            raise NotSent(str(self._end))

    def end(self, why: FatalModelError | NotSent) -> None:
        """Send no more calls; whoever waits for one is told why."""
        if self._end is None:
            # not the error itself, whose traceback grows where many raise it
            self._end = (NotSent if isinstance(why, NotSent) else FatalModelError)(str(why))
        for task in self._tasks.values():
            if task is not asyncio.current_task() and task not in self._kept_on:
                task.cancel()

    async def close(self) -> None:
        """Send no more calls, and wait for those that are out."""
        self.end(NotSent("the call was not sent: what it was for has ended"))
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    @contextmanager
    def kept_on(self) -> Iterator[None]:
        """Have nothing cut the current task off within the block."""
        task = asyncio.current_task()
        is_new = task is not None and task not in self._kept_on
        if task is not None:
            self._kept_on.add(task)
        try:
            yield
        finally:
            if task is not None and is_new:
                self._kept_on.discard(task)

    async def hold(self, account: RequestAccount, guess: Callable[[], tuple[int, int]]) -> Reservation:
        """Reserve what the current task's call may use: from here on it is out, see `OutModel`."""
        self.check()
        with self.kept_on():
            held = await account.hold(guess)
        if self._end is not None:  # while others made room for it
            held.release()
            self.check()
        self._kept_on.update(filter(None, [asyncio.current_task()]))
        return held

    def is_back(self) -> None:
        """The current task's call is not out, or no more."""
        self._kept_on.difference_update(filter(None, [asyncio.current_task()]))


@dataclass(frozen=True, slots=True)
class OutModel:
    """A model, with calls out from when they were held until it has answered."""

    model: Model
    calls: CallsUnderWay

    async def ask(self, request: Request) -> ModelReply:
        """As the model does."""
        try:
            return await self.model.ask(request)
        finally:
            self.calls.is_back()

    async def close(self) -> None:
        """As the model does."""
        await self.model.close()
