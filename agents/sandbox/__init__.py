"""Generated code runs here and nowhere else: behind a gate, in a process that owns nothing."""

from agents.sandbox.base import DEFAULT_LIMITS, Host, Limits, Outcome, Payload, Sandbox
from agents.sandbox.tiers import TIERS, open_sandbox, probe

__all__ = [
    "DEFAULT_LIMITS",
    "TIERS",
    "Host",
    "Limits",
    "Outcome",
    "Payload",
    "Sandbox",
    "open_sandbox",
    "probe",
]
