"""The default tier: Monty, a Python interpreter without files, sockets or processes.

It runs in a separate process that starts with an empty environment. Programs run as Monty's byte code, never
as CPython's, so they have no access to CPython's internals. The only function outside the interpreter that a
program can reach is the one that makes calls. Each session runs one task.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import Any, Self

from pydantic_monty import (
    AsyncFunctionSnapshot,
    AsyncFutureSnapshot,
    AsyncMonty,
    AsyncMontySession,
    CollectString,
    ExternalSettledResult,
    MontyComplete,
    MontyCrashedError,
    MontyError,
)

from oversight.agents.sandbox import gate
from oversight.agents.sandbox.base import Host, Payload, Sandbox, Stopped, TimedHost
from oversight.agents.sandbox.shim import for_monty, prelude_text
from oversight.harness import SandboxError

_RUN = "await _answer(forward, _payload, _host)"
# Programs see the same fixed time as in the jail of the other tiers.
_NOW = datetime(2000, 1, 1, tzinfo=UTC)
_SETTLING = 0.05
"""Seconds to wait after the pool is closed."""
_PRINTED = 1 << 20
_ROUND_TRIPS = 4
"""Maximum number of suspensions per call: the call, its reply, a name lookup, a sleep."""


class MontySandbox(Sandbox):
    """Runs programs in separate Monty processes; see `oversight.agents.sandbox.base.Sandbox`."""

    name = "monty"
    layers = "an interpreter without files, sockets or processes; a process of its own, empty environment"
    modules = gate.MODULES - {"enum", "heapq", "operator", "textwrap"}
    language = """\
The interpreter is a subset of Python. It has no class inheritance (so no exceptions or enumerations of
your own), no yield, no async with, no property, staticmethod or classmethod, and no str.maketrans; classes
may define methods but __len__ is not called. Semaphores and locks do not exist; asyncio.gather does."""
    sessions = 64  # each session has a process of about 10 MB
    _pool: AsyncMonty | None = None

    async def __aenter__(self) -> Self:
        try:
            self._pool = await AsyncMonty(max_processes=2 * self.sessions).__aenter__()
        except (OSError, RuntimeError, MontyError) as error:
            raise SandboxError(f"Monty's process cannot be started: {error}") from error
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._pool is not None:
            await self._pool.__aexit__(*exc)
            self._pool = None
            # Wait, because the process aborts if it exits while Monty's threads release their memory.
            await asyncio.sleep(_SETTLING)

    def _unparse(self, tree: ast.Module) -> str:
        return f"{prelude_text(stand_ins=True)}\n\n{for_monty(tree)}"

    async def _answer(self, source: str, task: Payload, host: TimedHost) -> Any:
        async with self._session(self.limits.calls) as monty:
            await _feed(monty, source)
            return await host.bound(_converse(monty, task, host))

    async def _print(self, tree: ast.Module) -> str:
        printed = CollectString(self.limits.characters)
        text = for_monty(tree)
        async with self._code, self._session(0) as monty:
            await _feed(monty, prelude_text(stand_ins=True))
            host = TimedHost(Host(), 0, self.limits.total)
            await host.bound(_feed(monty, text, printed))
        return printed.output

    @asynccontextmanager
    async def _session(self, calls: int) -> AsyncIterator[AsyncMontySession]:
        if self._pool is None:
            raise SandboxError("the sandbox is not open; use it in `async with`")
        session = self._pool.checkout(
            limits={
                "max_turn_duration_secs": self.limits.seconds,
                "max_memory": self.limits.memory,
                "max_suspensions": 1000 + calls * _ROUND_TRIPS,
            },
            os_policy={"sleep": "zero", "random_start": {"seed": 0}, "datetime": _NOW},
        )
        async with session as monty:
            yield monty


async def _converse(monty: AsyncMontySession, task: Payload, host: TimedHost) -> Any:
    """Run the program on a task, answer its calls, and return its answer.

    When the program waits, it always receives the reply to its earliest open call first. So its behaviour
    never depends on which reply arrived first.
    """
    under_way: dict[int, asyncio.Task[Payload]] = {}
    try:
        with _ending():
            step = await monty.feed_start(
                _RUN,
                inputs={"_payload": task},
                external_lookup={"_host": host.ask},
                print_callback=CollectString(_PRINTED),
            )
            while not isinstance(step, MontyComplete):
                if isinstance(step, AsyncFutureSnapshot):
                    earliest = min(step.pending_call_ids)
                    step = await step.resume({earliest: await _settle(under_way.pop(earliest))})
                elif isinstance(step, AsyncFunctionSnapshot) and step.function_name == "_host":
                    call = step.args[0] if len(step.args) == 1 else {}
                    under_way[step.call_id] = asyncio.create_task(host.ask(call))
                    step = await step.resume({"future": ...})
                else:
                    step = await step.resume_auto()
            return step.output
    finally:
        for asked in under_way.values():
            asked.cancel()


async def _settle(reply: asyncio.Task[Payload]) -> ExternalSettledResult:
    try:
        return {"return_value": await reply}
    except RuntimeError as error:
        return {"exception": error}


async def _feed(monty: AsyncMontySession, text: str, printed: CollectString | None = None) -> None:
    with _ending():
        await monty.feed_run(text, print_callback=printed or CollectString(_PRINTED))


@contextmanager
def _ending() -> Iterator[None]:
    """Turn a crash or an error of Monty into Stopped, which counts against the program."""
    try:
        yield
    except MontyCrashedError:
        raise Stopped("the program crashed the interpreter") from None
    except MontyError as error:
        inner = error.exception()
        raise Stopped(f"{type(inner).__name__}: {inner}") from None
