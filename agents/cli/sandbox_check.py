"""The part of ``oversight doctor`` about the sandbox: which tiers work on this machine."""

from __future__ import annotations

import asyncio

from agents.sandbox import probe_tiers
from harness.types import Finding


def check_sandbox() -> list[Finding]:
    """One finding per tier; only the default one must work."""
    return [
        Finding(
            f"sandbox {tier.name!r}",
            "ok" if tier.active else ("wrong" if tier.name == "monty" else "missing"),
            tier.detail,
        )
        for tier in asyncio.run(probe_tiers())
    ]
