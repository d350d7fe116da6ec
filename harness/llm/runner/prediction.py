"""A model's reply about an item becomes a prediction: how sure it was, or what went wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.llm.runner.parsing import Notation, Unreadable, option_letters_of, parse_answer
from harness.types import Item, Prediction, PredictionStatus, Source

if TYPE_CHECKING:
    from harness.llm.models import CallCounts, ModelReply

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


def answer_confidence(
    logprobs: Sequence[tuple[str, float]], shown_options: Sequence[str], shown: int
) -> float | None:
    """Probability of the tokens that name the option.

    The last occurrence of the option's letter as a token of its own, or of its text, is taken as the
    place where the answer was given; the probability of the tokens that spell it is their product.
    It is the model's own, given all it wrote before: no frequency of being right.

    Parameters
    ----------
    logprobs
        Tokens of the whole answer with their log-probabilities.
    shown_options
        The options in display order.
    shown
        Position of the option that was read.

    Returns
    -------
    float or None
        In [0, 1]; None if there are no log-probabilities, or the tokens do not spell the option.
    """
    letter = option_letters_of(len(shown_options))[shown]
    for token, logprob in reversed(logprobs):
        if token.strip(" \n\t\"'*_`()[]{}:.").upper() == letter:
            return _probability(logprob)
    text = "".join(token for token, _ in logprobs)
    named = re.compile(rf"(?<![\w.-]){re.escape(shown_options[shown])}(?!\w)", re.IGNORECASE)
    occurrences = [match.span() for match in named.finditer(text)]
    if not occurrences:
        return None
    (start, end), place, total = occurrences[-1], 0, 0.0
    for token, logprob in logprobs:
        if place < end and place + len(token) > start:
            total += logprob
        place += len(token)
    return _probability(total)


def _probability(logprob: float) -> float | None:
    # Servers that mask tokens by a grammar may say -inf or nan; some say a little more than 0.
    return math.exp(min(0.0, logprob)) if not math.isnan(logprob) else None
