"""Turn a model's reply about an item, or an answer from elsewhere, into a prediction.

A prediction includes the model's certainty, or the reason of a failure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from oversight.harness.errors import DataError, Fault
from oversight.harness.llm.models import CUT, FILTERED
from oversight.harness.llm.reading import (
    ANY_FORM,
    ReplyForm,
    ReplyReading,
    Step,
    cut_thoughts,
    option_letters_of,
    read_reply,
)
from oversight.harness.output import redact
from oversight.harness.types import (
    OPEN_ANSWER,
    ForeignAnswer,
    Item,
    Prediction,
    PredictionStatus,
    Source,
    Usage,
    find_option,
)

if TYPE_CHECKING:
    from oversight.harness.llm.models import ModelReply

_BRIEF = 200
"""Number of characters from which a text is cached, because it may recur."""


def read_prediction(
    item: Item,
    sample: int,
    reply: ModelReply,
    counts: Usage,
    *,
    source: Source = Source.CALL,
    asked: ReplyForm = ANY_FORM,
) -> Prediction:
    """Read an answer as a prediction; if the answer is unreadable, the prediction contains the reason.

    If reading raises an exception, the answer counts as failed and its reason names the exception, so that no
    reply can end a run.

    Parameters
    ----------
    counts
        Usage of the answer, including other calls made for it.
    asked
        The requested form.
    """
    option, step, status, reason, confidence = None, "", PredictionStatus.OK, "", None
    try:
        read = read_option(item, reply, asked)
        if read.option is None:
            status, reason = make_unreadable(read, cut=reply.finish_reason == CUT)
        else:
            option, step = item.permutation[read.option], str(read.step)
            if reply.logprobs:
                confidence = answer_confidence(reply.logprobs, item.shown_options, read.option)
    except Exception as error:  # noqa: BLE001  any error in reading affects this item only
        status, reason = PredictionStatus.FAILED, f"{Fault.UNEXPECTED}: {type(error).__name__}: {error}"
        option, step = None, ""
    return Prediction(
        item_id=item.id,
        option=option,
        status=status,
        reason=reason,
        sample=sample,
        raw=reply.text,
        confidence=confidence,
        input_tokens=counts.input_tokens,
        output_tokens=counts.output_tokens,
        seconds=counts.seconds,
        attempts=counts.requests,
        source=source,
        guessed=counts.guessed,
        step=step,
    )


def make_failed(
    item: Item, sample: int, reason: str, counts: Usage, source: Source = Source.CALL
) -> Prediction:
    """Make the prediction of an item without an answer; passwords in URLs are removed from the reason."""
    status = PredictionStatus.FAILED
    return Prediction(
        item.id,
        None,
        status,
        redact(reason),
        sample,
        source=source,
        attempts=counts.requests,
        input_tokens=counts.input_tokens,
        output_tokens=counts.output_tokens,
        seconds=counts.seconds,
        guessed=counts.guessed,
    )


def make_unreadable(read: ReplyReading, *, cut: bool) -> tuple[PredictionStatus, str]:
    """Return status and reason of an answer that names no option.

    `cut` says whether the answer ended at the token limit.
    """
    if cut:
        return PredictionStatus.TRUNCATED, "cut by the token limit"
    return PredictionStatus.UNREADABLE, read.reason


def read_option(item: Item, reply: ModelReply, asked: ReplyForm) -> ReplyReading:
    """Return which of the options, in display order, a reply names."""
    if reply.finish_reason == FILTERED:
        return ReplyReading(None, reason="content filter")
    if item.is_statement:
        return read_open_answer(reply.text)
    return read_reply(reply.text, item.shown_options, asked, cut=reply.finish_reason == CUT)


def read_open_answer(text: str) -> ReplyReading:
    """Read an open answer, which counts as the item's only option unless it is empty after its reasoning."""
    is_answer = bool(cut_thoughts(text).strip())
    return ReplyReading(0, Step.WHOLE) if is_answer else ReplyReading(None, reason="empty")


