"""A sandbox as everything else sees it: it runs a program over tasks and lets it reach one host."""

from __future__ import annotations

import ast
import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from oversight.agents.sandbox import gate
from oversight.harness.types import Program

Payload = dict[str, Any]
"""What crosses the border: JSON and nothing else."""


class Host:
    """The only thing outside that a program reaches; this one is for code that may not call anything."""

    def begin(self, index: int) -> None:
        """Note that a task starts, possibly again: what it called before, it will call again."""

    async def ask(self, index: int, call: Payload) -> Payload:  # noqa: ARG002  hosts that answer use them
        """Answer a call of a task; an exception is raised in the program as ``RuntimeError``."""
        raise RuntimeError("this code may not call anything")


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What a program may use; one that passes a limit is stopped, and that is its own fault.

    Attributes
    ----------
    seconds
        Computing time between two calls; waiting for calls does not count.
    memory
        Bytes that a session may hold, for all its tasks together.
    calls
        Calls for one task.
    characters
        Longest answer, and most that one call carries.
    idle
        Seconds that a session may wait for nothing: no call under way, no word from it.
    total
        Seconds that a session may last in all, those while a call of it is under way left out.
    """

    seconds: float = 1.0
    memory: int = 256 << 20
    calls: int = 64
    characters: int = 200_000
    idle: float = 20.0
    total: float = 300.0


DEFAULT_LIMITS = SandboxLimits()
_LONGEST_REASON = 500
_KEPT = 64
"""Programs whose checked source is kept."""


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """What became of one task.

    Attributes
    ----------
    answer
        The text that ``forward`` returned; None if it returned none.
    reason
        Why there is none, in words: the program's exception, or the limit it passed.
    """

    answer: str | None
    reason: str = ""


def read_outcomes(found: Any, n: int, limits: SandboxLimits) -> list[ProgramOutcome]:
    """Read what a session says of its `n` tasks: pairs of answer (or None) and reason.

    A program can forge this, and so say what it likes of its own answers and nothing else.
    """
    pairs = found if isinstance(found, list) and len(found) == n else [None] * n
    return [read_outcome(pair, limits) for pair in pairs]


def read_outcome(pair: Any, limits: SandboxLimits) -> ProgramOutcome:
    """Read what a session says of one task."""
    match pair:
        case [str() as text, _] if len(text) > limits.characters:
            return ProgramOutcome(None, f"the answer is longer than {limits.characters:,} characters")
        case [str() as text, _]:
            return ProgramOutcome(_storable(text))
        case [None, str() as reason]:
            return ProgramOutcome(None, _storable(reason[:_LONGEST_REASON]))
    return ProgramOutcome(None, "the session said nothing that can be read")


def _storable(text: str) -> str:
    """Replace lone surrogates and zeros, which databases refuse."""
    return text.encode(errors="replace").decode().replace("\0", "?")


class Sandbox(ABC):
    """One tier. A sandbox is opened once (``async with``) and runs any number of programs.

    Parameters
    ----------
    limits
        What a program may use.

    Attributes
    ----------
    name
        ``"monty"``, ``"cpython"`` or ``"bubblewrap"``.
    layers
        What holds a program on this tier, in words; known once it is open.
    modules, language
        What a program may import, and use of Python, on this tier.
    sessions
        Most sessions at once, of programs and of code each.
    """

    name: str
    layers = ""
    modules = gate.MODULES
    language: str
    sessions: int

    def __init__(self, limits: SandboxLimits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        # A program's session waits while its code runs in another: two pools of permits, no deadlock.
        self._programs, self._code = (asyncio.Semaphore(self.sessions) for _ in range(2))
        self._passed = lru_cache(maxsize=_KEPT)(self._pass)  # a program that races is run many times

    @abstractmethod
    async def __aenter__(self) -> Self: ...

    @abstractmethod
    async def __aexit__(self, *exc: object) -> None: ...

    async def run(self, program: Program, tasks: Sequence[Payload], host: Host) -> list[ProgramOutcome]:
        """Run ``forward`` on every task, all in one session, and return the outcomes in order.

        Raises
        ------
        ProgramRefused
            If the static gate refuses the source.
        SandboxError
            If the sandbox itself cannot work.
        """
        return await self._run(self._passed(program), tasks, host)

    async def run_tree(self, tree: ast.Module, tasks: Sequence[Payload], host: Host) -> list[ProgramOutcome]:
        """Do the same with a parsed source, past the gate: the tier alone has to hold it."""
        return await self._run(self._unparse(tree), tasks, host)

    def _pass(self, program: Program) -> str:
        return self._unparse(gate.check_program(program))

    async def _run(self, source: str, tasks: Sequence[Payload], host: Host) -> list[ProgramOutcome]:
        """If one task stops the session, each is run in its own to see which.

        Calls made before are in the broker's cache, so that nothing is paid for twice. A process of it that
        dies by itself is not the program's fault: only what stops a session twice is put down to it.
        """
        try:
            return await self._answer(source, tasks, host)
        except Stopped:
            outcomes = []
            for j, task in enumerate(tasks):
                try:
                    outcomes += await self._answer(source, [task], _Shifted(host, j))
                except Stopped as stopped:
                    outcomes.append(ProgramOutcome(None, str(stopped)))
            return outcomes

    async def run_code(self, code: str) -> str:
        """Run Python that reaches nothing at all; return what it printed, or ``"error: …"``."""
        try:
            return await self._print(gate.check_code(code))
        except (gate.Refusal, Stopped) as error:
            return f"error: {error}"

    @abstractmethod
    def _unparse(self, tree: ast.Module) -> str:
        """The source that the tier runs; the tree may be changed."""

    @abstractmethod
    async def _answer(self, source: str, tasks: Sequence[Payload], host: Host) -> list[ProgramOutcome]:
        """Run all tasks in one session."""

    @abstractmethod
    async def _print(self, tree: ast.Module) -> str:
        """Run checked code and return what it printed."""

    def restrictions(self) -> str:
        """What a program may not use on this tier, in words for whoever writes programs."""
        limits, plain = self.limits, sorted(n for n in self.modules if not n.startswith("agents."))
        return f"""\
The source defines exactly one `async def forward(task)`, which returns a record or a text. At the top
stand only imports, constants, functions and classes; there is no `global`. Importable are only
{", ".join(plain)}; of asyncio only {", ".join(sorted(gate.ASYNCIO))}.
Not available: {", ".join(sorted(gate.NO_NAMES))}; names and attributes that begin with two underscores
(special methods may be defined); private attributes of other objects; files, sockets, processes, threads,
the environment, the clock. getattr and hasattr take a plain name in quotes. Randomness is seeded.
{self.language}
Limits: {limits.seconds:g} s of computing between two calls, {limits.memory >> 20} MiB, {limits.calls} calls
per item, {limits.total:g} s in all beside calls, {limits.characters:,} characters per call and per answer,
{gate.LONGEST:,} characters of source."""


class Stopped(Exception):
    """A session ended before its tasks did; the message says what one of them did."""


@dataclass(frozen=True, slots=True)
class _Shifted(Host):
    """The host of one task of many, as the only task of a session sees it."""

    host: Host
    index: int

    def begin(self, index: int) -> None:
        self.host.begin(self.index + index)

    async def ask(self, index: int, call: Payload) -> Payload:
        return await self.host.ask(self.index + index, call)
