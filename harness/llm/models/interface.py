"""The interface of models that answer requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import orjson

from oversight.harness.errors import Fault, TransientModelError
from oversight.harness.output import shorten

ModelFunction: TypeAlias = Callable[[str], Any]
"""A function from a conversation to the answer, which is called instead of an endpoint."""
Tokens: TypeAlias = tuple[tuple[str, float], ...]
"""Tokens with their log-probabilities."""
MOST_TOKENS = 20_000_000
"""Largest plausible number of tokens of one call; larger reported numbers are errors."""
LEAST_LOGPROB, LARGEST_LOGPROB = -1e9, 0.01
"""Range of plausible log-probabilities; some servers report values slightly above 0."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """A request, independent of model and endpoint.

    Attributes
    ----------
    messages
        The turns of the conversation; the model answers the last turn.
    temperature, max_tokens
        Sampling temperature, and maximum number of tokens of the answer; None: the
        endpoint's default.
    stop
        Stop sequences: texts at which the model stops.
    schema
        JSON Schema that the answer must follow; None for free text.
    logprobs
        Whether log-probabilities of the answer are requested.
    constraint
        Additional body fields of one kind of server that restrict the answer; None if
        there are none.
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
        """Create a request with one user message; `settings` are the other fields."""
        return cls((Message("user", prompt),), **settings)

    @property
    def conversation(self) -> str:
        """All messages, including the system prompt, as one text with blank lines between them."""
        return "\n\n".join(message.content for message in self.messages)

    def text(self) -> str:
        """Serialize the request as JSON in a fixed order, so that it can be hashed or stored."""
        # `asdict` is not used, because it is slow: it copies everything.
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        if fields["constraint"] is None:  # stored replies of older versions have keys without this field
            del fields["constraint"]
        fields["messages"] = [{"role": m.role, "content": m.content} for m in self.messages]
        return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode()

    @classmethod
    def read(cls, text: str) -> Request:
        """Read a request from the JSON that `text` returns."""
        fields = orjson.loads(text)
        messages = tuple(Message(**message) for message in fields.pop("messages"))
        return cls(messages, **{**fields, "stop": tuple(fields["stop"])})


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's reply with validated fields.

    Attributes
    ----------
    text
        The answer; may be empty.
    finish_reason
        Reason why the answer ended: ``"stop"``, ``"length"`` (at the token limit) or
        ``"content_filter"``. Other words of endpoints are translated to these.
    input_tokens, output_tokens
        Tokens as counted by the endpoint; 0 if not reported.
    model
        Name of the answering model as the endpoint reports it; empty if not reported.
    logprobs
        Tokens of the answer with their log-probabilities; empty if not requested or not
        offered.
    alternatives
        For each token of `logprobs`, the most likely tokens at its position with their
        log-probabilities; empty if not offered.
    is_partial
        Whether `output_tokens` may omit tokens of the answer.
    limits
        Number of requests that the endpoint allows per window, and seconds until the
        window is reset; None if not reported.

    Raises
    ------
    TransientModelError
        If a field has the wrong type or is out of range; its fault is
        ``Fault.MALFORMED``.
    """

    text: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    model: str = ""
    logprobs: Tokens = ()
    alternatives: tuple[Tokens, ...] = ()
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
    """The interface of a model: one call per `ask`, without retries.

    The runner handles retries, concurrency, parsing and storing.
    """

    async def ask(self, request: Request) -> ModelReply:
        """Answer one request.

        Raises
        ------
        TransientModelError
            If another attempt may succeed.
        FatalModelError
            If no attempt can succeed.
        """
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


class RunnableModel(Model, Protocol):
    """A model that can be checked before any paid call."""

    async def check(self) -> None:
        """Raise `FatalModelError` if the model cannot answer."""
        ...
