"""Generated code runs here and nowhere else: behind a gate, in a process that owns nothing."""

from agents.sandbox.base import Ask, Limits, Outcome, Payload, Sandbox

__all__ = ["Ask", "Limits", "Outcome", "Payload", "Sandbox"]
