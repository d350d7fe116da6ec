r"""Find the option that a model's reply names, or the reason why the reply is unreadable.

Reasoning before the answer is removed. The reply is then read in the first of these ways that applies: it
consists only of an option; it has the requested form or another unambiguous mark, such as ``\boxed{B}``; a
sentence states the answer, such as "the correct answer is B". A reply that contradicts itself, denies
options, or only mentions them is unreadable; nothing is guessed.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any

from oversight.harness.config import AnswerForm
from oversight.harness.llm.reading.distributions import read_distribution
from oversight.harness.llm.reading.languages import find_languages
from oversight.harness.llm.reading.mentions import (
    COMMON,
    FIRST,
    MENTION,
    SEVERAL,
    Notation,
    find_doubles,
    letter_position,
    make_comparable,
    mark_mentions,
)
from oversight.harness.llm.reading.statements import find_statements, make_grammar
from oversight.harness.llm.reading.thoughts import cut_thoughts, cut_turns, make_plain


class Step(StrEnum):
    """How the option was found in a reply."""

    FORM = "form"
    """The reply has the requested form."""
    MARK = "mark"
    """The reply has another unambiguous form, such as a box or tag."""
    WHOLE = "whole"
    """The reply consists only of the option."""
    STATEMENT = "statement"
    """A sentence states the option; this is the least strict reading."""
    LOG = "log"
    """Another program determined the option."""


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """The requested form of an answer.

    Attributes
    ----------
    form
        Form of the answer, as in `PromptSection`; ``"free"`` if none was requested.
    notation
        ``"letter"`` if an option's letter was requested, ``"option"`` if its text was; None if both are
        allowed.
    pattern
        The study's own regular expression, whose group ``answer`` contains the option. If it is set,
        only replies that match it or that consist of an option are read.
    """

    form: AnswerForm = "free"
    notation: Notation | None = None
    pattern: str | None = None


ANY_FORM = ReplyForm()
"""Form of replies for which no form was requested, or the requested form is unknown."""


@dataclass(frozen=True, slots=True)
class ReplyReading:
    """The option that a reply names.

    Attributes
    ----------
    option
        Index of the option in display order; None if the reply is unreadable.
    step
        How the option was found; None if the reply is unreadable.
    reason
        Reason why the reply is unreadable: ``"empty"``, ``"refusal"``, ``"several"``, ``"denied"``,
        ``"doubted"``, ``"mentioned"``, ``"malformed"``, ``"pattern"`` or ``"none"``.
    probabilities
        Stated probabilities of all options in display order; empty unless the form is ``"probabilities"``.
    """

    option: int | None
    step: Step | None = None
    reason: str = ""
    probabilities: tuple[float, ...] = field(default=(), repr=False)


_REFUSAL = re.compile(
    r"\b(i (?:can(?:no|['’])t|am unable to|['’]m unable to|won['’]t)|as an ai|i['’]m sorry|i am sorry"
    r"|i must decline|i['’]m not able to|cannot (?:help|assist|provide))\b",
    re.IGNORECASE,
)
# Matches a sentence that only declines to answer; an option named in a later sentence is then no answer.
_DECLINED = re.compile(
    r"\bi(?:['’]m| am)?\s+(?:can(?:no|['’])t|unable to|not able to|won['’]t)\s+(?:help|assist|comply|answer)"
    r"(?:\s+(?:with|you|that|this|it|your|the|request|question|in))*\s*(?:[.!]|$)",
    re.IGNORECASE | re.MULTILINE,
)
_WITHDRAWN = re.compile(
    r"^\W*(?:(?:no|wait|but|actually|sorry|hmm)\W+)*(?:"
    r"(?:that|this|it|(?:the|my|that|this) answer)(?:\s+is|\s+was|['’]s)\s+"
    r"(?:wrong|incorrect|not right|not correct|a mistake)\W*$"
    r"|i(?:['’]m| am)?\s+(?:can(?:no|['’])t|unable to|not able to)\s+"
    r"(?:determine|decide on|decide|give|provide)\s+"
    r"(?:(?:the|an|a|any|right|correct|final|definite)\s+)*answer)",
    re.IGNORECASE,
)
"""A sentence after the answer that withdraws it."""
_LONGEST = 100_000
"""Maximum number of characters of a reply without reasoning; parsing longer replies would be too slow."""
_BRIEF = 200
"""Maximum number of characters of a reply whose reading is cached, because short replies often recur."""
_RESERVED = re.compile(MENTION)
# Long gaps are shortened, because patterns with optional spaces take O(n³) time.
_GAP = re.compile(r"[^\S\n]{8,}|\n\s{8,}")
_RUN = re.compile(r"(([^\w\s])\2{7})\2+")
_LINE = re.compile(
    r"^[\s*_#>`\"'$([{-]*(?:(?:so|thus|therefore|my|the|final|correct|best)[\s,*_]+){0,4}answer(?:[\s*_]+is)?[\s*_`]*[:：][\s*_`]*(\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING = re.compile(r"^#{2,}\s*([^#\s].*?)\s*#*$")
_BOXED = re.compile(r"\\(?:boxed|fbox|framebox)\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
_TAGGED = re.compile(
    r"<(answer|final|final_answer|finalanswer|ans|choice|option|label|prediction|class|category)>\s*(.*?)\s*</\1>",
    re.DOTALL | re.IGNORECASE,
)
_ANSWER_WORDS = (
    "answer finalanswer correctanswer bestanswer selectedanswer youranswer ans choice finalchoice option"
    " selectedoption correctoption chosenoption bestoption selection selected label predictedlabel class"
    " predictedclass category prediction classification response result verdict decision finaldecision"
    " conclusion diagnosis department answerletter"
    " antwort respuesta réponse risposta resposta ответ 答案 回答 정답"
)
_ANSWER_KEYS = frozenset(_ANSWER_WORDS.split())
_WEAK_KEYS = frozenset(["value", "text", "name", "output", "letter"])
"""Further keys that name an answer, but only within a nested JSON object."""
_NO_ANSWER = re.compile("not|wrong|exclu|reject|elimin|incorrect|rule|worst|least|reason|why|expl|thought")
_ALONE = re.compile(r"[\s*_`\"'“”‘’(（\[【{<#$\\>•·-]*(\w)[\s*_`\"'“”‘’)）\]】}>.:：。,，;!！$\\/-]*")
_NUMBER = re.compile(r"\W*(\d{1,3})\W*")
_DECODER = json.JSONDecoder(strict=False)


def read_reply(
    text: str, shown_options: tuple[str, ...], asked: ReplyForm = ANY_FORM, *, cut: bool = False
) -> ReplyReading:
    r"""Find the option that a reply names.

    Parameters
    ----------
    text
        The text that the model wrote.
    shown_options
        The options in display order.
    asked
        The requested form.
    cut
        Whether the token limit ended the text. If so, an answer is read only if further text could
        not have changed it.

    Examples
    --------
    >>> read_reply("Chest pain.\nANSWER: B", ("neurology", "cardiology"), ReplyForm("line"))
    ReplyReading(option=1, step=<Step.FORM: 'form'>, reason='')
    >>> read_reply("It isn't cardiology.", ("neurology", "cardiology")).reason
    'denied'
    """
    read = _read_brief if len(text) <= _BRIEF else _read
    return read(text, shown_options, asked, cut=cut)


def _read(text: str, shown_options: tuple[str, ...], asked: ReplyForm, *, cut: bool) -> ReplyReading:
    text = _GAP.sub(lambda gap: "\n\n" if "\n" in gap[0] else " ", _RESERVED.sub(" ", text))
    reader = _Reader(shown_options, asked, cut)
    turn = cut_thoughts(_RUN.sub(lambda run: run[1], text))
    if shown_options == tuple(map(make_plain, shown_options)):  # otherwise tags can distinguish options
        turn = make_plain(turn)
    answer = cut_turns(turn, lambda line: reader.read(line).option is not None)
    if len(answer) > _LONGEST:
        return ReplyReading(None, reason="malformed")
    if not answer:
        return ReplyReading(None, reason="empty")
    return reader.read(answer)


_read_brief = lru_cache(maxsize=4096)(_read)


@dataclass(frozen=True, slots=True)
class _Reader:
    options: tuple[str, ...]
    asked: ReplyForm
    cut: bool

    def read(self, answer: str) -> ReplyReading:
        if self.asked.form == "probabilities":
            return self._by_distribution(answer)
        if self.asked.pattern is not None:
            return self._by_pattern(answer, self.asked.pattern)
        lines = answer.split("\n")
        whole = self._phrase(answer, bare=self.cut)
        if self.cut and whole is None and len(lines) > 1:
            whole = self._phrase(lines[0])
        if isinstance(whole, int):
            return ReplyReading(whole, Step.FORM if self.asked.form == "choice" else Step.WHOLE)
        if self.cut and not _BOXED.search(lines[-1]) and not _TAGGED.search(lines[-1]):
            lines = lines[:-1]
        found = self._by_form("\n".join(lines))
        if found is None and whole == SEVERAL:
            found = ReplyReading(None, reason="several")
        if found is None:
            found = ReplyReading(None, reason="none") if self.cut else self._by_statement(answer)
            if _DECLINED.search(answer):
                return ReplyReading(None, reason="refusal")
        if found.option is None and found.reason == "none" and _REFUSAL.search(answer):
            return ReplyReading(None, reason="refusal")
        return found

    def _by_distribution(self, answer: str) -> ReplyReading:
        p = None if self.cut else read_distribution(answer, self.options, self.asked.notation)
        if p is None:
            return ReplyReading(None, reason="refusal" if _REFUSAL.search(answer) else "none")
        best = [option for option, value in enumerate(p) if value == max(p)]
        if len(best) != 1:
            return ReplyReading(None, reason="several" if p else "malformed", probabilities=p)
        return ReplyReading(best[0], Step.FORM, probabilities=p)

    def _by_pattern(self, answer: str, pattern: str) -> ReplyReading:
        found = list(re.finditer(pattern, answer, re.IGNORECASE | re.MULTILINE))
        named = self._phrase(found[-1]["answer"] or "") if found else self._phrase(answer, bare=True)
        if isinstance(named, int):
            return ReplyReading(named, Step.FORM if found else Step.WHOLE)
        return ReplyReading(None, reason="several" if named else "none" if found else "pattern")

    def _by_form(self, answer: str) -> ReplyReading | None:
        """Find the option that is given in the requested form or after another unambiguous mark.

        A reply that names several options in these ways is unreadable. Returns None if the reply contains no
        JSON answer and no mark names an option.
        """
        values, is_object = _find_values(answer)
        found = [(self._phrase(value), "schema") for value in values]
        if is_object and not values:
            return ReplyReading(None, reason="malformed")
        stripped = answer.rstrip()
        said = list(_LINE.finditer(answer))
        ends = bool(said) and said[-1].end() >= len(stripped)
        found += [(self._phrase(m[1]), "line") for m in said]
        found += [(self._phrase(m[1]), "mark") for m in _BOXED.finditer(answer)]
        found += [(self._phrase(m[2]), "mark") for m in _TAGGED.finditer(answer)]
        if heading := _HEADING.match(stripped.rsplit("\n", 1)[-1].strip()):
            found.append((self._phrase(heading[1]), "heading"))
        named = {option for option, _ in found if option is not None}
        if not named:
            return ReplyReading(None, reason="none") if values else None
        option = named.pop()
        if named or not isinstance(option, int):
            return ReplyReading(None, reason="several")
        if said and not ends and not values:
            rest = self._by_statement(answer[said[-1].end() :])
            listed = {self._phrase(line) for line in answer[said[-1].end() :].split("\n")}
            if rest.option not in (None, option) or listed - {None, option}:
                return ReplyReading(None, reason="several")
            sentences = re.split(r"(?<=[.!?])\s+|\n", answer[said[-1].end() :])
            is_verdict = self.options[option].strip().casefold() in COMMON  # "No. That is wrong."
            if not is_verdict and any(map(_WITHDRAWN.match, sentences)):
                return ReplyReading(None, reason="doubted")
        kinds = {kind for o, kind in found if o == option}
        if self.asked.form == "line":
            is_form = "heading" in kinds or ("line" in kinds and ends)
        else:
            is_form = self.asked.form in kinds
        return ReplyReading(option, Step.FORM if is_form else Step.MARK)

    def _by_statement(self, answer: str) -> ReplyReading:
        grammar = make_grammar(find_languages(answer))
        answer = grammar.said.sub(self._mark_rest, answer)
        marked = mark_mentions(answer, self.options, self.asked.notation, grammar.letters)
        found = find_statements(marked, grammar)
        option = found.settle()
        if option is None:
            return ReplyReading(None, reason=found.reason)
        return ReplyReading(ord(option) - FIRST, Step.STATEMENT)

    def _mark_rest(self, said: re.Match[str]) -> str:
        """Return a line that begins with words such as "The answer is".

        If the rest of the line is only an option's letter or text, this rest is replaced by the character
        that stands for the option.
        """
        named = self._by_name(said[2])
        return said[0] if not isinstance(named, int) else f"{said[1]}{chr(FIRST + named)}."

    def _phrase(self, part: str, *, bare: bool = False) -> int | str | None:
        """Return the index of the option that a short text names, if the text has no other content.

        Returns `SEVERAL` if the text names several options, and None if it names no option or has other
        content. If `bare` is true, words such as "the answer is" count as other content.
        """
        part = part.strip()
        named = self._by_name(part)
        if named is not None or part[:1] == "{" or len(part) > 40 + max(map(len, self.options)):
            return named
        grammar = make_grammar(find_languages(part))
        marked = mark_mentions(part, self.options, self.asked.notation, grammar.letters)
        mentions = set(re.findall(MENTION, marked))
        around = re.sub(MENTION, "", marked)
        if not mentions or (re.sub(r"\W", "", around) if bare else grammar.fill.sub("", around)):
            return None
        if len(mentions) == 1 and SEVERAL not in mentions:
            return ord(mentions.pop()) - FIRST
        # "True or false? False." repeats the question, so the reply must be read sentence by sentence
        return None if re.search(r"[?？؟]\s+\S", part) else SEVERAL

    def _by_name(self, part: str) -> int | str | None:
        """Return the index of the option whose letter or text equals a short text, or None.

        If the text matches one option's letter and another option's text, the requested notation decides; if
        no notation was requested, returns `SEVERAL`. If texts were requested and some option's text is the
        letter of another option, letters do not name options.
        """
        notation, k = self.asked.notation, len(self.options)
        alone = (_NUMBER if k > 26 else _ALONE).fullmatch(part) if len(part) <= 16 else None
        letter = letter_position(alone[1], k) if alone else None
        fold, names = make_comparable(self.options)
        texts = (fold(part), fold(re.sub(r"^[-*•·]\s+", "", part)))
        by_text = next((names.index(text) for text in texts if text in names), None)
        # A "-" directly before a number is a minus sign, not a list marker.
        if letter is None or (by_text is not None and re.match(r"[-−]\S", part)):
            return by_text
        if by_text is None:
            return None if notation == "option" and find_doubles(self.options) else letter
        if letter == by_text or notation == "letter":
            return letter
        return SEVERAL if notation is None else by_text


def _find_values(answer: str) -> tuple[list[str], bool]:
    """Return the values of keys like ``answer`` in all JSON objects of a reply.

    The second value is whether the reply begins like a JSON object.
    """
    found, place = list[str](), answer.find("{")
    is_object = re.match(r'(?:```\w*\s*)?\{\s*["\']', answer) is not None
    for _ in range(50):
        if place < 0:
            break
        value, end = _decode(answer, place)
        found += _values(value)
        place = answer.find("{", max(end, place + 1))
    return found, is_object


def _decode(answer: str, place: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(answer, place)
    except (ValueError, RecursionError):
        pass
    end = answer.find("}", place) + 1
    if not 0 < end - place < 5_000:
        return None, place + 1
    block = re.sub(r",\s*([}\]])", r"\1", answer[place:end])
    for load in (json.loads, ast.literal_eval):
        try:
            return load(block), end
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    if bare := re.fullmatch(
        r"\{\s*[\"']?([A-Za-z_ ]+)[\"']?\s*[:=]\s*[\"']?([^\"'{}\n]+?)[\"']?\s*\}", block
    ):
        return {bare[1]: bare[2]}, end
    return None, place + 1


def _values(value: Any, depth: int = 0) -> Iterator[str]:
    if not isinstance(value, dict) or depth > 4:
        return
    named = {re.sub(r"[\W_]+", "", str(key).casefold()): v for key, v in value.items()}
    if any(named.get(key) is False for key in ("correct", "iscorrect", "valid", "isvalid")):
        return  # the object says that its answer is wrong
    keys = [k for k in named if k in _ANSWER_KEYS] or [k for k in named if k in _WEAK_KEYS and depth]
    if not keys and not depth:
        keys = [k for k in named if not _NO_ANSWER.search(k)]
    for key in keys:
        inner = named[key]
        if isinstance(inner, dict):
            yield from _values(inner, depth + 1)
        elif isinstance(inner, list):
            yield from (str(one) for one in inner if not isinstance(one, dict | list))
        elif inner is not None:
            yield str(inner)
