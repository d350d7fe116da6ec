"""Which tiers there are, which of them work on this machine, and opening one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.sandbox.base import DEFAULT_LIMITS
from agents.sandbox.monty import MontySandbox
from harness.errors import ConfigError

if TYPE_CHECKING:
    from agents.sandbox.base import Limits, Sandbox

TIERS = ("monty",)


def open_sandbox(tier: str = "monty", limits: Limits = DEFAULT_LIMITS) -> Sandbox:
    """Return a tier's sandbox, to be opened with ``async with``."""
    if tier == "monty":
        return MontySandbox(limits)
    if tier == "cpython":
        from agents.sandbox.cpython import CPythonSandbox
        return CPythonSandbox(limits)
    raise ConfigError(f"there is no sandbox tier {tier!r}; there are: {', '.join(TIERS)}")

def probe():
    ...
