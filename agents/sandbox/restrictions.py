"""What a program may use, in words; a proposer reads them before it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.sandbox import gate

if TYPE_CHECKING:
    from agents.sandbox.base import SandboxLimits

MONTY_MODULES = gate.MODULES - {"enum", "heapq", "operator", "textwrap"}

MONTY = """\
The interpreter is a subset of Python. It has no class inheritance (so no exceptions or enumerations of
your own), no yield, no async with, no property, staticmethod or classmethod, and no str.maketrans; classes
may define methods but __len__ is not called. Semaphores and locks do not exist; asyncio.gather does."""

CPYTHON = """\
The interpreter is CPython with the modules named above; everything else of Python works."""


def restrictions(limits: SandboxLimits, tier: str) -> str:
    """Describe the gate, a tier and its limits."""
    modules = MONTY_MODULES if tier == MONTY else gate.MODULES
    plain = sorted(name for name in modules if not name.startswith("agents."))
    return f"""\
The source defines exactly one `async def forward(task)`, which returns a record or a text. At the top
stand only imports, constants, functions and classes; there is no `global`. Importable are only
{", ".join(plain)}; of asyncio only {", ".join(sorted(gate.ASYNCIO))}.
Not available: {", ".join(sorted(gate.NO_NAMES))}; names and attributes that begin with two underscores
(special methods may be defined); private attributes of other objects; files, sockets, processes, threads,
the environment, the clock. getattr and hasattr take a plain name in quotes. Randomness is seeded.
{tier}
Limits: {limits.seconds:g} s of computing between two calls, {limits.memory >> 20} MiB, {limits.calls} calls
per item, {limits.characters:,} characters per call and per answer, {gate.LONGEST:,} characters of source."""
