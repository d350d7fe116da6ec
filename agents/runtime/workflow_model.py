"""Run a workflow like a model, for ``oversight run --workflow``; its predictions are stored like any run's.

On a cluster, programs run on the nodes, but this process stores calls and counts their usage. So if a node is
lost, its program runs again on another node, and no stored call is paid for twice.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any
from uuid import uuid4

from oversight.agents.programs import PromptFormat, Role
from oversight.agents.runtime.broker import open_broker
from oversight.agents.runtime.host import ProgramRunner, Workbench
from oversight.agents.runtime.program_answers import answer_items, dry_run_program
from oversight.agents.runtime.request_draws import CallUsage
from oversight.agents.runtime.run_account import open_account, read_used
from oversight.agents.sandbox import Host, Payload, ProgramOutcome, Sandbox, open_sandbox
from oversight.harness import first_of
from oversight.harness.cluster import RayWorkers, WorkerLost
from oversight.harness.config import ModelSection
from oversight.harness.llm import (
    DEFAULT_TERMS,
    Budget,
    Progress,
    RunTerms,
    Target,
    Workers,
    make_spec,
    run_in_loop,
)
from oversight.harness.store import Store
from oversight.harness.types import Item, Program

_SERVICE = "oversight.agents.runtime:ProgramService"
_AGAIN = 0.5
"""Seconds to wait before a program whose node was lost is run again."""


def find_runner(sandbox: Sandbox, workers: Workers) -> ProgramRunner:
    """Return `sandbox` itself, or on a cluster a runner with one sandbox of the same tier per node."""
    return _NodePrograms(workers, sandbox) if isinstance(workers, RayWorkers) else sandbox


class _NodePrograms:
    """Runs programs on a cluster, using its nodes in turn."""

    def __init__(self, workers: RayWorkers, sandbox: Sandbox) -> None:
        self._workers, self._tier, self.limits = workers, sandbox.name, sandbox.limits

    async def run(self, program: Program, tasks: Sequence[Payload], host: Host) -> list[ProgramOutcome]:
        """See `Sandbox.run`."""
        outcomes: list[ProgramOutcome] = await self._work(program, tasks, host)
        return outcomes

    async def run_code(self, code: str) -> str:
        """See `Sandbox.run_code`."""
        return str(await self._work(code, (), Host()))

    async def _work(self, what: Program | str, tasks: Sequence[Payload], host: Host) -> Any:
        while True:
            try:
                return await self._work_once(what, tasks, host)
            except WorkerLost:
                await asyncio.sleep(_AGAIN)

    async def _work_once(self, what: Program | str, tasks: Sequence[Payload], host: Host) -> Any:
        session, answering = uuid4().hex, set[asyncio.Task[None]]()
        try:
            async for actor, message in self._workers.stream(_SERVICE, session, self._tier, what, tasks):
                match message:
                    case "begin", index:
                        host.begin(index)
                    case "ask", number, index, call:
                        task = asyncio.create_task(
                            self._answer(actor, session, number, host.ask(index, call))
                        )
                        answering.add(task)
                        task.add_done_callback(answering.discard)
                    case "error", error:
                        raise error
                    case "end", found:
                        return found
        finally:
            for task in answering:
                task.cancel()
        raise WorkerLost

    async def _answer(self, actor: Any, session: str, number: int, asked: Any) -> None:
        try:
            reply = await asked
        # Send the error to the program, which can catch it.
        except RuntimeError as error:
            reply = error
        self._workers.send_message(actor, _SERVICE, session, number, reply)


class ProgramService:
    """Runs programs on a node, see `oversight.harness.cluster.node_worker.NodeWorker`."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._sandboxes = dict[str, Sandbox]()
        self._opening = asyncio.Lock()
        self._hosts = dict[str, _DistantHost]()

    async def work(
        self, session: str, tier: str, what: Program | str, tasks: Sequence[Payload]
    ) -> AsyncIterator[tuple[Any, ...]]:
        """Run `what`, a program or plain code, on the tasks. Yields its calls, then its result or error."""
        host = self._hosts[session] = _DistantHost()
        running = asyncio.create_task(self._run(tier, what, tasks, host))
        running.add_done_callback(lambda _: host.said.put_nowait(None))
        try:
            while (message := await host.said.get()) is not None:
                yield message
            error = running.exception()
            yield ("end", running.result()) if error is None else ("error", error)
        finally:
            running.cancel()
            del self._hosts[session]

    def receive_message(self, session: str, number: int, reply: Payload | RuntimeError) -> None:
        """Pass a call's reply to the program that made the call, unless the program has ended."""
        if session in self._hosts:
            self._hosts[session].answer(number, reply)

    async def close(self) -> None:
        """Close all sandboxes."""
        await self._stack.aclose()

    async def _run(self, tier: str, what: Program | str, tasks: Sequence[Payload], host: Host) -> Any:
        async with self._opening:
            if tier not in self._sandboxes:
                self._sandboxes[tier] = await self._stack.enter_async_context(open_sandbox(tier))
        sandbox = self._sandboxes[tier]
        return await (sandbox.run_code(what) if isinstance(what, str) else sandbox.run(what, tasks, host))


