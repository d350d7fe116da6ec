"""The interface of a sandbox, which runs a program on tasks and passes the program's calls to a host."""

from __future__ import annotations

import ast
import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self, TypeVar

from oversight.agents.sandbox import gate
from oversight.harness.types import Program

Payload = dict[str, Any]
"""Data that enter or leave the sandbox; all values are JSON values."""
T = TypeVar("T")


class Host:
    """The only outside object that a program can reach. This base class refuses all calls."""

    def begin(self, index: int) -> None:
        """Record that a task starts or restarts; a restarted task makes the same calls again."""

    async def ask(self, index: int, call: Payload) -> Payload:  # noqa: ARG002  used by hosts that answer
        """Answer a call of a task. An exception becomes a ``RuntimeError`` in the program."""
        raise RuntimeError("this code may not call a model")


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Limits of a program. A program that exceeds a limit is stopped, and its prediction counts as wrong.

    Attributes
    ----------
    seconds
        CPU seconds between two calls; waiting for replies does not count.
    memory
        Bytes that a session may use.
    calls
        Maximum number of calls per task.
    characters
        Maximum number of characters of an answer and of a call.
    idle
        Seconds that a session may stay silent while none of its calls is open.
    total
        Seconds that a session may last, not counting time in which a call is open. All sessions of a run
        together may last `total` plus `seconds` per task.
    """

    seconds: float = 1.0
    memory: int = 64 << 20
    calls: int = 64
    characters: int = 200_000
    idle: float = 20.0
    total: float = 300.0


DEFAULT_LIMITS = SandboxLimits()
_LONGEST_REASON = 500
_KEPT = 64
"""Number of programs whose checked source is cached."""


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """Outcome of a program on one task.

    Attributes
    ----------
    answer
        The text that ``forward`` returned; None if it returned no text.
    reason
        Why the answer is missing: the program's exception, or the limit that the program exceeded.
    """

    answer: str | None
    reason: str = ""


def read_outcome(pair: Any, limits: SandboxLimits) -> ProgramOutcome:
    """Turn a session's result into an outcome.

    The result is a pair of the answer (None if missing) and the reason why the answer is missing. A program
    can forge this pair, but that affects only its own answer.
    """
    match pair:
        case [str() as text, _] if len(text) > limits.characters:
            return ProgramOutcome(None, f"the answer is longer than {limits.characters:,} characters")
        case [str() as text, _]:
            return ProgramOutcome(_storable(text))
        case [None, str() as reason]:
            return ProgramOutcome(None, _storable(reason[:_LONGEST_REASON]))
    return ProgramOutcome(None, "the session sent no readable result")


def _storable(text: str) -> str:
    """Replace unpaired surrogates and NUL characters by ``?``, because databases refuse them."""
    return text.encode(errors="replace").decode().replace("\0", "?")


class Sandbox(ABC):
    """One sandbox tier. A sandbox is opened once (``async with``) and runs any number of programs.

    Parameters
    ----------
    limits
        Limits of a program.

    Attributes
    ----------
    name
        ``"monty"``, ``"cpython"`` or ``"bubblewrap"``.
    layers
        Text that lists the barriers of this tier; complete once the sandbox is open.
    modules, language
        Modules that programs may import, and a text about the parts of Python that this tier supports.
    sessions
        Maximum number of concurrent sessions that run programs. The same maximum applies separately to
        sessions that run code written by a model.
    """

    name: str
    layers = ""
    modules = gate.MODULES
    language: str
    sessions: int

    def __init__(self, limits: SandboxLimits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        # Separate semaphores: with a shared one, programs that wait for their code could take all places.
        self._programs, self._code = (asyncio.Semaphore(self.sessions) for _ in range(2))
        # Cached, because a search runs each program many times.
        self._passed = lru_cache(maxsize=_KEPT)(self._pass)

    @abstractmethod
    async def __aenter__(self) -> Self: ...

    @abstractmethod
    async def __aexit__(self, *exc: object) -> None: ...

    async def run(self, program: Program, tasks: Sequence[Payload], host: Host) -> list[ProgramOutcome]:
        """Run ``forward`` on every task, each in a separate session. Returns the outcomes in order.

        A program cannot find out how many tasks there are, or which one it is working on. So a program
        behaves alike in a search and in later use, and a repeated run on a task makes the same calls.

        Raises
        ------
        ProgramRefused
            If the static gate refuses the source.
        SandboxError
            If the sandbox itself does not work.
        """
        return await self._run(self._passed(program), tasks, host)

    async def run_tree(self, tree: ast.Module, tasks: Sequence[Payload], host: Host) -> list[ProgramOutcome]:
        """Run a parsed source without the static gate, so that only the sandbox's barriers confine it."""
        return await self._run(self._unparse(tree), tasks, host)

    def _pass(self, program: Program) -> str:
        return self._unparse(gate.check_program(program))

    async def _run(self, source: str, tasks: Sequence[Payload], host: Host) -> list[ProgramOutcome]:
        left = self.limits.total + self.limits.seconds * len(tasks)

        async def answer(index: int) -> ProgramOutcome:
            nonlocal left
            # Try twice, because a process that dies without a reason is not the program's fault.
            for attempt in (1, 2):
                async with self._programs:
                    host.begin(index)
                    timed = TimedHost(host, index, min(self.limits.total, left))
                    try:
                        return read_outcome(await self._answer(source, tasks[index], timed), self.limits)
                    except Stopped as stopped:
                        if attempt == 2 or isinstance(stopped, StoodStill):
                            return read_outcome([None, str(stopped)], self.limits)
                    finally:
                        left -= timed.lasted()
            raise AssertionError

        answers = [asyncio.create_task(answer(index)) for index in range(len(tasks))]
        try:
            return await asyncio.gather(*answers)
        finally:
            for task in answers:
                task.cancel()

    async def run_code(self, code: str) -> str:
        """Run Python code that cannot make calls; return its output, or ``"error: …"``."""
        try:
            return await self._print(gate.check_code(code))
        except (gate.Refusal, Stopped) as error:
            return f"error: {error}"

    @abstractmethod
    def _unparse(self, tree: ast.Module) -> str:
        """Return the source that the tier runs; may modify `tree`."""

    @abstractmethod
    async def _answer(self, source: str, task: Payload, host: TimedHost) -> Any:
        """Run one task in a session. Returns the session's result."""

    @abstractmethod
    async def _print(self, tree: ast.Module) -> str:
        """Run checked code and return its output."""

    def restrictions(self) -> str:
        """Return a text for authors of programs that describes what this tier forbids."""
        limits, plain = self.limits, sorted(n for n in self.modules if not n.startswith("agents."))
        return f"""\
The source defines exactly one `async def forward(task)`, which returns a record or a text. At the top
stand only imports, constants, functions and classes; there is no `global`. Importable are only
{", ".join(plain)}; of asyncio only {", ".join(sorted(gate.ASYNCIO))}.
Not available: {", ".join(sorted(gate.NO_NAMES))}; names and attributes that begin with two underscores
(special methods may be defined); private attributes of other objects; files, sockets, processes, threads,
the environment. getattr and hasattr take a plain name in quotes. Randomness is seeded, and the clock stands.
{self.language}
Limits: {limits.seconds:g} s of computing between two calls, {limits.memory >> 20} MiB, {limits.calls} calls
per item, {limits.total:g} s in all beside calls, {limits.characters:,} characters per call and per answer,
{gate.LONGEST:,} characters of source."""


