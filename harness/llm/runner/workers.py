"""Put items to models: fixed pools of workers, lazy items, one writer a pool.

Every endpoint has a pool of as many workers as it takes calls at once. They draw from the models behind
it in turn, and each has its row stored before it takes the next item; so memory does not grow with the
number of items, and a killed run has paid for at most as many lost answers as there are workers.

Rows are written together when all workers wait for theirs, or after a few milliseconds: what a
transaction costs does not depend on its rows, so on a fast endpoint two where one will do cost a fifth of
the run. They are written in the event loop's own thread: in another one the two would hand Python's lock
to and fro at every row, which takes longer than the writing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeAlias, TypeVar

from harness.errors import first_of
from harness.llm.limits import Limiter
from harness.llm.runner.job import Job
from harness.types import Item, Prediction

Row = TypeVar("Row")
StoredRow: TypeAlias = tuple[str, Prediction]
_LINGER = 0.003


async def run_jobs(jobs: Sequence[Job], write: Callable[[Sequence[StoredRow]], None]) -> None:
    """Ask every model about all its items and hand over the predictions as they come.

    Parameters
    ----------
    jobs
        One per model.
    write
        Called from one thread with run ids and predictions that are finished since the last call; it
        must have stored them when it returns.

    Raises
    ------
    FatalModelError
        If a call fails in a way that no repetition mends; what was finished is written first.
    BudgetSpent
        If a budget leaves no room for the next call; what was under way is finished first.
    """
    pools: dict[Limiter, list[Job]] = {}
    for job in jobs:
        pools.setdefault(job.model.limiter, []).append(job)
    try:
        async with asyncio.TaskGroup() as group:
            for limiter, shared in pools.items():
                group.create_task(_pool(limiter.concurrency, _in_turn(shared), write))
    except BaseExceptionGroup as raised:
        raise first_of(raised) from None


async def _pool(
    workers: int, source: Iterator[tuple[Job, Item, int]], write: Callable[[Sequence[StoredRow]], None]
) -> None:
    """One endpoint's workers; they have a writer of their own, since one waits for the slowest of its own."""
    with Writer(write, workers) as writer:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(_work(source, writer))
                await asyncio.sleep(0)  # so that the first asks before the last has opened its connection


async def _work(source: Iterator[tuple[Job, Item, int]], writer: Writer[StoredRow]) -> None:
    for job, item, sample in source:
        prediction = await job.predict(item, sample)
        await writer.put((job.run_id, prediction))


def _in_turn(jobs: list[Job]) -> Iterator[tuple[Job, Item, int]]:
    """Draw from all jobs in turn, so that models sharing an endpoint get equal shares of it."""
    left = list(jobs)
    while left:
        for job in list(left):
            following = next(job.todo, None)
            if following is None:
                left.remove(job)
            else:
                yield job, *following


class Writer(Generic[Row]):
    """Hands rows over in batches; use as a context manager inside the event loop.

    Parameters
    ----------
    write
        Called with one batch at a time; it must have stored them all when it returns.
    workers
        How many hand over rows.
    """

    def __init__(self, write: Callable[[Sequence[Row]], None], workers: int) -> None:
        self._write = write
        self._enough = workers
        self._rows: list[Row] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    async def put(self, row: Row) -> None:
        """Add a row; return when it is stored.

        Raises
        ------
        Exception
            What `write` raised, if it did.
        """
        self._rows.append(row)
        if len(self._rows) >= self._enough:
            error = self._flush()
            if error is not None:
                raise error
            return
        if self._timer is None:
            self._timer = self._loop.call_later(_LINGER, self._flush)
        stored = self._loop.create_future()
        self._waiting.append(stored)
        await stored

    def __enter__(self) -> Writer[Row]:
        return self

    def __exit__(self, *_: object) -> None:
        """Store what has gathered, whatever ended the work."""
        error = self._flush()
        if error is not None:
            raise error

    def _flush(self) -> Exception | None:
        """Write what has gathered and wake whoever waits for it; return what went wrong."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        rows, self._rows = self._rows, []
        waiting, self._waiting = self._waiting, []
        error = None
        try:
            if rows:
                self._write(rows)
        except Exception as raised:  # noqa: BLE001  whatever it is, everybody who waits must hear of it
            error = raised
        for stored in waiting:
            if stored.done():  # its worker was cancelled
                continue
            if error is None:
                stored.set_result(None)
            else:
                stored.set_exception(error)
        return error
