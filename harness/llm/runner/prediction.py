"""Convert a model's reply about an item, or an answer in another program's log, into a prediction.

A prediction contains the option and the model's own probability of it, or the reason why there is no option.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

from oversight.harness.errors import DataError, Fault
from oversight.harness.llm.models.completions import CUT, FILTERED
from oversight.harness.llm.reading.languages import find_languages
from oversight.harness.llm.reading.mentions import Notation, option_letters_of
from oversight.harness.llm.reading.reply_reader import ANY_FORM, ReplyForm, ReplyReading, Step, read_reply
from oversight.harness.llm.reading.statements import make_grammar
from oversight.harness.llm.reading.thoughts import cut_thoughts
from oversight.harness.output import redact
from oversight.harness.types import (
    OPEN_ANSWER,
    ForeignAnswer,
    Item,
    Prediction,
    PredictionStatus,
    Source,
    Usage,
    find_listed_order,
    find_number,
    find_option,
)

if TYPE_CHECKING:
    from oversight.harness.llm.models.interface import ModelReply, Tokens

_AROUND = " \n\t\"'*_`()[]{}:."
"""Characters that are stripped from tokens and options before they are compared."""
_NUMBER = re.compile(r"\W*(\d{1,3})\W*")
UNKNOWN_LETTER = "letter"
"""Reason why an answer is unreadable: the log does not say which option its letter or number denotes."""


def read_prediction(
    item: Item,
    sample: int,
    reply: ModelReply,
    counts: Usage,
    *,
    source: Source = Source.CALL,
    asked: ReplyForm = ANY_FORM,
) -> Prediction:
    """Convert a reply into a prediction.

    If parsing the reply raises an exception, the prediction counts as failed and its reason names the
    exception, so that no reply can end a run.

    Parameters
    ----------
    counts
        Usage of all calls made for the answer.
    asked
        The form of answers that was requested.
    """
    option, step, status, reason, confidence = None, "", PredictionStatus.OK, "", None
    probabilities: tuple[float, ...] = ()
    try:
        read = read_option(item, reply, asked)
        if read.probabilities:
            probabilities = item.in_source_order(read.probabilities)
            confidence = None if read.option is None else read.probabilities[read.option]
        if read.option is None:
            status, reason = make_unreadable(read, cut=reply.finish_reason == CUT)
        else:
            option, step = item.permutation[read.option], str(read.step)
            if reply.logprobs:
                confidence = answer_confidence(reply.logprobs, item.shown_options, read.option, asked)
                probabilities = answer_probabilities(reply, item, read.option, asked)
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
        probabilities=probabilities,
    )


def make_failed(
    item: Item, sample: int, reason: str, counts: Usage, source: Source = Source.CALL
) -> Prediction:
    """Return the failed prediction of an item; secrets are removed from the reason."""
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

    `cut` is whether the token limit ended the answer.
    """
    if cut:
        return PredictionStatus.TRUNCATED, "cut by the token limit"
    return PredictionStatus.UNREADABLE, read.reason


def read_option(item: Item, reply: ModelReply, asked: ReplyForm) -> ReplyReading:
    """Find the option, in display order, that a reply names."""
    if reply.finish_reason == FILTERED:
        return ReplyReading(None, reason="content filter")
    if item.is_statement:
        return read_open_answer(reply.text, cut=reply.finish_reason == CUT)
    return read_reply(reply.text, item.shown_options, asked, cut=reply.finish_reason == CUT)


def read_open_answer(text: str, *, cut: bool) -> ReplyReading:
    """Read an open answer as option 0, the item's only option.

    An answer that is empty, contains only reasoning, or was cut by the token limit (`cut`) has no option.

    Examples
    --------
    >>> read_open_answer("Take 5 mg at night.", cut=False).option
    0
    """
    is_answer = not cut and bool(cut_thoughts(text).strip())
    return ReplyReading(0, Step.WHOLE) if is_answer else ReplyReading(None, reason="empty")


