"""A model that answers by a script, for programs whose calls are to be counted and read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from oversight.harness.llm import ModelReply, Request


def obliging(request: Request) -> str:
    """Reply with all fields that are asked for, in reverse order; of choices, the first."""
    if request.schema is None:
        system = request.messages[0].content
        parts = re.findall(r"^([A-Z ]+): (?:.*one of: ([^,\n]+).*|.*)$", system, re.MULTILINE)
        return "\n".join(f"{name}: {choice or 'some ' + name.lower()}" for name, choice in reversed(parts))
    properties: dict[str, Any] = dict(request.schema["properties"])
    fields = {name: spec.get("enum", [f"some {name}"])[0] for name, spec in properties.items()}
    return json.dumps(dict(reversed(fields.items())))


@dataclass
class Scripted:
    """Answers with what `say` makes of a request; keeps all requests."""

    say: Callable[[Request], str | ModelReply | Exception] = obliging
    requests: list[Request] = field(default_factory=list)

    async def ask(self, request: Request) -> ModelReply:
        self.requests.append(request)
        said = self.say(request)
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, ModelReply) else ModelReply(said, "stop", 100, 10)

    async def close(self) -> None:
        pass
