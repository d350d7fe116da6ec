"""Run programs on the nodes of a Ray cluster; this process answers their calls.

This process keeps the cache and the ledger of calls. So a program whose node is lost runs again on another
node, and no stored call is paid twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from itertools import count
from typing import Any
from uuid import uuid4

from oversight.agents.runtime.host import ProgramRunner
from oversight.agents.sandbox import Host, Payload, ProgramOutcome, Sandbox, open_sandbox
from oversight.harness.cluster import RayWorkers, WorkerLost
from oversight.harness.llm import Workers
from oversight.harness.types import Program

_SERVICE = "oversight.agents.runtime:ProgramService"
_AGAIN = 0.5
"""Seconds until a program of a lost node is run again."""


def find_runner(sandbox: Sandbox, workers: Workers) -> ProgramRunner:
    """Return the runner of programs: the local sandbox, or one of the same tier per node."""
    return _NodePrograms(workers, sandbox) if isinstance(workers, RayWorkers) else sandbox


class _NodePrograms:
    """Runs programs on the nodes in turn."""

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
        except RuntimeError as error:  # the program receives the error
            reply = error
        self._workers.send_message(actor, _SERVICE, session, number, reply)


class ProgramService:
    """Runs programs on a node, see `oversight.harness.cluster.NodeWorker`."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._sandboxes = dict[str, Sandbox]()
        self._opening = asyncio.Lock()
        self._hosts = dict[str, _DistantHost]()

    async def work(
        self, session: str, tier: str, what: Program | str, tasks: Sequence[Payload]
    ) -> AsyncIterator[tuple[Any, ...]]:
        """Run a program over tasks, or run code; yield its calls, then its result or error."""
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
        """Answer a call of a program, which may have ended."""
        if session in self._hosts:
            self._hosts[session].answer(number, reply)

    async def close(self) -> None:
        """End all sandboxes."""
        await self._stack.aclose()

    async def _run(self, tier: str, what: Program | str, tasks: Sequence[Payload], host: Host) -> Any:
        async with self._opening:
            if tier not in self._sandboxes:
                self._sandboxes[tier] = await self._stack.enter_async_context(open_sandbox(tier))
        sandbox = self._sandboxes[tier]
        return await (sandbox.run_code(what) if isinstance(what, str) else sandbox.run(what, tasks, host))


class _DistantHost(Host):
    """A host that forwards a program's calls through `said`, with None at the end."""

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