def answer_confidence(
    logprobs: Tokens, shown_options: tuple[str, ...], shown: int, asked: ReplyForm = ANY_FORM
) -> float | None:
    """Return the model's probability of the tokens that name the option.

    The tokens are sought in the last line that, read alone, names the option; if there is no such line, in
    the whole answer. The last token that equals the option's letter is used, unless it is an article or
    pronoun. If there is no such token, or if texts were requested, the tokens of the last occurrence of the
    option's text are used, and their probabilities are multiplied. The result is the model's own probability
    given everything it wrote before, not an estimate of how often it is correct.

    Parameters
    ----------
    logprobs
        Tokens of the whole answer with their log-probabilities.
    shown_options
        The options in display order.
    shown
        Index, in display order, of the option that the reply names.
    asked
        The form of answers that was requested.

    Returns
    -------
    float or None
        Probability in [0, 1]; None if no tokens spell the option or their log-probability is not a number.
    """
    found = _find_answer(logprobs, shown_options, shown, asked)
    logprob = sum(logprobs[j][1] for j in found.tokens) if found else math.nan
    # Some servers return a log-probability of -inf or nan, or slightly above 0.
    return None if math.isnan(logprob) else math.exp(min(0.0, logprob))


@dataclass(frozen=True, slots=True)
class _Named:
    """Place where tokens spell an option; `is_word` is whether its letter is an article or pronoun."""

    start: int
    tokens: range
    is_letter: bool
    is_word: bool = False


def _find_answer(
    logprobs: Sequence[tuple[str, float]], shown_options: tuple[str, ...], shown: int, asked: ReplyForm
) -> _Named | None:
    """Return the place where tokens name the option `shown`; None if no tokens spell this option."""
    text = "".join(token for token, _ in logprobs)
    lines = defaultdict[int, list[_Named]](list)
    for named in _find_spelled(text, logprobs, shown_options, shown):
        lines[text.rfind("\n", 0, named.start) + 1].append(named)
    for start in sorted(lines, reverse=True):
        if read_reply(text[start:].partition("\n")[0], shown_options, asked).option == shown:
            lines = defaultdict(list, {start: lines[start]})
            break
    is_text = asked.notation == "option"
    every = [named for found in lines.values() for named in found]
    return max(every, key=lambda n: (not n.is_word, n.is_letter != is_text, n.start), default=None)


def _find_spelled(
    text: str, logprobs: Sequence[tuple[str, float]], shown_options: tuple[str, ...], shown: int
) -> list[_Named]:
    """Return all places where tokens spell an option's letter or text."""
    letter, words = option_letters_of(len(shown_options))[shown], make_grammar(find_languages(text)).letters
    ends = list(accumulate(len(token) for token, _ in logprobs))
    found = []
    for j, (token, _) in enumerate(logprobs):
        if (name := token.strip(_AROUND)).upper() == letter:
            start = ends[j] - len(token) + token.index(name)
            is_word = words.is_word(text, start, start + len(name))
            found.append(_Named(start, range(j, j + 1), is_letter=True, is_word=is_word))
    spelled = re.compile(rf"(?<![\w.-]){re.escape(shown_options[shown])}(?!\w)", re.IGNORECASE)
    for start, end in (match.span() for match in spelled.finditer(text)):
        tokens = range(bisect_right(ends, start), bisect_left(ends, end) + 1)
        found.append(_Named(start, tokens, is_letter=False))
    return found


