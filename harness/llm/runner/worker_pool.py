"""Run jobs with a fixed pool of workers per endpoint; one writer per pool stores the results in batches.

A pool has as many workers as the endpoint accepts concurrent calls. Workers take items from the endpoint's
models in turn, and each stores its row before it takes the next item. So memory does not grow with the number
of items, and a killed run loses at most one paid answer per worker.

Rows are written together when all workers wait for their rows, or after a few milliseconds, because the cost
of a transaction does not depend on its number of rows.

If a model fails, or at a signal, the workers take no more items; unfinished calls have some seconds to
finish.
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
from oversight.harness.llm.limits import Limiter
from oversight.harness.llm.runner.batches import Batches
from oversight.harness.llm.runner.event_loop import DRAIN, on_stop_signals
from oversight.harness.llm.runner.jobs import Job
from oversight.harness.llm.runner.prediction import make_failed
from oversight.harness.types import Item, Prediction, PredictionStatus, Usage

StoredRow: TypeAlias = tuple[str, Prediction]
_LOGGER = logging.getLogger(__name__)
IN_A_ROW = 20
"""Number of items in a row that end in a refusal, a malformed reply or an unexpected error, and end a run."""


async def run_jobs(
    jobs: Sequence[Job], write: Callable[[Sequence[StoredRow]], None]
) -> tuple[list[OversightError | None], int | None]:
    """Ask every model about its items, store predictions as they arrive, and close the models.

    A failing model stops only its own items.

    Parameters
    ----------
    jobs
        One job per model.
    write
        Called from one thread with run ids and the predictions finished since the last call. It must store
        them before it returns.

    Returns
    -------
    list of OversightError or None, int or None
        The error that stopped each job early, or None; the number of the signal that stopped all jobs, or
        None.

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
        Number of items in a row that ended in a refusal, a malformed reply or an unexpected error.
    given_up
        Whether the time for finishing calls at the end has passed.
    """

    job: Job
    error: OversightError | None = None
    ended: bool = False
    fruitless: int = 0
    given_up: bool = False
    under_way: set[asyncio.Task[Any]] = field(default_factory=set)

    def draw(self) -> tuple[Item, int] | None:
        """Return the next item and sample number; None at the end."""
        return None if self.ended else next(self.job.todo, None)

    def end(self, seconds: float) -> None:
        """Stop taking items, and give unfinished calls this many seconds."""
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
            if not self.given_up or lane.uncancel():  # the job is being stopped
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
            # Wait for calls after the budget is spent, because they are paid for; a broken endpoint may never
            # answer.
            self.end(math.inf if isinstance(error, BudgetSpent) else DRAIN)


async def _pool(
    lanes: int,
    source: Iterator[tuple[_Course, Item, int]],
    write: Callable[[Sequence[StoredRow]], None],
) -> None:
    """Run the workers of one endpoint with their own writer, which waits for its slowest worker."""
    with Batches[StoredRow, None](write, lanes) as rows:
        async with asyncio.TaskGroup() as group:
            for _ in range(lanes):
                group.create_task(_work(source, rows))
                await asyncio.sleep(0)  # so that the first call is sent before the last connection is opened


async def _work(source: Iterator[tuple[_Course, Item, int]], rows: Batches[StoredRow, None]) -> None:
    lane = cast("asyncio.Task[Any]", asyncio.current_task())
    for course, item, sample in source:
        prediction = await course.ask(item, sample, lane)
        if prediction is not None:
            await rows.add_request((course.job.run_id, prediction))


def _in_turn(courses: list[_Course]) -> Iterator[tuple[_Course, Item, int]]:
    """Take items from all jobs in turn, so that models of one endpoint get equal shares of its calls."""
    left = deque(courses)
    while left:
        course = left.popleft()
        following = course.draw()
        if following is not None:
            left.append(course)
            yield course, *following