class _DistantHost(Host):
    """A host that puts a program's calls into the queue `said`; None marks the end of the program."""

    def __init__(self) -> None:
        self.said = asyncio.Queue[tuple[Any, ...] | None]()
        self._numbers = count()
        self._waiting = dict[int, asyncio.Future[Payload]]()

    def begin(self, index: int) -> None:
        self.said.put_nowait(("begin", index))

    async def ask(self, index: int, call: Payload) -> Payload:
        number = next(self._numbers)
        reply: asyncio.Future[Payload] = asyncio.get_running_loop().create_future()
        self._waiting[number] = reply
        self.said.put_nowait(("ask", number, index, call))
        return await reply

    def answer(self, number: int, reply: Payload | RuntimeError) -> None:
        waiting = self._waiting.pop(number)
        if waiting.done():
            return
        if isinstance(reply, RuntimeError):
            waiting.set_exception(reply)
        else:
            waiting.set_result(reply)


@dataclass(frozen=True, slots=True)
class WorkflowPlan:
    """A workflow with everything that determines its answers.

    Attributes
    ----------
    program, roles, shape
        The program, and the study's roles and prompt format.
    tier
        Name of the sandbox tier.
    model, settings
        The model that answers the workflow's calls: its name in study.toml, and its settings.
    """

    program: Program
    roles: Sequence[Role]
    shape: PromptFormat
    tier: str
    model: str
    settings: ModelSection

    @property
    def target(self) -> Target:
        """Target of the run. The `template` of its specification contains the workflow and its settings."""
        workflow = {
            "source": self.program.source,
            "roles": [asdict(role) for role in self.roles],
            "shape": asdict(self.shape),
            "sandbox": self.tier,
        }
        text = json.dumps(workflow, sort_keys=True, ensure_ascii=False)
        spec = make_spec(f"{self.model}/{self.program.name}", self.settings, text, None)
        return Target(spec, self.settings)


_AHEAD = 3
"""Number of portions of items that run at the same time, so that calls are made while one portion ends."""
_PORTION = 8


async def rehearse(plan: WorkflowPlan, sizes: Iterable[int]) -> None:
    """Dry-run a plan's workflow on made-up items; `sizes` are their numbers of options.

    Raises
    ------
    ProgramRefused
        If the static gate refuses the workflow, or the workflow fails or does not return an option.
    ConfigError, SandboxError
        If the plan's sandbox tier does not exist (ConfigError), or does not work on this machine.
    """
    async with open_sandbox(plan.tier) as sandbox:
        await dry_run_program(plan.program, sandbox=sandbox, roles=plan.roles, shape=plan.shape, sizes=sizes)


def run_workflow(
    store: Store,
    ids: Sequence[str],
    plan: WorkflowPlan,
    target: Target,
    *,
    budget: Budget,
    check: Callable[[], None],
    retry_failed: bool = False,
    terms: RunTerms = DEFAULT_TERMS,
) -> tuple[int, CallUsage]:
    """Answer the items that have no answer in this run. Returns the number of these items and the usage.

    An interrupted run can be continued, because each call is stored at once, and answers in portions.

    Parameters
    ----------
    store, ids
        The study's database, and the ids of the run's items.
    plan, target
        The plan, and its target with the price.
    budget
        Budget at the target's price, already charged with the run's earlier usage, see `charge_before`.
    check
        Called before a call is sent; raises an error if another process has taken over the run.
    retry_failed
        Whether to answer failed items again.
    terms
        Settings: which processes make the calls, and how lost calls are treated.

    Raises
    ------
    BudgetSpent, FatalModelError, ProgramRefused, SandboxError, ConfigError
        As raised by `oversight.agents.runtime.program_answers` and by the model.
    """
    spec = target.spec
    store.runs.add_run(spec)
    note = open_account(store, spec.id, check)
    unasked = store.runs.find_unasked(spec.id, ids, 1, retry_failed=retry_failed)
    left = [i for some in unasked for i, _ in some]
    if left:
        target.record_price(store, read_used(store, spec.id))
    items = store.content.find_items(left)
    workers, settings = terms.workers, plan.settings

    async def answer_all() -> CallUsage:
        async def answer(portion: Sequence[Item]) -> None:
            rows = [(spec.id, found) for found in await answer_items(plan.program, portion, bench)]
            store.runs.store_predictions(rows)
            check()
            progress.wrote(rows)

        async with (
            # The broker is closed before the sandbox, which closes slowly while calls are being sent.
            open_sandbox(plan.tier) as sandbox,
            open_broker(
                settings,
                terms,
                store=store,
                budget=budget,
                price=target.price,
                note=note,
                holds_lost=terms.uncertain == "hold" and not retry_failed,
            ) as broker,
        ):
            bench = Workbench(broker, find_runner(sandbox, workers), plan.roles, plan.shape)
            await _in_portions([items[i] for i in left], workers.number * settings.concurrency, answer)
        return broker.spent

    with Progress(len(ids), len(ids) - len(left), spec.name, {spec.id: target.price}) as progress:
        return len(left), run_in_loop(answer_all()) if left else CallUsage()


async def _in_portions(
    items: Sequence[Item], concurrency: int, answer: Callable[[Sequence[Item]], Awaitable[None]]
) -> None:
    """Answer items in portions, of which `_AHEAD` run at the same time."""
    size = max(_PORTION, math.ceil(concurrency / (_AHEAD - 1)))
    portions = iter([items[start : start + size] for start in range(0, len(items), size)])

    async def work() -> None:
        for portion in portions:
            await answer(portion)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(_AHEAD):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise first_of(errors) from None
