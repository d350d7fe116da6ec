"""Put items to models: jobs, and fixed pools of workers that do them, lazy items, one writer a pool.

Every endpoint has a pool of as many workers as it takes calls at once. They draw from the models behind
it in turn, and each has its row stored before it takes the next item; so memory does not grow with the
number of items, and a killed run has paid for at most as many lost answers as there are workers.

Rows are written together when all workers wait for theirs, or after a few milliseconds: what a
transaction costs does not depend on its rows, so on a fast endpoint two where one will do cost a fifth of
the run.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from harness.config import RunSpec
from harness.errors import BudgetSpent, FatalModelError, ModelError, TransientModelError, first_of
from harness.llm.limits import Budget, Limiter, Reservation
from harness.llm.models import CallCounts, LimitedModel, Request
from harness.llm.runner.batches import Batches
from harness.llm.runner.parsing import Unreadable
from harness.llm.runner.prediction import CUT, make_failed, read_option, read_prediction
from harness.llm.runner.prompt import make_request, notation_of
from harness.store import ReservedAnswer, add_usage
from harness.types import Item, Prediction

StoredRow: TypeAlias = tuple[str, Prediction]
MORE = 4
"""An answer that was cut by the token limit is asked for once more with this many times as many."""


@dataclass(slots=True, eq=False)
class Job:
    """A run under way.

    Attributes
    ----------
    spec
        What is asked, and the run's name.
    model
        What answers, within the limits of its endpoint.
    todo
        Items and sample numbers without a stored answer; drawn from as places come free.
    budget
        What may still be spent; None has no limit.
    reserve
        Stores what an answer may have used, before each of its calls under a budget goes out.
    before
        What earlier answers used that these are to replace; counted as theirs.
    """

    spec: RunSpec
    model: LimitedModel
    todo: Iterator[tuple[Item, int]]
    budget: Budget | None = None
    reserve: Callable[[ReservedAnswer], Awaitable[None]] | None = None
    before: Mapping[tuple[str, int], Prediction] = field(default_factory=dict)
    run_id: str = field(init=False)
    _first: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.run_id = self.spec.id  # hashed once, not for every row

    async def predict(self, item: Item, sample: int) -> Prediction:
        """Ask about one item and read the answer.

        Raises
        ------
        BudgetSpent
            If the budget leaves no room and nothing under way can make any.
        FatalModelError
            If a call failed in a way that no repetition mends.
        """
        request = make_request(self.spec, item)
        if self.budget is not None and self.budget.counts_tokens and not self.model.guess.bounds(request):
            # Nothing says how much an answer may cost, so the first one goes out alone.
            async with self._first:
                if not self.model.guess.bounds(request):
                    return await self._ask(request, item, sample)
        return await self._ask(request, item, sample)

    async def _ask(self, request: Request, item: Item, sample: int) -> Prediction:
        """Ask; a last passing fault becomes a prediction that failed.

        An answer that the token limit cut before it could be read is asked for once more with a higher
        limit.
        """
        started, counts, asked = time.perf_counter(), CallCounts(), notation_of(self.spec.template)
        hold = None if self.budget is None else partial(self._hold, self.budget, item, sample, counts)
        try:
            reply = await self.model.ask(request, counts, hold)
            if (
                reply.finish_reason == CUT
                and request.max_tokens
                and isinstance(read_option(item, reply, asked), Unreadable)
            ):
                more = replace(request, max_tokens=MORE * request.max_tokens)
                reply = await self.model.ask(more, counts, hold)
        except FatalModelError as error:
            raise FatalModelError(f"{self.spec.name}, item {item.id!r}: {error}") from error
        except ModelError as error:
            counts.seconds = time.perf_counter() - started
            kind = f"{error.fault}: " if isinstance(error, TransientModelError) else ""
            return self._counted(make_failed(item, sample, f"{kind}{error}", counts))
        except BudgetSpent:
            if counts.attempts:  # paid for, and not yet an answer
                await self._note(item, sample, counts, 0, 0)
            raise
        counts.seconds = time.perf_counter() - started
        return self._counted(read_prediction(item, sample, reply, counts, asked=asked))

    async def _hold(
        self, budget: Budget, item: Item, sample: int, counts: CallCounts, sent: int, received: int
    ) -> Reservation:
        """Reserve what the next call for an answer may use, here and in the store."""
        held = await budget.hold(sent, received)
        try:
            await self._note(item, sample, counts, sent, received, requests=1)
        except BaseException:
            held.release()
            raise
        return held

    async def _note(
        self, item: Item, sample: int, counts: CallCounts, sent: int, received: int, requests: int = 0
    ) -> None:
        """Store what an answer used so far, and what its next call may use."""
        if self.reserve is not None:
            used = counts.attempts + requests, counts.input_tokens + sent, counts.output_tokens + received
            await self.reserve(ReservedAnswer(self.run_id, item.id, sample, *used))

    def _counted(self, prediction: Prediction) -> Prediction:
        """Add what an earlier answer used that this one replaces."""
        before = self.before.get((prediction.item_id, prediction.sample))
        return prediction if before is None else add_usage(prediction, [before])


async def run_jobs(jobs: Sequence[Job], write: Callable[[Sequence[StoredRow]], None]) -> None:
    """Ask every model about all its items and hand over the predictions as they come; close the models then.

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
    finally:
        for job in jobs:
            await job.model.close()


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
    left = deque(jobs)
    while left:
        job = left.popleft()
        following = next(job.todo, None)
        if following is not None:
            left.append(job)
            yield job, *following
