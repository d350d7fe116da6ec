"""A model's reply about an item becomes a prediction, which says what went wrong where something did."""

from __future__ import annotations

from harness.llm.answers import Notation, Unreadable, answer_confidence, parse_answer
from harness.llm.limits import CallCounts
from harness.llm.models import ModelReply
from harness.types import Item, Prediction, PredictionStatus, Source

CUT = "length"
"""Why a reply ended that the token limit cut."""


def read_prediction(
    item: Item,
    sample: int,
    reply: ModelReply,
    counts: CallCounts,
    *,
    source: Source = Source.CALL,
    asked: Notation | None = None,
) -> Prediction:
    """Read an answer that came, by whatever way; unreadable ones say why.

    Parameters
    ----------
    counts
        What it took, with other calls that were needed for it.
    asked
        What was to be answered: a letter or an option's text.
    """
    shown = read_option(item, reply, asked)
    option, status, reason, confidence = None, PredictionStatus.OK, "", None
    if isinstance(shown, Unreadable):
        status, reason = make_unreadable(shown, cut=reply.finish_reason == CUT)
    else:
        option = item.permutation[shown]
        if reply.logprobs:
            confidence = answer_confidence(reply.logprobs, item.shown_options, shown)
    return Prediction(
        item_id=item.id,
        option=option,
        status=status,
        reason=reason,
        sample=sample,
        raw=reply.text,
        input_tokens=counts.input_tokens,
        output_tokens=counts.output_tokens,
        seconds=counts.seconds,
        attempts=counts.attempts,
        confidence=confidence,
        source=source,
    )


def make_failed(
    item: Item, sample: int, reason: str, counts: CallCounts, source: Source = Source.CALL
) -> Prediction:
    """Record that no answer came."""
    return Prediction(
        item_id=item.id,
        option=None,
        status=PredictionStatus.FAILED,
        reason=reason,
        sample=sample,
        input_tokens=counts.input_tokens,
        output_tokens=counts.output_tokens,
        seconds=counts.seconds,
        attempts=counts.attempts,
        source=source,
    )


def make_unreadable(answer: Unreadable, *, cut: bool) -> tuple[PredictionStatus, str]:
    """Status and reason of an answer that names no option; `cut` by the token limit."""
    if cut:
        return PredictionStatus.TRUNCATED, "cut by the token limit"
    return PredictionStatus.UNREADABLE, answer.reason


def read_option(item: Item, reply: ModelReply, asked: Notation | None) -> int | Unreadable:
    """Which of the options, in display order, a reply names."""
    if reply.finish_reason == "content_filter":
        return Unreadable("content filter")
    return parse_answer(reply.text, item.shown_options, cut=reply.finish_reason == CUT, asked=asked)
