"""Find where a text mentions options, by their letters or by their texts.

Every mention is replaced by one character, so that patterns such as "the answer is …" do
not depend on the options.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, TypeAlias

from oversight.harness.llm.reading.languages import LANGUAGES, make_pattern

Pattern: TypeAlias = re.Pattern[str]
Notation = Literal["letter", "option"]
"""Requested form of an answer: an option's letter, or its text."""

# First letters of other alphabets, in order; some replies name options by them.
_ALPHABETS = ("ΑΒΓΔΕΖΗΘ", "АБВГДЕЖЗ", "ابجدهوزح", "אבגדהוזח", "甲乙丙丁戊己庚辛", "가나다라마바사아")
_LOOKALIKES = {"В": "B", "Е": "E", "Н": "H"}
"""Cyrillic capitals that are ambiguous, because they look like the Latin letter of another option."""
_EXACT = re.compile(r"[\d+<>=^%$\\]")  # options with numbers or formulas, in which signs matter
_NAME = r"[A-ZＡ-ＺⒶ-Ⓩⓐ-ⓩ🅐-🅩\u0391-\u0398\u0410-\u0417\u05d0-\u05d7أ-د甲-癸가나다라마바사아]"
FIRST, SEVERAL = 0xE000, "\uf8ff"
"""Code of the character that replaces a mention of option 0, and character for an ambiguous mention."""
MENTION = "[\ue000-\uf8ff]"
_COMMON_WORDS = (
    "yes no true false none both other unknown maybe a an i it is us he we or and in on at to"
    " ja nein oui non sí si não нет да 是 否 はい いいえ 예 아니오"
)
COMMON = frozenset(_COMMON_WORDS.split())
"""Option texts that are common words, so they count as mentions only at the end of a clause or before another
option, as in "yes or no"."""


@cache
def option_letters_of(k: int) -> tuple[str, ...]:
    """Return the names of k options: A, B, … for up to 26 options, otherwise 1, 2, …."""
    if k <= 26:
        return tuple(chr(ord("A") + j) for j in range(k))
    return tuple(str(j + 1) for j in range(k))


def letter_position(name: str, k: int) -> int | None:
    """Return the index, below `k`, of the option that a letter or number names; None if unclear.

    Full-width and circled letters count as plain letters (NFKC). Greek, Cyrillic, Arabic,
    Hebrew, Chinese and Korean letters count by their position in the alphabet.
    """
    plain = unicodedata.normalize("NFKC", name).upper().replace("أ", "ا").replace("إ", "ا")
    names = option_letters_of(k)
    if plain in names:
        return names.index(plain)
    if k > 26 or len(plain) != 1:
        return None
    for alphabet in _ALPHABETS:
        place = alphabet.find(plain)
        if place >= 0:
            return place if place < k and plain not in _LOOKALIKES else None
    return None


@lru_cache(maxsize=4096)
def make_comparable(options: tuple[str, ...]) -> tuple[Callable[[str], str], tuple[str, ...]]:
    """Return the most lenient normalization that keeps all options distinct, and the normalized options."""
    exact = any(_EXACT.search(option) for option in options)
    for fold in (_signs, _trimmed) if exact else (_words, _signs, _trimmed):
        folded = tuple(fold(option) for option in options)
        if all(folded) and len(set(folded)) == len(folded):
            return fold, folded
    return str.strip, options  # some options differ only in letter case, signs or inner spaces


def _words(text: str) -> str:
    return re.sub(r"[^\w]+", " ", text.casefold()).strip()


def _signs(text: str) -> str:
    """Normalize a text but keep common signs, for example to distinguish -2 from 2 and A < B from A > B."""
    kept = re.sub(r"[^\w+\-<>=^/%\\{}|.]+", " ", text.casefold().replace("−", "-"))
    return " ".join(re.sub(r"\.(?!\d)", " ", kept).split())


def _trimmed(text: str) -> str:
    """Normalize only spaces and quotes of a text, to distinguish kW from KW and B ∨ W from B ⊃ W."""
    return " ".join(text.split()).strip(" .*_`")


