"""Put items to models: fixed pools of lanes that do jobs, lazy items, one writer a pool.

Every endpoint has a pool of as many lanes as it takes calls at once. They draw from the models behind
it in turn, and each has its row stored before it takes the next item; so memory does not grow with the
number of items, and a killed run has paid for at most as many lost answers as there are lanes.

Rows are written together when all lanes wait for theirs, or after a few milliseconds: what a
transaction costs does not depend on its rows, so on a fast endpoint two where one will do cost a fifth of
the run.

A model that fails, or a signal, ends the drawing; what is under way has some seconds to come.
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
"""So many items in a row that end in a refusal, a malformed reply or an unexpected error end a run."""


async def run_jobs(
    jobs: Sequence[Job], write: Callable[[Sequence[StoredRow]], None]
) -> tuple[list[OversightError | None], int | None]:
    """Ask every model about all its items and hand over the predictions as they come; close the models then.

    A failure ends the items of its own model alone.

    Parameters
    ----------
    jobs
        One per model.
    write
        Called from one thread with run ids and predictions that are finished since the last call; it
        must have stored them when it returns.

    Returns
    -------
    list of OversightError or None, int or None
        What stopped each job before all its items were asked; the number of the signal that stopped all.

    Raises
    ------
    OversightError
        If `write` does.
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
    """The course of a job: what of it is under way, and whether it has come to an end.

    Attributes
    ----------
    fruitless
        Items in a row that ended in a refusal, a malformed reply or an unexpected error.
    given_up
        Whether what was under way at the end has had its time.
    """

    job: Job
    error: OversightError | None = None
    ended: bool = False
    fruitless: int = 0
    given_up: bool = False
    under_way: set[asyncio.Task[Any]] = field(default_factory=set)

    def draw(self) -> tuple[Item, int] | None:
        """The next item and sample number; None at the end."""
        return None if self.ended else next(self.job.todo, None)

    def end(self, seconds: float) -> None:
        """Draw no more, and give what is under way so many seconds."""
        self.ended = True
        if seconds < math.inf:
            asyncio.get_running_loop().call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        self.given_up = True
        for lane in self.under_way:
            lane.cancel()

    async def ask(self, item: Item, sample: int, lane: asyncio.Task[Any]) -> Prediction | None:
        """Ask about one item; None if the job came to its end before there was an answer."""
        self.under_way.add(lane)
        try:
            prediction = await self.job.predict(item, sample)
        except asyncio.CancelledError:
            if not self.given_up or lane.uncancel():  # somebody else wants it to end
                raise
            return None
        except OversightError as error:
            self._fail(error)
            return None
        except Exception as error:  # noqa: BLE001  nothing that one item brings about is another's concern
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
            _LOGGER.info("%s: no more items are asked about: %s", self.job.spec.name, error)
            # What was paid for within a budget is waited for; a broken endpoint may never answer.
            self.end(math.inf if isinstance(error, BudgetSpent) else DRAIN)


async def _pool(
    lanes: int,
    source: Iterator[tuple[_Course, Item, int]],
    write: Callable[[Sequence[StoredRow]], None],
) -> None:
    """One endpoint's lanes; they have a writer of their own, since one waits for the slowest of its own."""
    with Batches[StoredRow, None](write, lanes) as rows:
        async with asyncio.TaskGroup() as group:
            for _ in range(lanes):
                group.create_task(_work(source, rows))
                await asyncio.sleep(0)  # so that the first asks before the last has opened its connection


async def _work(source: Iterator[tuple[_Course, Item, int]], rows: Batches[StoredRow, None]) -> None:
    lane = cast("asyncio.Task[Any]", asyncio.current_task())
    for course, item, sample in source:
        prediction = await course.ask(item, sample, lane)
        if prediction is not None:
            await rows.put((course.job.run_id, prediction))


def _in_turn(courses: list[_Course]) -> Iterator[tuple[_Course, Item, int]]:
    """Draw from all jobs in turn, so that models sharing an endpoint get equal shares of it."""
    left = deque(courses)
    while left:
        course = left.popleft()
        following = course.draw()
        if following is not None:
            left.append(course)
            yield course, *following
