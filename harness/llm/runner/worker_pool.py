"""Run jobs with a fixed pool of workers per limiter; one writer per pool stores the results in batches.

A pool has one worker per concurrent call that the limiter allows. Workers take items from the pool's models
in turn. A worker waits until its row is stored before it takes the next item. So memory does not grow with
the number of items, and a killed run loses at most one paid answer per worker.

Rows are written together, when all workers wait for their rows or after a few milliseconds, because a
transaction with many rows takes hardly longer than one with a single row.

If a model fails, workers take no more of its items. After a signal, they take no items of any model.
Unfinished calls then have some seconds to finish.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from oversight.harness.errors import BudgetSpent, FatalModelError, Fault, OversightError, first_of
from oversight.harness.llm.limits.limiter import Limiter
from oversight.harness.llm.runner.batches import Batches
from oversight.harness.llm.runner.event_loop import DRAIN, on_stop_signals
from oversight.harness.llm.runner.jobs import Job
from oversight.harness.llm.runner.prediction import make_failed
from oversight.harness.llm.runner.targets import ItemSample
from oversight.harness.types import Item, Prediction, PredictionStatus, Usage

StoredRow: TypeAlias = tuple[str, Prediction]
Write: TypeAlias = Callable[[Sequence[StoredRow]], None]
"""Function that stores rows before it returns."""
_LOGGER = logging.getLogger(__name__)
IN_A_ROW = 20
"""A run ends after this number of consecutive items with a refusal, malformed reply or unexpected error."""


async def run_jobs(jobs: Sequence[Job], write: Write) -> tuple[list[OversightError | None], int | None]:
    """Run all jobs, store predictions as they arrive, and close the models.

    A failing model stops only its own job.

    Parameters
    ----------
    jobs
        One job per model.
    write
        Function that stores (run id, prediction) pairs before it returns; called in the event loop's thread.

    Returns
    -------
    list of OversightError or None, int or None
        For each job, the error that stopped it early, or None; and the number of the signal that stopped all
        jobs, or None.

    Raises
    ------
    OversightError
        If `write` raises it.
    """
    courses = [_Course(job) for job in jobs]
    pools: dict[Limiter, list[_Course]] = {}
    for course in courses:
        pools.setdefault(course.job.model.limiter, []).append(course)

    def stop(seconds: float) -> None:
        for course in courses:
            course.end(seconds)

    try:
        with on_stop_signals(stop) as signals:
            async with asyncio.TaskGroup() as group:
                for limiter, shared in pools.items():
                    group.create_task(_pool(limiter.concurrency, _in_turn(shared), write))
    except BaseExceptionGroup as raised:
        raise first_of(raised) from None
    finally:
        for job in jobs:
            await job.model.close()
    return [course.error for course in courses], signals[0] if signals else None


@dataclass(slots=True, eq=False)
class _Course:
    """State of a job: its unfinished calls, and whether it has ended.

    Attributes
    ----------
    fruitless
        Number of consecutive items with a refusal, a malformed reply or an unexpected error.
    given_up
        Whether the time for unfinished calls has passed, so that they were cancelled.
    """

    job: Job
    error: OversightError | None = None
    ended: bool = False
    fruitless: int = 0
    given_up: bool = False
    under_way: set[asyncio.Task[Any]] = field(default_factory=set)

    def draw(self) -> ItemSample | None:
        """Return the next item and sample number; None at the end."""
        return None if self.ended else next(self.job.todo, None)

    def end(self, seconds: float) -> None:
        """Stop taking items, and cancel unfinished calls after this many seconds (∞: never)."""
        self.ended = True
        if seconds < math.inf:
            asyncio.get_running_loop().call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        self.given_up = True
        for lane in self.under_way:
            lane.cancel()

    async def ask(self, item: Item, sample: int, lane: asyncio.Task[Any]) -> Prediction | None:
        """Ask about one item. Returns None if the job ended before the answer arrived."""
        self.under_way.add(lane)
        try:
            prediction = await self.job.predict(item, sample)
        except asyncio.CancelledError:
            if not self.given_up or lane.uncancel():  # cancelled by something other than `_give_up`
                raise
            return None
        except OversightError as error:
            self._fail(error)
            return None
        except Exception as error:  # noqa: BLE001  an error caused by one item must not affect others
            reason = f"{Fault.UNEXPECTED}: {type(error).__name__}: {error}"
            prediction = make_failed(item, sample, reason, Usage())
        finally:
            self.under_way.discard(lane)
        self._count(prediction)
        return prediction

    def _count(self, prediction: Prediction) -> None:
        if prediction.status is not PredictionStatus.FAILED:
            self.fruitless = 0
        elif prediction.kind in (Fault.REFUSED, Fault.UNEXPECTED, Fault.MALFORMED):
            self.fruitless += 1
            if self.fruitless == IN_A_ROW:
                last = f"the last, {prediction.item_id!r}: {prediction.reason}"
                self._fail(FatalModelError(f"{IN_A_ROW} items in a row without an answer; {last}"))

    def _fail(self, error: OversightError) -> None:
        if self.error is None:
            self.error = error
            _LOGGER.info("%s: the model receives no more items: %s", self.job.spec.name, error)
            # If the budget is spent, wait for unfinished calls, because they are paid for.
            # After any other error, wait at most `DRAIN` seconds, because a broken endpoint may never answer.
            self.end(math.inf if isinstance(error, BudgetSpent) else DRAIN)


_Drawn: TypeAlias = tuple[_Course, Item, int]
"""A job, and the item and sample number that a worker asks about next."""


async def _pool(lanes: int, source: Iterator[_Drawn], write: Write) -> None:
    """Run the workers of one limiter and a separate writer, so that no pool waits for another pool."""
    with Batches[StoredRow, None](write, lanes) as rows:
        async with asyncio.TaskGroup() as group:
            for _ in range(lanes):
                group.create_task(_work(source, rows))
                await asyncio.sleep(0)  # lets the first workers send calls before the last ones are created


async def _work(source: Iterator[_Drawn], rows: Batches[StoredRow, None]) -> None:
    lane = cast("asyncio.Task[Any]", asyncio.current_task())
    for course, item, sample in source:
        prediction = await course.ask(item, sample, lane)
        if prediction is not None:
            await rows.add_request((course.job.run_id, prediction))


def _in_turn(courses: list[_Course]) -> Iterator[_Drawn]:
    """Yield items from all jobs in turn, so that models that share a limiter get equal shares of calls."""
    left = deque(courses)
    while left:
        course = left.popleft()
        following = course.draw()
        if following is not None:
            left.append(course)
            yield course, *following