_LATEX = re.compile(
    r"\\(?:text|textbf|textit|textrm|textsf|mathrm|mathbf|mathsf|mathit|bf|rm|emph|operatorname|mbox|displaystyle|boldsymbol|ensuremath|tt|texttt|underline|quad|,|;|!)\b\s*\{?|\\[()\[\]]|[${}]"
)
_DECORATION = re.compile(r"[*_`\"“”„«»‘「」『』]+|(?<!\w)['’]|['’](?!\w)|~~")
_CJK = r"\u3040-\u9fff\uac00-\ud7a3"
# (?-i:…) turns off IGNORECASE, because it makes matching these large character ranges slow.
_BEFORE, _AFTER = rf"(?<!(?-i:[^\W_{_CJK}]))", rf"(?!(?-i:[^\W_{_CJK}]))"
_LANGUAGES = tuple(LANGUAGES)
_JOINS = make_pattern("joins", _LANGUAGES)
_BEFORE_NUMBER = re.compile(rf"(?:{make_pattern('before_number', _LANGUAGES)}|[<>≤≥])\s*\Z", re.IGNORECASE)
_AFTER_NUMBER = re.compile(rf"\s*(?:\+(?!\s*\d)|{make_pattern('after_number', _LANGUAGES)})", re.IGNORECASE)
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


@lru_cache(maxsize=1024)
def _texts(options: tuple[str, ...], left_out: frozenset[int]) -> tuple[Pattern | None, list[int]]:
    """Return a pattern with one group per option's text, longest text first, and the option of each group."""
    fold, folded = make_comparable(options)
    order = sorted(set(range(len(options))) - left_out, key=lambda j: -len(folded[j]))
    if not order:
        return None, order
    names, common = (
        "|".join(map(re.escape, found)) for found in (folded, sorted(COMMON.intersection(folded)))
    )
    joined = rf"""(?:[/&]|{_JOINS})[\s*_`"']*(?:{names})(?!\w)"""
    next_option = rf"{joined}|(?:{common})(?!\w)"
    parts = [_text_pattern(options[j], folded[j], fold, next_option) for j in order]
    # `_BEFORE` and `_AFTER` take milliseconds to compile, so options share them.
    before = _BEFORE if all(part.startswith(_BEFORE) for part in parts) else ""
    after = _AFTER if all(part.endswith(_AFTER) for part in parts) else ""
    names = "|".join(f"({part.removeprefix(before).removesuffix(after)})" for part in parts)
    flags = re.IGNORECASE if fold in (_words, _signs) else 0
    return re.compile(f"{before}(?:{names}){after}", flags), order


def _text_pattern(option: str, folded: str, fold: Callable[[str], str], next_option: str) -> str:
    if fold is _words:
        gap, before, after = r"[^\w]+", _BEFORE, _AFTER
    elif fold is _signs:
        gap = r"(?:[^\w+\-<>=^/%\\{}|.]|\.(?!\d))+"
        before, after = r"(?<![\w+\-^/])(?<!\d[.,])", r"(?![\w%^/])(?![.,]\d)"
    elif fold is _trimmed:
        gap, before, after = r"\s+", _BEFORE, _AFTER
    else:
        return _BEFORE + re.escape(option.strip()) + _AFTER
    before = before if not _UNSPACED.match(folded[:1]) else ""
    after = after if not _UNSPACED.match(folded[-1:]) else ""
    if folded in COMMON:
        ends = rf"$|[.,;:!?)\]}}\-–—。，、！]|because\b|since\b|as\b|{next_option}"
        after = rf"""(?=[\s*_`"']*(?:{ends})){after}"""
    words = folded.split() if fold in (_words, _signs) else option.strip(" .*_`").split()
    return before + gap.join(map(re.escape, words)) + after


def _is_limit(match: re.Match[str]) -> bool:
    """Whether a matched text is a number that limits a range, as in "less than 2" or "2 or more"."""
    if not match[0].isdecimal():
        return False
    before = match.string[max(0, match.start() - 40) : match.start()]
    return (
        _BEFORE_NUMBER.search(before) is not None
        or _AFTER_NUMBER.match(match.string, match.end()) is not None
    )


@lru_cache(maxsize=1024)
def find_doubles(options: tuple[str, ...]) -> frozenset[int]:
    """Return the indices of the options whose text equals the letter of another option."""
    return frozenset(
        j
        for j, option in enumerate(options)
        if letter_position(option.strip(), len(options)) not in (None, j)
    )


