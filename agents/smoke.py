"""A program tried for free: against a scripted model that answers anything asked of it.

What crashes, loops or returns nothing here would do so with a paid model, too. On the way the calls
are counted, which is what a search costs before anything has been spent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.broker import Broker
from agents.evaluate import evaluate
from harness.llm.cost import Budget
from harness.llm.model import Reply
from harness.types import PredictionStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.program import Program
    from agents.roles import Role
    from agents.sandbox import Sandbox
    from agents.shape import Shape
    from harness.llm.model import Request
    from harness.types import Item

ITEMS = 3
_CHARACTERS_PER_TOKEN = 4
_WORDS = "because of the one detail that decides this question"


class ScriptedModel:
    """Fills every field: the first of its choices, or a few words."""

    async def ask(self, request: Request) -> Reply:
        """Answer as the schema wants it."""
        properties = dict(request.schema or {}).get("properties", {})
        fields = {name: rule.get("enum", [_WORDS])[0] for name, rule in properties.items()}
        text = json.dumps(fields, ensure_ascii=False)
        sent = sum(len(m.content) for m in request.messages)
        return Reply(text, "stop", sent // _CHARACTERS_PER_TOKEN, len(text) // _CHARACTERS_PER_TOKEN)

    async def close(self) -> None:
        """Nothing to free."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What the scripted run showed: why the program cannot be used (or nothing), and its cost per item."""

    reason: str
    calls: float
    tokens: float


async def try_out(
    program: Program, items: Sequence[Item], roles: Sequence[Role], sandbox: Sandbox, shape: Shape
) -> Trial:
    """Run a program on a few items without a paid call.

    Raises
    ------
    ProgramRefused
        If the static gate refuses the source.
    """
    few = items[:ITEMS]
    broker = Broker(ScriptedModel(), "scripted", budget=Budget(None, None, None))
    found = await evaluate(program, few, broker=broker, roles=roles, sandbox=sandbox, shape=shape)
    bad = [p for p in found if p.status is not PredictionStatus.OK]
    tokens = sum(p.input_tokens + p.output_tokens for p in found) / len(few)
    calls = (broker.spent.calls + broker.spent.cached) / len(few)
    return Trial(bad[0].reason or "it returned no option" if bad else "", calls, tokens)