def answer_probabilities(
    reply: ModelReply, item: Item, shown: int, asked: ReplyForm = ANY_FORM
) -> tuple[float, ...]:
    """Return the model's probability of every option, from the alternatives listed for its answer's token.

    An alternative token counts for the option whose letter it is, or whose text it begins; if it begins
    several texts, its probability is split equally. Servers list only a few tokens. One minus the sum of the
    listed probabilities is split equally among the options without a token, but each of these options gets at
    most the probability of the least likely listed token. The result is divided by its sum, so it is
    conditional on naming an option, as in MMLU (Hendrycks et al. 2021, ICLR).

    Parameters
    ----------
    shown
        Index, in display order, of the option that the reply names.
    asked
        The form of answers that was requested.

    Returns
    -------
    tuple of float
        Probabilities in source order, which sum to 1. Empty if the server lists no tokens, or if the answer's
        first token could begin several options.

    Examples
    --------
    >>> from oversight.harness.llm import ModelReply
    >>> item = Item("1", "Which organ?", ("heart", "lung", "skin"), (1, 0, 2))
    >>> top = ((("A", math.log(0.6)), ("B", math.log(0.3))),)
    >>> reply = ModelReply("A", logprobs=(("A", math.log(0.6)),), alternatives=top)
    >>> [round(p, 2) for p in answer_probabilities(reply, item, 0)]
    [0.3, 0.6, 0.1]
    """
    if not reply.alternatives or item.is_statement:
        return ()
    found = _find_answer(reply.logprobs, item.shown_options, shown, asked)
    if not found:
        return ()
    first = found.tokens.start
    said, own = reply.logprobs[first]
    listed = {**dict(reply.alternatives[first]), said: own}
    shown_names = option_letters_of(len(item.options)) if found.is_letter else item.shown_options
    # A token in capitals, such as "A", is compared with the names as they are. A token such as "a" may begin
    # a word, so capitals are ignored.
    fold = str if said.strip(_AROUND).isupper() else str.casefold
    names = [fold(name.strip(_AROUND)) for name in shown_names]
    if _begun(fold(said), names) != [shown]:
        return ()
    p, is_listed, rest, least = [0.0] * len(names), set[int](), 1.0, 1.0
    for token, logprob in listed.items():
        mass = math.exp(min(0.0, logprob))
        rest, least = rest - mass, min(least, mass)
        begun = _begun(fold(token), names)
        is_listed.update(begun)
        for k in begun:
            p[k] += mass / len(begun)
    others = [k for k in range(len(names)) if k not in is_listed]
    for k in others:
        p[k] = min(max(0.0, rest) / len(others), least)
    total = sum(p)
    return item.in_source_order([value / total for value in p]) if total else ()


def _begun(token: str, names: Sequence[str]) -> list[int]:
    """Return the indices of the names that equal `token`.

    If there is no such name, return the indices of the names that begin with `token`.
    """
    said = token.strip(_AROUND)
    exact = [k for k, name in enumerate(names) if name == said]
    return exact or [k for k, name in enumerate(names) if said and name.startswith(said)]


def refuse_stranger(answer: ForeignAnswer, file: object) -> DataError:
    """Return the error for an answer that belongs to no item of the study."""
    told = f"no item of the study has the id {answer.id!r} or this text"
    return DataError(told, file=file, line=answer.line)


def read_foreign_option(
    answer: ForeignAnswer,
    item_id: str,
    options: tuple[str, ...],
    file: object,
    asked: ReplyForm = ANY_FORM,
    named_by: Notation | None = None,
) -> tuple[int | None, PredictionStatus, str, str]:
    """Return option, status, reason and step of an answer in another program's log.

    If the log contains an option, that option is used. Otherwise the model's reply is parsed with the form
    `asked`. The returned option is an index into `options`, or None.

    A letter denotes an option that the log lists or, if it lists none, an option that the prompt lists. If
    the prompt lists none either, letters in a table (`named_by` is ``"option"``) denote `options` in their
    order. In other logs, an answer with a letter is then unreadable, with the reason ``"letter"``.

    Parameters
    ----------
    named_by
        How `ForeignAnswer.answer` names an option. This matters for an answer that is both the text of one
        option and the letter of another option. With ``"option"``, it names the option with this text. With
        None, it names no option.

    Raises
    ------
    DataError
        If the options in the log are not the item's options.
    """
    if answer.status:
        return _read_exported(answer, item_id, options, file)
    if answer.error:
        return None, PredictionStatus.FAILED, f"import: {answer.error}", ""
    if options == (OPEN_ANSWER,):
        read = read_open_answer(answer.raw, cut=answer.cut)
        told = (None, *make_unreadable(read, cut=answer.cut), "")
        return (0, PredictionStatus.OK, "", "") if read.step else told
    order = _places(answer, item_id, options, file) if answer.options else None
    if isinstance(answer.answer, int):
        return (order or range(len(options)))[answer.answer], PredictionStatus.OK, "", Step.LOG.value
    order = (order if answer.is_lettered else None) or _find_order(answer, options, named_by)
    if order is None:
        by_text = partial(_read_answer, answer, asked=replace(asked, notation="option"), named_by="option")
        read = _read_without_letters(by_text, options, answer.answer or answer.raw)
        order = range(len(options))
    else:
        shown = (answer.is_lettered and answer.options) or tuple(options[place] for place in order)
        read = _read_answer(answer, shown, asked=asked, named_by=named_by)
    if read.option is None:
        return None, *make_unreadable(read, cut=answer.cut and read.reason != UNKNOWN_LETTER), ""
    return order[read.option], PredictionStatus.OK, "", str(read.step)