class Stopped(Exception):
    """A session ended before the program returned; the message gives the reason."""


class StoodStill(Stopped):
    """A session waited or lasted too long. It is not repeated, because it would last as long again."""


class TimedHost:
    """The host of one session. It limits the session's time, not counting time in which a call is open.

    Parameters
    ----------
    host, index
        The host that answers calls, and the index of this session's task.
    total
        Seconds that the session may last, not counting time in which a call is open.
    """

    def __init__(self, host: Host, index: int, total: float) -> None:
        self._host, self._index, self._total = host, index, total
        self._under_way = 0
        self._free = 0.0
        self._since = self._started = time.monotonic()

    async def ask(self, call: Payload) -> Payload:
        """Answer a call; the time that this takes does not count towards the session's time limit."""
        if not self._under_way:
            self._since = time.monotonic()
        self._under_way += 1
        try:
            return await self._host.ask(self._index, call)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._free += time.monotonic() - self._since

    async def bound(self, session: Coroutine[Any, Any, T]) -> T:
        """Return a session's result. If the session lasts too long, stop it and raise StoodStill."""
        task = asyncio.create_task(session)
        try:
            while not task.done():
                left = self._total - self.lasted()
                if left <= 0:
                    raise StoodStill(
                        f"the program ran longer than {max(0.0, self._total):.3g} s, not counting its calls"
                    )
                await asyncio.wait({task}, timeout=left)
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    def lasted(self) -> float:
        """Return the seconds since this object was created, not counting time in which a call was open."""
        now = time.monotonic()
        return now - self._started - self._free - (now - self._since if self._under_way else 0.0)