def mark_mentions(text: str, options: tuple[str, ...], asked: Notation | None, words: LetterWords) -> str:
    """Replace every mention of an option, by letter or text, by one character.

    Parameters
    ----------
    text
        The text that the model wrote.
    options
        The options in display order.
    asked
        The requested notation. It decides how to read a letter that is also the text of
        another option; if None, that letter is ambiguous.
    words
        Patterns of the words that may surround a letter.

    Returns
    -------
    str
        `text` without markup, with the character ``chr(FIRST + j)`` for each mention of
        option j, and `SEVERAL` for each ambiguous mention.
    """
    k, doubles = len(options), find_doubles(options)
    pattern, places = _texts(options, frozenset() if asked == "option" else doubles)
    text = text.replace("−", "-")
    if pattern is not None:
        text = pattern.sub(
            lambda m: m[0] if _is_limit(m) else chr(FIRST + places[(m.lastindex or 1) - 1]), text
        )
    text = _DECORATION.sub("", _LATEX.sub("", text)).replace("’", "'")
    if asked == "option" and doubles:
        return _merge(text)
    clashing = {options[j].strip().casefold() for j in doubles} if asked is None else set()

    def put(match: re.Match[str]) -> str:
        place = letter_position(match[2], k)
        if place is None or not words.allow(match):
            return match[0]
        return match[1] + (SEVERAL if match[2].casefold() in clashing else chr(FIRST + place))

    for letter in _letters(by_number=k > 26):
        text = letter.sub(put, text)
    return _merge(text)


@cache
def _letters(*, by_number: bool) -> tuple[Pattern, ...]:
    """Return three patterns: for letters in brackets, letters at the start of a line, and letters elsewhere.

    With `by_number`, the patterns match option numbers instead of letters. Group 2 of a match is the letter
    or number; group 1 is the text before it, which the caller keeps.
    """
    name = r"\d{1,3}" if by_number else _NAME
    lower = r"\d{1,3}" if by_number else "[a-z]"
    spaced = name if by_number else r"[A-ZＡ-ＺⒶ-Ⓩ🅐-🅩\u0391-\u0398\u0410-\u0417\u05d0-\u05d7أ-د甲-癸]"
    return (
        re.compile(
            rf"((?:(?<!\w)|(?<=[\u3040-\u9fff\uac00-\ud7a3])))[(\[（【〔]\s*({name}|{lower})\s*[)\]）】〕]"
        ),
        re.compile(rf"^([ \t>•·#-]*)({name}|{lower})(?=[)\].:：）、](?:\s|$|{MENTION}))", re.MULTILINE),
        re.compile(
            rf"()(?<![^\W{_CJK}])(?<!['.])({spaced}|{lower})(?![^\W{_CJK}])(?!'(?:s|t|m|d|re|ve|ll)\b)"
        ),
    )


@dataclass(frozen=True, slots=True)
class LetterWords:
    """Patterns of words around a letter, which show whether the letter names an option.

    Attributes
    ----------
    before
        Pattern of preceding words that show that the letter names an option.
    after
        Pattern of following words that show that ``A`` or ``I`` is not an article or
        pronoun.
    """

    before: Pattern
    after: Pattern

    def allow(self, match: re.Match[str]) -> bool:
        """Whether a matched letter names an option, and is not an article, a pronoun or part of a term."""
        text, start, end = match.string, match.start(2), match.end(2)
        leads = not text[text.rfind("\n", 0, start) + 1 : start].strip(" \t>•·#-")
        if match[0] != match[1] + match[2] or (leads and _LEADER_END.match(text, end)):
            return True
        letter, before = match[2], text[max(0, start - 40) : start]
        if letter.islower() and letter.isascii() and not _CLAUSE_END.match(text, end):
            return False
        if self.is_word(text, start, end):
            return False
        if not leads and not _OPENING.search(before):
            return self.before.search(before) is not None
        return letter not in "ai" or self.before.search(before) is not None

    def is_word(self, text: str, start: int, end: int) -> bool:
        """Whether a letter is the article "a" or the pronoun "I"."""
        is_like = text[start:end] in ("A", "I", "a", "i")
        return is_like and _ARTICLE.match(text, end) is not None and not self.after.match(text, end)


# A letter at the start of a line names an option if a list mark or the end of the line follows it.
_LEADER_END = re.compile(r"[)\].:：）、]|[^\S\n]*(?:\n|\Z)")
_CLAUSE_END = re.compile(r"\s*(?:$|[).,;!\]])", re.MULTILINE)
_ARTICLE = re.compile(r"\s+\w")
_OPENING = re.compile(
    rf"(?:[.!?:：=,;，。、；—–>→/(&+\-\n]\s*|{MENTION}\s*|[\u3040-\u9fff\uac00-\ud7a3]\s*)\Z"
)


def _merge(text: str) -> str:
    """Merge mentions of one option that are separated only by punctuation, for example ``B) neurology``."""
    return re.sub(rf"({MENTION})(?:[\s)\].:,(\[=–—-]{{0,6}}\1)+", r"\1", text)
