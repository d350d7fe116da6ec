"""List the sandbox tiers, and open one."""

from __future__ import annotations

import platform

from oversight.agents.sandbox.base import DEFAULT_LIMITS, Sandbox, SandboxLimits
from oversight.harness import ConfigError
from oversight.harness.distribution import require

TIERS = ("monty", "cpython", "bubblewrap")
"""Names of the tiers. The first works on every system; the last is the strictest."""


def open_sandbox(tier: str = TIERS[0], limits: SandboxLimits = DEFAULT_LIMITS) -> Sandbox:
    """Return a sandbox of a tier. The caller opens it with ``async with``.

    Raises
    ------
    ConfigError
        If the tier does not exist or is not available on this system. A tier that does not start raises
        `SandboxError` when it is opened.
    """
    if tier not in TIERS:
        raise ConfigError(f"there is no sandbox tier {tier!r}; there are: {', '.join(TIERS)}")
    if tier == "monty":
        require("pydantic_monty", "the sandbox tier 'monty'", "workflows")
        from oversight.agents.sandbox.monty import MontySandbox

        return MontySandbox(limits)
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise ConfigError(f"the sandbox tier {tier!r} needs Linux on x86-64; use 'monty'")
    from oversight.agents.sandbox.cpython import BubblewrapSandbox, CPythonSandbox

    return CPythonSandbox(limits) if tier == "cpython" else BubblewrapSandbox(limits)