def answer_confidence(
    logprobs: Sequence[tuple[str, float]], shown_options: Sequence[str], shown: int
) -> float | None:
    """Return the model's probability of the tokens that name the option.

    The answer is assumed to be the last place where the option's letter is a separate token, or where the
    option's text occurs. The result is the product of the probabilities of the tokens there. It is the
    model's own probability, given everything it wrote before, and not a frequency of being right.

    Parameters
    ----------
    logprobs
        Tokens of the whole answer with their log-probabilities.
    shown_options
        The options in display order.
    shown
        Position of the option that was read from the reply.

    Returns
    -------
    float or None
        Probability in [0, 1]; None without log-probabilities, or if the tokens do not spell the option.
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
    # Servers that mask tokens by a grammar may return -inf or nan; some return slightly more than 0.
    return math.exp(min(0.0, logprob)) if not math.isnan(logprob) else None


def refuse_stranger(answer: ForeignAnswer, file: object) -> DataError:
    """Make the error for an answer that belongs to no item of the study."""
    told = f"no item of the study has the id {answer.id!r} or this text"
    return DataError(told, file=file, line=answer.line)


def read_foreign_option(
    answer: ForeignAnswer, item_id: str, options: tuple[str, ...], file: object, asked: ReplyForm = ANY_FORM
) -> tuple[int | None, PredictionStatus, str, str]:
    """Return option, status, reason and step of another program's answer to an item with these options.

    If the other program read an option, that option is used. Otherwise the model's reply is read in the
    requested form.

    Raises
    ------
    DataError
        If the answer's options are not the item's.
    """
    if answer.status:
        return _read_exported(answer, item_id, options, file)
    if answer.error:
        return None, PredictionStatus.FAILED, f"import: {answer.error}", ""
    if options == (OPEN_ANSWER,):
        read = read_open_answer(answer.raw)
        return (
            (0, PredictionStatus.OK, "", "") if read.step else (None, *make_unreadable(read, cut=False), "")
        )
    places = _places(answer, item_id, options, file) if answer.options else range(len(options))
    shown, said = answer.options or options, answer.answer
    named = _read_brief(said, shown) if isinstance(said, str) else ReplyReading(said, Step.LOG)
    if named.option is not None:
        step = Step.STATEMENT if named.step is Step.STATEMENT else Step.LOG
        return places[named.option], PredictionStatus.OK, "", step.value
    read = (_read_brief if len(answer.raw) <= _BRIEF else read_reply)(
        answer.raw, shown, asked, cut=answer.cut
    )
    if read.option is None:
        return None, *make_unreadable(read, cut=answer.cut), ""
    return places[read.option], PredictionStatus.OK, "", str(read.step)


def _read_exported(
    answer: ForeignAnswer, item_id: str, options: tuple[str, ...], file: object
) -> tuple[int | None, PredictionStatus, str, str]:
    """Return the same values for an answer that a study exported, without changes."""
    status = PredictionStatus(answer.status)
    if status is not PredictionStatus.OK:
        return None, status, answer.error, ""
    if answer.answer not in options:
        told = f"{answer.answer!r} is no option of the item {item_id!r}"
        raise DataError(told, file=file, line=answer.line, field="option_text")
    return options.index(str(answer.answer)), status, "", answer.step


def read_named_options(answers: Iterable[str | int | None], options: tuple[str, ...]) -> dict[object, int]:
    """Return the options that answers name literally; other answers need `read_foreign_option`."""
    found = {said: _read_brief(said, options) for said in set(answers) if isinstance(said, str)}
    return {
        said: read.option
        for said, read in found.items()
        if read.option is not None and read.step is not Step.STATEMENT
    }


@lru_cache(maxsize=4096)  # cached, because fixed classes lead to few different answers
def _read_brief(
    text: str, options: tuple[str, ...], asked: ReplyForm = ANY_FORM, *, cut: bool = False
) -> ReplyReading:
    return read_reply(text, options, asked, cut=cut)


def _places(answer: ForeignAnswer, item_id: str, options: tuple[str, ...], file: object) -> Sequence[int]:
    """Return the position among the item's options of each option of the other program."""
    if len(answer.options) != len(options):
        told = f"item {item_id!r} has {len(options)} options in the study, but {len(answer.options)} here"
        raise DataError(told, file=file, line=answer.line)
    if options == option_letters_of(len(options)) and not set(options) & set(answer.options):
        return range(
            len(options)
        )  # the item's text lists the options under these letters, and so does the log
    places = []
    for option in answer.options:
        place = find_option(options, option)
        if place is None:
            raise DataError(f"{option!r} is no option of the item {item_id!r}", file=file, line=answer.line)
        places.append(place)
    return places
