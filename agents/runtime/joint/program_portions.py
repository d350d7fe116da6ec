"""Portions of items that a worker runs programs on: what all workers agree on, and the running."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any, Self

from pydantic import TypeAdapter

from oversight.agents.programs import PromptFormat, Role
from oversight.agents.runtime.broker import Broker
from oversight.agents.runtime.host import Workbench
from oversight.agents.runtime.joint.shared_calls import SharedCalls
from oversight.agents.runtime.program_answers import answer_items
from oversight.agents.sandbox import Sandbox, open_sandbox
from oversight.harness import ProgramRefused, StoreError
from oversight.harness.config import ModelSection
from oversight.harness.llm import Budget, JointAllowance, Membership, Price, make_model
from oversight.harness.store import ProgramPortion, ProgramWork, Store
from oversight.harness.types import Prediction, Program

SIZE = 8
"""Items of a portion."""
_DRAIN = 10.0
"""Seconds that what is under way has once nobody leads any more."""
_SHORTEST, _LONGEST = 0.02, 0.5
"""Seconds between two looks for portions, where there are some, and where there were none for long."""
_PREDICTIONS = TypeAdapter(list[Prediction])
_ROLES, _SHAPE = TypeAdapter(tuple[Role, ...]), TypeAdapter(PromptFormat)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramTerms:
    """What all workers of a work agree on.

    Attributes
    ----------
    name
        What is shown.
    settings, price
        Of the model that answers the programs' calls.
    roles, shape, tier, blames_program
        See `oversight.agents.runtime.host.Workbench`; `tier` names the sandbox.
    asks_lost
        See `SharedCalls`.
    """

    name: str
    settings: ModelSection
    price: Price | None
    roles: Sequence[Role]
    shape: PromptFormat
    tier: str
    blames_program: bool
    asks_lost: bool = False

    def note(self) -> dict[str, Any]:
        """As JSON, for the database."""
        return {
            "name": self.name,
            "settings": self.settings.model_dump(mode="json"),
            "price": None if self.price is None else {"input": self.price.input, "output": self.price.output},
            "callable": False,
            "roles": [asdict(role) for role in self.roles],
            "shape": _SHAPE.dump_python(self.shape, mode="json"),
            "tier": self.tier,
            "blames_program": self.blames_program,
            "asks_lost": self.asks_lost,
        }

    @classmethod
    def read(cls, noted: Mapping[str, Any]) -> Self:
        """As they were noted."""
        return cls(
            name=noted["name"],
            settings=ModelSection.model_validate(noted["settings"]),
            price=None if noted["price"] is None else Price(**noted["price"]),
            roles=_ROLES.validate_python(noted["roles"]),
            shape=_SHAPE.validate_python(noted["shape"]),
            tier=noted["tier"],
            blames_program=noted["blames_program"],
            asks_lost=noted["asks_lost"],
        )


def make_tasks(program: Program, ids: Sequence[str], replicate: int) -> list[dict[str, Any]]:
    """Portions of items for a program, as JSON."""
    common = {"program": {"name": program.name, "source": program.source}, "replicate": replicate}
    return [{**common, "items": list(ids[start : start + SIZE])} for start in range(0, len(ids), SIZE)]


def read_found(found: Mapping[str, Any]) -> list[Prediction]:
    """What became of a portion.

    Raises
    ------
    ProgramRefused
        If the gate refused the program.
    """
    if "refused" in found:
        raise ProgramRefused(found["refused"])
    return _PREDICTIONS.validate_python(found["predictions"])


def share_budget(store: Store, work: ProgramWork, worker: str, price: Price | None) -> Budget:
    """The budget of a work, of which a worker spends what it is granted."""
    spec = work.joint.spec
    is_limited = (spec.usd, spec.tokens, spec.requests) != (None, None, None)
    allowance = JointAllowance(store, work.joint, worker) if is_limited else None
    return Budget(spec.usd, spec.tokens, price, requests=spec.requests, allowance=allowance)


class PortionRunner:
    """Runs portions of a work as one worker.

    Parameters
    ----------
    bench
        What programs are run with.

    Attributes
    ----------
    broker
        The way to the model.
    answered
        Items of portions that were run.
    """

    def __init__(
        self, store: Store, work: ProgramWork, me: Membership, bench: Workbench, broker: Broker
    ) -> None:
        self._store, self._work, self._me, self._bench = store, work, me, bench
        self.broker = broker
        self._most = 1 + math.ceil(1.5 * broker.concurrency / SIZE)
        self._running = set[asyncio.Task[None]]()
        self._is_stopped, self._drain = False, _DRAIN
        self.answered = 0

    def stop(self, seconds: float) -> None:
        """Run no more portions; what is under way has so many seconds to come."""
        self._is_stopped, self._drain = True, seconds
        if not seconds:
            for task in self._running:
                task.cancel()

    async def run(self, is_over: Callable[[], bool], is_paused: Callable[[], bool] = lambda: False) -> None:
        """Run what is there until it is over; what is under way then has some seconds to come.

        Raises
        ------
        OversightError
            What kept a portion from being run; it and all others are given back.
        """
        pause = _SHORTEST
        try:
            while not self._is_stopped and not is_over():
                taken = [] if is_paused() else self._take()
                self._running |= {asyncio.create_task(self._run(portion)) for portion in taken}
                pause = _SHORTEST if taken else min(_LONGEST, 1.5 * pause)
                await self._wait(pause)
            if self._running:
                await asyncio.wait(self._running, timeout=self._drain)
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    def _take(self) -> list[ProgramPortion]:
        room = self._most - len(self._running)
        lease = self._work.joint.spec.lease
        return self._store.program_work.take(self._work.id, self._me.worker, lease, room) if room > 0 else []

    async def _wait(self, seconds: float) -> None:
        if not self._running:
            await asyncio.sleep(seconds)
            return
        done, self._running = await asyncio.wait(
            self._running, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            if not task.cancelled():
                task.result()

    async def _run(self, portion: ProgramPortion) -> None:
        task, works, worker = portion.task, self._store.program_work, self._me.worker
        program = Program(task["program"]["name"], task["program"]["source"])
        try:
            items = self._store.content.find_items(task["items"])
            asked = [items[name] for name in task["items"]]
            try:
                answers = await answer_items(program, asked, self._bench, task["replicate"])
                found = {"predictions": _PREDICTIONS.dump_python(answers, mode="json")}
            except ProgramRefused as error:
                found = {"refused": str(error)}
            works.put_back(worker, portion.id, found)
            self.answered += len(asked)
        except BaseException:
            with suppress(StoreError):
                works.put_back(worker, portion.id, None)
            raise


@asynccontextmanager
async def open_runner(
    store: Store,
    work: ProgramWork,
    me: Membership,
    terms: ProgramTerms,
    budget: Budget,
    calls: SharedCalls,
    sandbox: Sandbox | None = None,
) -> AsyncIterator[PortionRunner]:
    """What runs portions as this worker; in a sandbox of its own, unless there is one."""
    settings = terms.settings
    model = make_model(settings)
    broker = Broker.of(model, settings, budget=budget, price=terms.price, store=store, shared=calls)
    try:
        async with open_sandbox(terms.tier) if sandbox is None else _left_open(sandbox) as used:
            bench = Workbench(broker, used, terms.roles, terms.shape, terms.blames_program)
            try:
                yield PortionRunner(store, work, me, bench, broker)
            finally:  # before the sandbox, which takes its time while calls go out
                await broker.close()
    finally:
        await model.close()


@asynccontextmanager
async def _left_open(sandbox: Sandbox) -> AsyncIterator[Sandbox]:
    yield sandbox
