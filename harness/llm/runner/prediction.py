"""One item becomes one prediction: ask, read the answer, and say what went wrong where it did."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.config import RunSpec
from harness.errors import FatalModelError, Fault, ModelError, TransientModelError
from harness.llm.answers import (
    Notation,
    Unreadable,
    answer_confidence,
    make_request,
    notation_of,
    parse_answer,
)
from harness.llm.limits import ask_with_retries
from harness.types import Item, Prediction, PredictionStatus, Source

if TYPE_CHECKING:
    from harness.llm.models import ModelReply, Request

MORE = 4
"""An answer that was cut by the token limit is asked for once more with this many times as many."""

_CUT = "length"


@dataclass(slots=True)
class _Calls:
    """What the calls for one item used, also those whose reply was not taken."""

    ask: Callable[[Request], Awaitable[ModelReply]]
    accepts: Callable[[str], bool]
    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    async def __call__(self, request: Request) -> ModelReply:
        self.attempts += 1
        reply = await self.ask(request)
        self.input_tokens += reply.input_tokens
        self.output_tokens += reply.output_tokens
        if reply.model and not self.accepts(reply.model):
            raise TransientModelError(f"{reply.model!r} answered", fault=Fault.WRONG_MODEL)
        return reply


async def predict(
    ask: Callable[[Request], Awaitable[ModelReply]],
    spec: RunSpec,
    item: Item,
    sample: int = 0,
    *,
    tries: int = 5,
    accepts: Callable[[str], bool] = lambda _: True,
) -> Prediction:
    """Ask about one item and read the answer.

    Passing faults are tried again; a last one becomes a prediction with status FAILED. An answer that
    the token limit cut before it could be read is asked for once more with a higher limit.

    Parameters
    ----------
    ask
        Sends one request.
    tries
        Most calls, not counting the one for a cut answer.
    accepts
        Whether an answer of the model of this name will do.

    Raises
    ------
    FatalModelError
        If a call failed in a way that no repetition mends.
    """
    started = time.perf_counter()
    calls = _Calls(ask, accepts)
    request, asked = make_request(spec, item), notation_of(spec.template)
    try:
        reply, _ = await ask_with_retries(calls, request, tries)
        if (
            reply.finish_reason == _CUT
            and request.max_tokens
            and isinstance(_read(item, reply, asked), Unreadable)
        ):
            more = replace(request, max_tokens=MORE * request.max_tokens)
            reply, _ = await ask_with_retries(calls, more, tries)
        return read_prediction(
            item,
            reply,
            sample,
            input_tokens=calls.input_tokens,
            output_tokens=calls.output_tokens,
            seconds=time.perf_counter() - started,
            attempts=calls.attempts,
            asked=asked,
        )
    except FatalModelError as error:
        raise FatalModelError(f"{spec.name}, item {item.id!r}: {error}") from error
    except TransientModelError as error:
        prediction = make_failed(item, f"{error.fault}: {error}", sample)
    except ModelError as error:
        prediction = make_failed(item, str(error), sample)
    return replace(
        prediction,
        input_tokens=calls.input_tokens,
        output_tokens=calls.output_tokens,
        seconds=time.perf_counter() - started,
        attempts=calls.attempts,
    )


def read_prediction(
    item: Item,
    reply: ModelReply,
    sample: int = 0,
    source: Source = Source.CALL,
    *,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    seconds: float = 0.0,
    attempts: int = 1,
    asked: Notation | None = None,
) -> Prediction:
    """Read an answer that came, by whatever way; unreadable ones say why.

    Tokens are the reply's own unless given, as they are where other calls were needed for it; `asked`
    is what was to be answered.
    """
    shown = _read(item, reply, asked)
    if isinstance(shown, Unreadable):
        status, reason = make_unreadable(shown, cut=reply.finish_reason == _CUT)
        reason = "content filter" if reply.finish_reason == "content_filter" else reason
        option, confidence = None, None
    else:
        status, option, reason = PredictionStatus.OK, item.permutation[shown], ""
        confidence = answer_confidence(reply.logprobs, item.shown_options, shown) if reply.logprobs else None
    return Prediction(
        item.id,
        option,
        status,
        reason,
        sample,
        raw=reply.text,
        input_tokens=reply.input_tokens if input_tokens is None else input_tokens,
        output_tokens=reply.output_tokens if output_tokens is None else output_tokens,
        seconds=seconds,
        attempts=attempts,
        confidence=confidence,
        source=source,
    )


def make_unreadable(answer: Unreadable, *, cut: bool) -> tuple[PredictionStatus, str]:
    """Status and reason of an answer that names no option; `cut` by the token limit."""
    if cut:
        return PredictionStatus.TRUNCATED, "cut by the token limit"
    return PredictionStatus.UNREADABLE, answer.reason


def make_failed(item: Item, reason: str, sample: int = 0, source: Source = Source.CALL) -> Prediction:
    """Record that no answer came."""
    return Prediction(item.id, None, PredictionStatus.FAILED, reason, sample, source=source)


def _read(item: Item, reply: ModelReply, asked: Notation | None) -> int | Unreadable:
    if reply.finish_reason == "content_filter":
        return Unreadable("content filter")
    cut = reply.finish_reason == _CUT
    return parse_answer(reply.text, item.shown_options, cut=cut, asked=asked)
