"""Leading others that run programs: what is to be answered is given out, and taken in as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any

from oversight.agents.runtime.broker import Broker
from oversight.agents.runtime.joint.program_portions import (
    PortionRunner,
    ProgramTerms,
    make_tasks,
    open_runner,
    read_found,
    share_budget,
)
from oversight.agents.runtime.joint.shared_calls import SharedCalls
from oversight.agents.sandbox import Sandbox
from oversight.harness.llm import DEFAULT_LEASE, BudgetCaps, Crew, Membership, Watch
from oversight.harness.store import Amounts, JointSpec, ProgramWork, Store, Uncertain
from oversight.harness.types import Item, Prediction, Program

_LOOK = 0.05
"""Seconds between two looks at what others have found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTerms:
    """How several processes run programs together, see `oversight.harness.llm.RunTerms`."""

    lease: float = DEFAULT_LEASE
    uncertain: Uncertain = "retry"
    crew: Crew | None = None


ALONE = SharedTerms()
"""As nobody else was asked to help."""


class Leader:
    """Has programs answer items, by whoever works with it.

    Attributes
    ----------
    work
        What it leads.
    me
        The worker that this process is.
    budget, calls, broker
        This worker's part of the budget, its calls, and its way to the model that answers.
    """

    def __init__(self, store: Store, work: ProgramWork, me: Membership, terms: ProgramTerms) -> None:
        self.work, self.me = work, me
        self.budget = share_budget(store, work, me.worker, terms.price)
        self.calls = SharedCalls(store, work, me, self.budget, asks_lost=terms.asks_lost)
        self.broker: Broker
        self._store = store
        self._waiting = dict[str, asyncio.Future[list[Prediction]]]()
        self._given, self._over = 0, False
        self._error: BaseException | None = None

    async def evaluate(self, program: Program, items: Sequence[Item], replicate: int) -> list[Prediction]:
        """One prediction per item, in order.

        Raises
        ------
        OversightError
            What keeps this process from answering, once nobody else does.
        """
        if self._error is not None:
            raise self._error
        tasks = make_tasks(program, [item.id for item in items], replicate)
        ids = self._store.program_work.give_out(self.work.id, tasks, self._given)
        self._given += len(ids)
        loop = asyncio.get_running_loop()
        parts = [self._waiting.setdefault(name, loop.create_future()) for name in ids]
        await asyncio.wait(parts)
        return [prediction for part in parts for prediction in part.result()]

    async def lead(self, runner: PortionRunner, crew: Crew | None) -> None:
        """Take in what is found until it is over, and run portions, too, where no crew does."""

        def is_paused() -> bool:
            return crew is not None and crew.is_working()

        running = asyncio.create_task(runner.run(lambda: self._over, is_paused))
        try:
            while not self._over and not running.done():
                self._take_in()
                await asyncio.sleep(_LOOK)
        finally:
            self._over = True
            await asyncio.wait([running])
            error = running.exception() if not running.cancelled() else asyncio.CancelledError()
            self._fail(error)

    def end(self) -> None:
        """Nothing more will be asked."""
        self._over = True

    def _take_in(self) -> None:
        for name, found in self._store.program_work.take_in(self.work.id).items():
            waiting = self._waiting.pop(name, None)
            if waiting is None or waiting.done():
                continue
            try:
                waiting.set_result(read_found(found))
            except Exception as error:  # noqa: BLE001  whoever waits is told
                waiting.set_exception(error)

    def _fail(self, error: BaseException | None) -> None:
        self._error = error
        for waiting in self._waiting.values():
            if not waiting.done() and error is not None:
                waiting.set_exception(error)
        self._waiting.clear()


@asynccontextmanager
async def lead_work(
    store: Store,
    work: str,
    terms: ProgramTerms,
    spec: JointSpec,
    taken: Amounts,
    crew: Crew | None,
    sandbox: Sandbox | None = None,
) -> AsyncIterator[Leader]:
    """Lead a work while the block lasts.

    Raises
    ------
    RunHeld
        If another process leads it.
    """
    opened = store.program_work.open(work, spec, taken)
    with ExitStack() as stack:
        watch = Watch(store, opened.joint)
        me = stack.enter_context(Membership(store, opened.joint, opened.leader, watch))
        stack.callback(store.program_work.end, opened)
        if crew is not None:
            stack.enter_context(crew.working(opened.joint.id))
        leader = Leader(store, opened, me, terms)
        own = open_runner(store, opened, me, terms, leader.budget, leader.calls, sandbox)
        async with own as runner:
            leader.broker = runner.broker
            led = asyncio.create_task(leader.lead(runner, crew))
            try:
                yield leader
            finally:
                leader.end()
                await asyncio.wait([led])


def make_spec_of_work(work: str, programs: ProgramTerms, caps: BudgetCaps, terms: SharedTerms) -> JointSpec:
    """What all workers of a work agree on, as the database keeps it."""
    noted: dict[str, Any] = {work: programs.note()}
    return JointSpec(
        runs=noted,
        items=[],
        retry_failed=False,
        sample=None,
        **asdict(caps),
        patience=0.0,
        lease=terms.lease,
        uncertain=terms.uncertain,
    )
