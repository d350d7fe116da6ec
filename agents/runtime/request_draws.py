"""Base class of broker and replay: answers requests by key, and asks once for a better reply if needed."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

from oversight.harness.config import ModelSection
from oversight.harness.llm import Message, ModelReply, Request

OUTPUT_CAP = 2048
"""Token limit of a reply if a request sets none, because the budget needs a limit for each call."""


@dataclass(slots=True)
class CallUsage:
    """Counters of a broker: paid calls, calls found in the cache, failed calls, and repaired replies.

    `guessed` counts calls that are charged with an upper estimate, because their usage was not reported.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    repaired: int = 0
    guessed: int = 0


class RequestDraws(ABC):
    """Answers requests; each reply is identified by its model, request and path.

    Parameters
    ----------
    name
        Name of the model and its endpoint; part of the key of every stored call.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.spent = CallUsage()

    async def ask(
        self,
        request: Request,
        path: str,
        *,
        as_it_comes: bool = False,
        find_fault: Callable[[str], str] | None = None,
    ) -> ModelReply:
        """Answer a request from the cache, or call the model.

        Parameters
        ----------
        request
            The request.
        path
            Identifier of the draw, for example item/replicate/occurrence. The same request with another
            path is a new draw; the same request with the same path always has the same reply.
        as_it_comes
            Whether an empty or cut reply is accepted. If not, the request is sent again with twice the token
            limit, and a second empty or cut reply raises an error.
        find_fault
            Function that receives the text of a reply, and returns a message that asks the model for a
            better reply, or "" if the reply is usable. The second reply is not checked.

        Raises
        ------
        BudgetSpent
            If the call could cost more than the remaining budget.
        NoReply
            If the reply stays empty or cut short, or the endpoint refuses this request.
        TransientModelError
            If the call failed after all retries.
        FatalModelError
            If a call failed, and every retry would fail.
        """
        if request.max_tokens is None:
            request = replace(request, max_tokens=OUTPUT_CAP)
        reply = await self._draw(request, path, as_it_comes=as_it_comes)
        wish = find_fault(reply.text) if find_fault else ""
        if not wish:
            return reply
        self.spent.repaired += 1
        turns = (*request.messages, Message("assistant", reply.text), Message("user", wish))
        return add_price(reply, await self._draw(replace(request, messages=turns), f"{path}/repair"))

    async def _draw(self, request: Request, path: str, *, as_it_comes: bool = False) -> ModelReply:
        text = request.text()
        key = hashlib.sha256("\x1f".join((self._name, text, path)).encode()).hexdigest()
        return await self._answer(key, text, request, as_it_comes=as_it_comes)

    @abstractmethod
    async def _answer(self, key: str, text: str, request: Request, *, as_it_comes: bool) -> ModelReply:
        """Return the reply with this key; `text` is the serialized request."""


def name_model(settings: ModelSection) -> str:
    """Return a name made of a model's id, its endpoint and the settings that determine its answers."""
    return f"{settings.model} at {settings.where} with {json.dumps(settings.extra, sort_keys=True)}"


def add_price(first: ModelReply, second: ModelReply) -> ModelReply:
    """Return the second reply, charged with the tokens of both replies."""
    tokens = first.input_tokens + second.input_tokens, first.output_tokens + second.output_tokens
    return ModelReply(second.text, second.finish_reason, *tokens)
