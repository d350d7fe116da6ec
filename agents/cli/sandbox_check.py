"""The sandbox part of ``oversight doctor``: checks which tiers work on this machine."""

from __future__ import annotations

import asyncio

from oversight.agents.sandbox import TIERS, Host, Payload, open_sandbox
from oversight.harness import ConfigError, OversightError
from oversight.harness.types import Finding, Program

_PROBE = Program("probe", "async def forward(task):\n    return task.text\n")
_TASK: Payload = {
    **dict.fromkeys(("options", "letters", "answers", "roles"), ()),
    "text": "here",
    "code_allowed": False,
}


def check_sandbox() -> list[Finding]:
    """Start each tier and run a program in it. Returns one finding per tier.

    Only the default tier must work.
    """
    return [asyncio.run(_try(name)) for name in TIERS]


async def _try(name: str) -> Finding:
    what, state = f"sandbox {name!r}", "wrong" if name == TIERS[0] else "missing"
    try:
        async with open_sandbox(name) as sandbox:
            (outcome,) = await sandbox.run(_PROBE, [_TASK], Host())
            works = outcome.answer == _TASK["text"]
            return Finding(what, "ok", sandbox.layers) if works else Finding(what, state, outcome.reason)
    except ConfigError as error:  # the tier's package is not installed
        return Finding(what, "missing", str(error))
    except OversightError as error:
        return Finding(what, state, str(error))
