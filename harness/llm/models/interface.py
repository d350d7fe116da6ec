"""A model as the runner and workflows know it: something that answers a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import orjson

from oversight.harness.errors import Fault, TransientModelError
from oversight.harness.output import shorten

MOST_TOKENS = 20_000_000
"""Of one reply; twice the longest context that any model has."""
LEAST_LOGPROB, LARGEST_LOGPROB = -1e9, 0.01
"""Some servers say a little more than 0."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent to a model, and nothing about which model or endpoint it goes to.

    Attributes
    ----------
    messages
        The conversation; the last turn is the one to answer.
    temperature, max_tokens
        None leaves them to the endpoint.
    stop
        Texts that end the answer.
    schema
        JSON Schema that the answer must follow; None asks for free text.
    logprobs
        Whether the answer's log-probabilities are wanted.
    constraint
        Further fields of the body that constrain the answer in the server's own way.
    """

    messages: tuple[Message, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None
    logprobs: bool = False
    constraint: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, prompt: str, **settings: Any) -> Request:
        """Make a request of one user message."""
        return cls((Message("user", prompt),), **settings)

    @property
    def conversation(self) -> str:
        """System prompt and messages as one text, separated by blank lines."""
        return "\n\n".join(message.content for message in self.messages)

    def text(self) -> str:
        """Write all of it as JSON in one fixed way, to be hashed or stored."""
        # By hand: `asdict` copies all of it, which costs more than everything else about a call.
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        if fields["constraint"] is None:  # as it was before there were any, since replies are found by it
            del fields["constraint"]
        fields["messages"] = [{"role": m.role, "content": m.content} for m in self.messages]
        return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode()

    @classmethod
    def read(cls, text: str) -> Request:
        """The request that was written so."""
        fields = orjson.loads(text)
        messages = tuple(Message(**message) for message in fields.pop("messages"))
        return cls(messages, **{**fields, "stop": tuple(fields["stop"])})


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's answer as it came, every field of its type, whoever made it.

    Attributes
    ----------
    text
        What it wrote; may be empty.
    finish_reason
        Why it stopped: ``"stop"``, ``"length"`` or ``"content_filter"``, whatever the endpoint calls it.
    input_tokens, output_tokens
        As the endpoint counted them; 0 if it did not say.
    model
        Name of the model that answered, as the endpoint calls it; empty if it did not say.
    logprobs
        Tokens of the answer with their log-probabilities; empty if none were asked for or offered.
    is_partial
        Whether the endpoint left tokens of the answer out of its count.
    limits
        Requests that the endpoint takes, and seconds until so many are there again; None if it did not say.

    Raises
    ------
    TransientModelError
        ``Fault.MALFORMED``, naming the field that is of another type or out of range.
    """

    text: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    model: str = ""
    logprobs: tuple[tuple[str, float], ...] = ()
    limits: tuple[float, float] | None = None
    is_partial: bool = False

    def __post_init__(self) -> None:
        for name, text in (("text", self.text), ("finish_reason", self.finish_reason), ("model", self.model)):
            if not isinstance(text, str):
                raise _malformed(name, "text", text)
        for name, count in (("input_tokens", self.input_tokens), ("output_tokens", self.output_tokens)):
            if type(count) is not int or not 0 <= count <= MOST_TOKENS:
                raise _malformed(name, f"a whole number from 0 to {MOST_TOKENS:,}", count)
        for token, logprob in self.logprobs:
            if not isinstance(token, str):
                raise _malformed("logprobs", "tokens", token)
            if type(logprob) not in (float, int) or not LEAST_LOGPROB <= logprob <= LARGEST_LOGPROB:
                raise _malformed("logprobs", "finite numbers that are at most 0", logprob)


def _malformed(name: str, wanted: str, value: object) -> TransientModelError:
    message = f"{name} must be {wanted}, is {shorten(value)}"
    return TransientModelError(message, fault=Fault.MALFORMED)


class Model(Protocol):
    """One method; everything else (retries, concurrency, parsing, storing) is the runner's."""

    async def ask(self, request: Request) -> ModelReply:
        """Answer one request.

        Raises
        ------
        TransientModelError
            If another try may succeed.
        FatalModelError
            If none will.
        """
        ...

    async def close(self) -> None:
        """Free connections."""
        ...


class RunnableModel(Model, Protocol):
    """A model that can also be looked at before anything is paid for."""

    async def check(self) -> None:
        """Raise FatalModelError if it cannot answer at all."""
        ...
