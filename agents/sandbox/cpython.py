"""The second tier: CPython itself, in a process that can do nothing but compute and speak to us.

A worker is started clean (empty environment, isolated mode, no site packages) and forks for each
session; the child gives up its user, its limits, the file system, the network and nearly all system
calls before it sees the program: `agents.sandbox.jail`. Linux on x86-64 only.
"""

from __future__ import annotations

import ast
import asyncio
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from agents.sandbox import gate
from agents.sandbox.base import (
    DEFAULT_LIMITS,
    Host,
    Nobody,
    Payload,
    ProgramOutcome,
    SandboxLimits,
    Stopped,
    read_outcomes,
    run_together,
)
from agents.sandbox.channel import LONGEST_LINE, converse
from agents.sandbox.prelude_text import prelude_text
from agents.sandbox.restrictions import CPYTHON, restrictions
from agents.sandbox.shim import strip_own
from agents.sandbox.worker import Worker
from harness import SandboxError
from harness.types import Program

ZYGOTE = Path(__file__).parent / "jail" / "zygote.py"
PYTHON = Path(sys.executable).resolve()
_SESSIONS = 8
_TOO_LONG = {signal.SIGPROF, signal.SIGXCPU, signal.SIGKILL}


class CPythonSandbox:
    """Runs programs in forks of one locked-down worker; see `agents.sandbox.base.Sandbox`.

    Parameters
    ----------
    limits
        What a program may use.

    Attributes
    ----------
    layers
        What holds a session, as the worker found it when it tried.
    """

    name = "cpython"
    around = ""

    def __init__(self, limits: SandboxLimits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._worker: Worker | None = None
        # A program's session waits while its code runs in another: two pools of permits, no deadlock.
        self._free = asyncio.Semaphore(_SESSIONS)
        self._free_code = asyncio.Semaphore(_SESSIONS)
        self.layers = ""

    def command(self) -> list[str]:
        """The worker's command line."""
        return [str(PYTHON), "-I", "-S", str(ZYGOTE)]

    async def __aenter__(self) -> Self:
        worker = Worker(self.name, self.command())
        self.layers = self.around + await worker.prepare(prelude_text(stand_ins=False))
        self._worker = worker
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._worker is not None:
            await self._worker.close()
            self._worker = None

    def restrictions(self) -> str:
        """See `agents.sandbox.base.Sandbox`."""
        return restrictions(self.limits, CPYTHON)

    async def run(self, program: Program, tasks: Sequence[Payload], host: Host) -> list[ProgramOutcome]:
        """See `agents.sandbox.base.Sandbox`."""
        return await self.run_tree(gate.check_program(program), tasks, host)

    async def run_tree(self, tree: ast.Module, tasks: Sequence[Payload], host: Host) -> list[ProgramOutcome]:
        """See `agents.sandbox.base.Sandbox`."""
        source = ast.unparse(strip_own(tree))

        async def session(some: Sequence[Payload], host: Host) -> list[ProgramOutcome]:
            async with self._free:
                found = await self._session(self._order(source, list(some)), len(some), host)
            if "stopped" in found:  # it cannot even be loaded: no task would fare better
                return [ProgramOutcome(None, str(found["stopped"]))] * len(some)
            return read_outcomes(found.get("done"), len(some), self.limits)

        return await run_together(session, tasks, host)

    async def run_code(self, code: str) -> str:
        """See `agents.sandbox.base.Sandbox`."""
        try:
            source = ast.unparse(gate.check_code(code))
            async with self._free_code:
                found = await self._session(self._order(source, None), 0, Nobody())
        except (gate.Refusal, Stopped) as error:
            return f"error: {error}"
        printed = str(found.get("done", ""))[: self.limits.characters]
        return f"error: {found['stopped']}" if "stopped" in found else printed

    def _order(self, source: str, payloads: list[Payload] | None) -> dict[str, Any]:
        modules = sorted(name for name in gate.MODULES if not name.startswith("agents."))
        return {"source": source, "payloads": payloads, "modules": modules, "seconds": self.limits.seconds}

    async def _session(self, order: dict[str, Any], tasks: int, host: Host) -> dict[str, Any]:
        if self._worker is None:
            raise SandboxError("the sandbox is not open; use it in `async with`")
        worker = self._worker
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=LONGEST_LINE)
        try:
            with theirs:
                cpu_seconds = int(self.limits.seconds * max(tasks, 1)) + 1
                number = await worker.begin(theirs, self.limits.memory, cpu_seconds)
            try:
                return await converse(reader, writer, order, tasks, host, self.limits)
            except EOFError:
                how, number = await worker.end(number), 0
                raise Stopped(_death(how, self.limits)) from None
            finally:
                if number:
                    await worker.end(number)
        finally:
            writer.close()


def _death(how: str, limits: SandboxLimits) -> str:
    kind, _, number = how.partition(" ")
    if kind == "signal" and int(number) in _TOO_LONG:
        return f"it computed for more than {limits.seconds:g} s between two calls"
    return f"it crashed the interpreter ({how})"
