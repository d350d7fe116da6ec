"""Which tiers there are, which of them work on this machine, and opening one."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from agents.sandbox.base import DEFAULT_LIMITS, Host, Payload, Sandbox, SandboxLimits
from harness import ConfigError, OversightError
from harness.types import Program

TIERS = ("monty", "cpython", "bubblewrap")
"""From the one that is there everywhere to the one that holds most."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Whether a tier works here, and what holds a program on it, or why it does not work."""

    name: str
    active: bool
    detail: str


def open_sandbox(tier: str = TIERS[0], limits: SandboxLimits = DEFAULT_LIMITS) -> Sandbox:
    """Return a tier's sandbox, to be opened with ``async with``.

    Raises
    ------
    ConfigError
        If there is no such tier, or this system cannot have it. That it does not start is a
        `SandboxError` when it is opened.
    """
    if tier not in TIERS:
        raise ConfigError(f"there is no sandbox tier {tier!r}; there are: {', '.join(TIERS)}")
    if tier == "monty":
        from agents.sandbox.monty import MontySandbox

        return MontySandbox(limits)
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise ConfigError(f"the sandbox tier {tier!r} needs Linux on x86-64; use 'monty'")
    from agents.sandbox.cpython import BubblewrapSandbox, CPythonSandbox

    return CPythonSandbox(limits) if tier == "cpython" else BubblewrapSandbox(limits)


async def probe_tiers() -> list[Tier]:
    """Start every tier and run a program on it."""
    return [await _try(name) for name in TIERS]


async def _try(name: str) -> Tier:
    program = Program("probe", "async def forward(task):\n    return task.text\n")
    try:
        async with open_sandbox(name) as sandbox:
            (outcome,) = await sandbox.run(program, [_TASK], Host())
            works = outcome.answer == _TASK["text"]
            return Tier(name, works, sandbox.layers if works else outcome.reason)
    except OversightError as error:
        return Tier(name, active=False, detail=str(error))


_TASK: Payload = {
    **dict.fromkeys(("options", "letters", "answers", "roles"), ()),
    "text": "here",
    "code_allowed": False,
}