def _find_order(
    answer: ForeignAnswer, options: tuple[str, ...], named_by: Notation | None
) -> Sequence[int] | None:
    """Return the index of the option that each letter denotes; None if the log does not say."""
    is_known = named_by == "option" or options == option_letters_of(len(options))
    return find_listed_order(options, answer.prompt or answer.text) or (
        range(len(options)) if is_known else None
    )


def _read_answer(
    answer: ForeignAnswer, shown: tuple[str, ...], *, asked: ReplyForm, named_by: Notation | None
) -> ReplyReading:
    """Find the option that the log names or, if it names none, the option that the reply names.

    The option is an index into `shown`.
    """
    said = answer.answer
    named = _read_named(said, shown, named_by) if isinstance(said, str) else ReplyReading(None)
    if named.option is not None:
        return named if named.step is Step.STATEMENT else replace(named, step=Step.LOG)
    if answer.raw == said:  # a table without replies
        asked = replace(asked, notation=named_by)
    return read_reply(answer.raw, shown, asked, cut=answer.cut)


def _read_without_letters(
    read: Callable[[tuple[str, ...]], ReplyReading], options: tuple[str, ...], said: str
) -> ReplyReading:
    """Read an answer to options in an unknown order; an answer that names its option by letter is unreadable.

    The answer is read again with the options rotated. If it then names another option, it contains a letter.
    A number that is not an option, but is at most the number of options, may be a label like a letter.
    """
    found, turned = read(options), read((*options[1:], options[0]))
    place = None if turned.option is None else (turned.option + 1) % len(options)
    number = _NUMBER.fullmatch(said)
    if found.option != place or (place is None and number and int(number[1]) <= len(options)):
        return ReplyReading(None, reason=UNKNOWN_LETTER)
    return found


def _read_exported(
    answer: ForeignAnswer, item_id: str, options: tuple[str, ...], file: object
) -> tuple[int | None, PredictionStatus, str, str]:
    """Return, unchanged, the option, status, reason and step of an answer exported by another study."""
    status = PredictionStatus(answer.status)
    if status is not PredictionStatus.OK:
        return None, status, answer.error, ""
    said = str(answer.answer or "")
    place = options.index(said) if said in options else find_number(options, said)
    if place is None:
        told = f"{answer.answer!r} is no option of the item {item_id!r}"
        raise DataError(told, file=file, line=answer.line, field="option_text")
    return place, status, "", answer.step


def read_named_options(
    answers: Iterable[str | int | None],
    options: tuple[str, ...],
    named_by: Notation | None = None,
    *,
    by_letter: bool = True,
) -> dict[object, int]:
    """Return a dictionary from each answer that names an option to the index of that option.

    The dictionary omits answers that name no option directly and, unless `by_letter`, answers that name an
    option by letter. `read_foreign_option` can read all of these; its docstring explains `named_by`.
    """
    texts = {said for said in answers if isinstance(said, str)}
    if by_letter:
        found = {said: _read_named(said, options, named_by) for said in texts}
    else:
        found = {
            said: _read_without_letters(partial(_read_named, said, named_by="option"), options, said)
            for said in texts
        }
    return {
        said: read.option
        for said, read in found.items()
        if read.option is not None and read.step is not Step.STATEMENT
    }


def _read_named(said: str, options: tuple[str, ...], named_by: Notation | None) -> ReplyReading:
    exact = find_option(options, said) if named_by == "option" else None
    if exact is not None:
        return ReplyReading(exact, Step.LOG)
    return read_reply(said, options, replace(ANY_FORM, notation=named_by))


def _places(answer: ForeignAnswer, item_id: str, options: tuple[str, ...], file: object) -> Sequence[int]:
    """Return, for each option in the log, the index of the item's option with this text."""
    if len(answer.options) != len(options):
        told = f"item {item_id!r}: {len(options)} options in the study, but {len(answer.options)} in the log"
        raise DataError(told, file=file, line=answer.line)
    if options == option_letters_of(len(options)) and not set(options) & set(answer.options):
        return range(len(options))  # the study's options are letters, which follow the log's order
    places = []
    for option in answer.options:
        place = find_option(options, option)
        if place is None or place in places:
            told = "is no option of" if place is None else "occurs twice in the log's options of"
            raise DataError(f"{option!r} {told} the item {item_id!r}", file=file, line=answer.line)
        places.append(place)
    return places
