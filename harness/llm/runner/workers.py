"""Put items to models: fixed pools of workers, lazy items, one writer a pool.

Every endpoint has a pool of as many workers as it takes calls at once. They draw from the models behind
it in turn, and each has its row stored before it takes the next item; so memory does not grow with the
number of items, and a killed run has paid for at most as many lost answers as there are workers.

Rows are written together when all workers wait for theirs, or after a few milliseconds: what a
transaction costs does not depend on its rows, so on a fast endpoint two where one will do cost a fifth of
the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from harness.errors import first_of
from harness.llm.limits import Batches, Limiter
from harness.llm.runner.job import Job
from harness.types import Item, Prediction

StoredRow: TypeAlias = tuple[str, Prediction]


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
    with Batches[StoredRow, None](write, workers) as rows:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(_work(source, rows))
                await asyncio.sleep(0)  # so that the first asks before the last has opened its connection


async def _work(source: Iterator[tuple[Job, Item, int]], rows: Batches[StoredRow, None]) -> None:
    for job, item, sample in source:
        prediction = await job.predict(item, sample)
        await rows.put((job.run_id, prediction))


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
