"""Generated code runs here and nowhere else: behind a gate, in a process that owns nothing."""

from agents.sandbox.base import DEFAULT_LIMITS, Host, Payload, ProgramOutcome, Sandbox, SandboxLimits
from agents.sandbox.tiers import TIERS, open_sandbox, probe_tiers

__all__ = [
    "DEFAULT_LIMITS",
    "TIERS",
    "Host",
    "Payload",
    "ProgramOutcome",
    "Sandbox",
    "SandboxLimits",
    "open_sandbox",
    "probe_tiers",
]
