"""What a sandbox is to everything else: it runs a program over tasks and lets it reach one function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agents.program import Program

Payload = dict[str, Any]
"""What crosses the border: JSON and nothing else."""

Ask = Callable[[int, Payload], Awaitable[Payload]]
"""``ask(index of the task, call) -> reply``: the only way out of a sandbox."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use; a program that passes one is stopped, and that is its own fault.

    Attributes
    ----------
    seconds
        Computing time for one item, without the waiting for calls.
    memory
        Bytes that a session may hold, for all its items together.
    calls
        Calls for one item.
    output
        Characters of an answer, and of all arguments of one call.
    idle
        Seconds that a session may wait for nothing.
    """

    seconds: float = 1.0
    memory: int = 256 << 20
    calls: int = 64
    output: int = 200_000
    idle: float = 5.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one task.

    Attributes
    ----------
    answer
        The text that ``forward`` returned; None if it returned none.
    reason
        Why there is none, in words: the program's exception, or the limit it passed.
    broken
        Whether the sandbox, not the program, failed.
    """

    answer: str | None
    reason: str = ""
    broken: bool = False


class Sandbox(Protocol):
    """One tier. A sandbox is opened once (``async with``) and runs any number of programs."""

    @property
    def name(self) -> str:
        """``"monty"``, ``"cpython"`` or ``"bubblewrap"``."""
        ...

    async def run(self, program: Program, tasks: Sequence[Payload], ask: Ask) -> list[Outcome]:
        """Run ``forward`` on every task, all in one session, and return the outcomes in order.

        Raises
        ------
        SandboxError
            If the sandbox itself cannot work.
        """
        ...

    def restrictions(self) -> str:
        """What a program may not use on this tier, in words for whoever writes programs."""
        ...
