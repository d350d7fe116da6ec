"""Put items to models: fixed pools of workers, lazy items, one writer.

Every endpoint has a pool of as many workers as it takes calls at once. They draw from the models behind
it in turn, and each has its row stored before it takes the next item; so memory does not grow with the
number of items, and a killed run loses at most what was under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from harness.errors import first_of
from harness.llm.runner.job import Job, in_turn
from harness.llm.runner.writer import Writer
from harness.types import Item, Prediction

if TYPE_CHECKING:
    from harness.llm.limits import Limiter

    Row = tuple[str, Prediction]


async def run_jobs(jobs: Sequence[Job], write: Callable[[Sequence[Row]], None]) -> None:
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
        pools.setdefault(job.limiter, []).append(job)
    try:
        async with asyncio.TaskGroup() as group:
            for limiter, shared in pools.items():
                group.create_task(_pool(limiter.concurrency, in_turn(shared), write))
    except BaseExceptionGroup as raised:
        raise first_of(raised) from None


async def _pool(
    workers: int, source: Iterator[tuple[Job, Item, int]], write: Callable[[Sequence[Row]], None]
) -> None:
    """One endpoint's workers; they have a writer of their own, since one waits for the slowest of its own."""
    with Writer(write, workers) as writer:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(_work(source, writer))
                await asyncio.sleep(0)  # so that the first asks before the last has opened its connection


async def _work(source: Iterator[tuple[Job, Item, int]], writer: Writer[Row]) -> None:
    for job, item, sample in source:
        prediction = await job.predict(item, sample)
        await writer.put((job.run_id, prediction))
