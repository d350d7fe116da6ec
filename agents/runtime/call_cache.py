"""The table of calls as an asynchronous cache: what comes together is read or written together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from harness.store import Store, StoredCall

K = TypeVar("K")
V = TypeVar("V")

_LINGER = 0.001
"""Seconds; short beside any call to a model, and long enough to gather what one transaction can do."""


class CallCache:
    """Calls by key, in a database or in memory.

    Parameters
    ----------
    store
        The study's database; None keeps calls in memory.
    """

    def __init__(self, store: Store | None) -> None:
        self._memory: dict[str, StoredCall] | None = {} if store is None else None
        if store is not None:
            self._reads = _Batches[str, StoredCall | None](lambda keys: _read(store, keys))
            self._writes = _Batches[StoredCall, None](lambda calls: _write(store, calls))

    async def get(self, key: str) -> StoredCall | None:
        """Return a call that succeeded, if there is one."""
        return self._memory.get(key) if self._memory is not None else await self._reads.put(key)

    async def add(self, call: StoredCall) -> None:
        """Store a call; when this returns it is there, whatever happens to the process."""
        if self._memory is None:
            await self._writes.put(call)
        elif not call.error:
            self._memory[call.key] = call


def _read(store: Store, keys: Sequence[str]) -> list[StoredCall | None]:
    found = store.calls.read_calls(list(dict.fromkeys(keys)))
    return [found.get(key) for key in keys]


def _write(store: Store, calls: Sequence[StoredCall]) -> list[None]:
    store.calls.write_calls(calls)
    return [None] * len(calls)


class _Batches(Generic[K, V]):
    """Puts single requests through a function of many: those of a millisecond together.

    In the loop's own thread, as in `harness.llm.runner.workers`: handing each batch to another and back takes
    longer than the work.
    """

    def __init__(self, work: Callable[[Sequence[K]], list[V]]) -> None:
        self._work = work
        self._waiting: list[tuple[K, asyncio.Future[V]]] = []

    async def put(self, item: K) -> V:
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_later(_LINGER, self._drain)
        future: asyncio.Future[V] = loop.create_future()
        self._waiting.append((item, future))
        return await future

    def _drain(self) -> None:
        batch, self._waiting = self._waiting, []
        try:
            results: list[Any] = self._work([item for item, _ in batch])
        except Exception as error:  # noqa: BLE001  whoever waits gets it
            results = [error] * len(batch)
        for (_, future), result in zip(batch, results, strict=True):
            if future.done():  # whoever waited has been cancelled
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)
