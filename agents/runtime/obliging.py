"""The answers of a free run, in a broker's place: nothing is sent, so nothing is cached, paid or retried."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from harness.llm import ModelReply, Request


@dataclass(slots=True)
class ObligingBroker:
    """Fills in every field that is asked for: of choices the first or the last, else some words.

    Attributes
    ----------
    pick
        Which of the choices: 0 or -1.
    asked
        The draws, each once, as a broker would pay for them.
    """

    pick: int
    asked: set[tuple[str, str]] = field(default_factory=set)

    async def ask(self, request: Request, path: str, **_: bool) -> ModelReply:
        """Answer as the request's schema says."""
        self.asked.add((request.text(), path))
        properties: dict[str, Any] = (request.schema or {}).get("properties", {})
        fields = {
            name: spec["enum"][self.pick] if "enum" in spec else "Some words."
            for name, spec in properties.items()
        }
        return ModelReply(json.dumps(fields), "stop", 1, 1)
