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
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from agents.sandbox import gate
from agents.sandbox.base import DEFAULT_LIMITS, Nobody, Outcome, Stopped, read_outcomes, run_together
from agents.sandbox.channel import LONGEST_LINE, converse
from agents.sandbox.prelude_text import prelude_text
from agents.sandbox.restrictions import CPYTHON, restrictions
from agents.sandbox.shim import strip_own
from harness.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.program import Program
    from agents.sandbox.base import Host, Limits, Payload

ZYGOTE = Path(__file__).parent / "jail" / "zygote.py"
PYTHON = Path(sys.executable).resolve()
_SESSIONS = 8
_START_SECONDS = 30
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

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._worker: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._turn = asyncio.Lock()
        self._free = asyncio.Semaphore(_SESSIONS)
        self._free_code = asyncio.Semaphore(_SESSIONS)
        self._count = 0
        self.layers = ""

    def command(self) -> list[str]:
        """The worker's command line."""
        return [str(PYTHON), "-I", "-S", str(ZYGOTE)]

    async def __aenter__(self) -> Self:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            try:
                self._worker = subprocess.Popen(  # noqa: ASYNC220, S603  a moment; the command is ours
                    self.command(),
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    env={},
                    cwd="/",
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise SandboxError(f"the {self.name} worker cannot be started: {error}") from error
        ours.setblocking(False)
        self._control = ours
        text = prelude_text(stand_ins=False).encode()
        try:
            await self._tell(f"{len(text):<64}".encode() + text)
            word = await asyncio.wait_for(self._hear(), _START_SECONDS)
        except (OSError, TimeoutError) as error:
            word = str(error)
        if word.startswith("ready: "):
            self.layers = self.around + word.removeprefix("ready: ")
        else:
            raise SandboxError(
                f"the {self.name} worker cannot be started: {await self._last_words() or word}"
            )
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._control is not None:
            self._control.close()
        if self._worker is not None:
            self._worker.kill()
            await asyncio.to_thread(self._worker.communicate)

    def restrictions(self) -> str:
        """See `agents.sandbox.base.Sandbox`."""
        return restrictions(self.limits, CPYTHON)

    async def run(self, program: Program, tasks: Sequence[Payload], host: Host) -> list[Outcome]:
        """See `agents.sandbox.base.Sandbox`."""
        return await self.run_tree(gate.check(program), tasks, host)

    async def run_tree(self, tree: ast.Module, tasks: Sequence[Payload], host: Host) -> list[Outcome]:
        """See `agents.sandbox.base.Sandbox`."""
        source = ast.unparse(strip_own(tree))

        async def session(some: Sequence[Payload], host: Host) -> list[Outcome]:
            async with self._free:
                found = await self._session(self._order(source, list(some)), len(some), host)
            if "stopped" in found:  # it cannot even be loaded: no task would fare better
                return [Outcome(None, str(found["stopped"]))] * len(some)
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
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            number = await self._start(theirs, tasks)
        how = "exit 0"
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=LONGEST_LINE)
        try:
            return await converse(reader, writer, order, tasks, host, self.limits)
        except EOFError:
            how = await self._end(number)
            number = 0
            raise Stopped(_death(how, self.limits)) from None
        finally:
            writer.close()
            if number:
                await self._end(number)

    async def _start(self, theirs: socket.socket, tasks: int) -> int:
        cpu = int(self.limits.seconds * max(tasks, 1)) + 1
        async with self._turn:
            self._count += 1
            words = f"start {self._count} {self.limits.memory} {cpu}".encode()
            try:
                socket.send_fds(self._open(), [words], [theirs.fileno()])
                if await self._hear() != "started":
                    raise SandboxError(f"the {self.name} worker is gone")
            except OSError as error:
                raise SandboxError(f"the {self.name} worker is gone: {error}") from error
            return self._count

    async def _end(self, number: int) -> str:
        async with self._turn:
            try:
                await self._tell(f"end {number}".encode())
                return await self._hear()
            except OSError as error:
                raise SandboxError(f"the {self.name} worker is gone: {error}") from error

    def _open(self) -> socket.socket:
        if self._control is None:
            raise SandboxError("the sandbox is not open; use it in `async with`")
        return self._control

    async def _tell(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._open(), data)

    async def _hear(self) -> str:
        return (await asyncio.get_running_loop().sock_recv(self._open(), 256)).decode()

    async def _last_words(self) -> str:
        if self._worker is None:
            return ""
        self._worker.kill()
        _, errors = await asyncio.to_thread(self._worker.communicate)
        lines = errors.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def _death(how: str, limits: Limits) -> str:
    kind, _, number = how.partition(" ")
    if kind == "signal" and int(number) in _TOO_LONG:
        return f"it computed for more than {limits.seconds:g} s between two calls"
    return f"it crashed the interpreter ({how})"
