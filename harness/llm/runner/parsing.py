r"""A model's text becomes one of the item's options, or a reason why it cannot.

Order of reading: a JSON object's ``answer``, also in a fence; the last ``### X`` or ``\boxed{X}``; an
answer, or a first line, that is nothing but a letter or an option; the last "answer is X"; a line that
begins with a letter and a bracket or stop; exactly one "option X"; exactly one option's text occurring in
the answer, and not denied. Hidden thoughts are not read. Letter case and punctuation do not count in an
option's text unless they tell options apart.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

Notation = Literal["letter", "option"]
"""What an answer was to say: an option's letter, or its text."""

# First letters of alphabets in which people enumerate, by position.
_ALPHABETS = ("ΑΒΓΔΕΖΗΘ", "АБВГДЕЖЗ", "ابجدهوزح", "אבגדהוזח", "甲乙丙丁戊己庚辛", "가나다라마바사아")
_LOOKALIKES = {"В": "B", "Е": "E", "Н": "H"}
"""Cyrillic capitals that look like a Latin letter of another position: which is meant, nobody knows."""

_EXACT = re.compile(r"[\d+<>=^%$\\]")  # numbers and formulas, in which signs count
_TAGS = "think|thinking|thought|reasoning|reflection"
_THOUGHT = re.compile(rf"<({_TAGS})>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(rf"</(?:{_TAGS})>", re.IGNORECASE)  # the tag before is in the prompt
_CHANNEL = re.compile(r"<\|channel\|>\s*final\s*<\|message\|>")
_ANALYSIS = re.compile(r"<\|channel\|>\s*analysis\s*<\|message\|>")
_MARKUP = re.compile(r"<\|[a-z_]+\|>")
_REFUSAL = re.compile(
    r"\b(i (?:can(?:no|['’])t|am unable to|['’]m unable to|won['’]t)|as an ai|i['’]m sorry|i am sorry"
    r"|i must decline|i['’]m not able to|cannot (?:help|assist|provide))\b",
    re.IGNORECASE,
)
_WORDS = "answer|respuesta|réponse|antwort|risposta|resposta|ответ|答案|回答|正解|정답|الإجابة|الجواب"
_IS = r"(?:is|are|es|est|ist|è|é|は|是|为|은|는|هي|هو)"
_NAME = r"[A-ZＡ-ＺⒶ-Ⓩ\u0391-\u0398\u0410-\u0417\u05d0-\u05d7أ-د甲-癸가-하]|\d{1,3}"
_AND = r"\s*(?:,|/|&|、|\bor\b|\band\b|\bund\b|\bou\b|\by\b|\bи\b|和|或)\s*"
_OPEN, _CLOSE = r"[\s*_`\"'“(\[（#\\$]*", r"[\s*_`\"'”)\]）.:。\\$]*"
_ALONE = re.compile(rf"^{_OPEN}({_NAME}|[a-z]){_CLOSE}$")
_SEVERAL = re.compile(
    rf"^{_OPEN}(?:option|both)?\s*({_NAME})(?:[)\]）]?{_AND}{_OPEN}({_NAME}))+{_CLOSE}$", re.IGNORECASE
)
_LETTER = rf"(?-i:({_NAME}|[a-z](?=[)\].*]|\s*$)))(?!\w)(?!['’]\w)"
_SAID = re.compile(rf"(?:{_WORDS})\s*{_IS}?\s*[:：=]?[\s*_]*(.+)$", re.IGNORECASE | re.MULTILINE)
_STATED = re.compile(
    rf"(?:(?:{_WORDS})\s*{_IS}?\s*[:：=]?|(?:option|choice)\s*(?:{_IS}\s*[:：=]?|[:：=])){_OPEN}"
    rf"{_LETTER}(?:[)\]）*]*{_AND}{_OPEN}(?-i:({_NAME}))(?!\w))?",
    re.IGNORECASE | re.MULTILINE,
)
_CHOSEN = re.compile(
    rf"\b(?:option|choice|choose|select|pick){_OPEN}{_LETTER}"
    r"(?![)\]）*]*\s+(?:is\s+|was\s+|are\s+)?(?:wrong|incorrect|not|false|unlikely)\b)",
    re.IGNORECASE | re.MULTILINE,
)
_ARTICLE = re.compile(r"\s+(?!because|since|as|for|due|and|or|is|per|given|-|–)[a-z]")
_LEADING = re.compile(rf"^{_OPEN}({_NAME})[)\].:）](?:\s|\*|$)")
_FENCED = re.compile(r"```(?:json)?\s*(\{.*?\})\s*```", re.DOTALL | re.IGNORECASE)
_FENCE_END = re.compile(r"\}\s*```")
_LONGEST = 100_000
"""Characters beside the thoughts; a longer text answers no question, and its reading would hold up others."""
_SHORT = 8
_GAP = re.compile(r"\s{8,}")  # patterns with several optional blanks take its length to the third power
_OBJECT, _KEY = re.compile(r'\{\s*"'), '"answer"'
_DECODER = json.JSONDecoder(strict=False)
_NEGATED = ("not ", "not a ", "not an ", "not the ", "not in ", "not for ")
_MARK = re.compile(r"^#{2,}\s*(.+?)\s*$|\\boxed\{\s*(?:\\text\{)?([^{}]+)\}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The text names no option: ``"empty"``, ``"refusal"``, ``"several"``, ``"malformed"`` or ``"none"``."""

    reason: str


def parse_answer(
    text: str, shown_options: Sequence[str], *, cut: bool = False, asked: Notation | None = None
) -> int | Unreadable:
    """Find the option a text names.

    Parameters
    ----------
    text
        What the model wrote.
    shown_options
        The options in display order.
    cut
        Whether the text ended at the token limit: then only forms count that more text could not have
        changed, which are a mark, and a whole first line.
    asked
        What was asked for, which decides where an option's text is another one's letter; None leaves
        that unread.

    Returns
    -------
    int or Unreadable
        Position in `shown_options`.
    """
    answer = _without_thoughts(text)
    if len(answer) > _SHORT:
        answer = _GAP.sub(_narrow, answer)
    if not answer:
        return Unreadable("empty")
    if len(answer) > _LONGEST:
        return Unreadable("malformed")
    options = tuple(shown_options)
    fenced = [block for block in _find_fenced(answer) if _KEY in block] if _KEY in answer else []
    if fenced or _OBJECT.match(answer):
        return _json(fenced[-1] if fenced else answer, options, asked)
    for read in (_by_mark, _whole) if cut else (_by_mark, _whole, _stated, _mentioned):
        found = read(answer, options, asked)
        if found is not None:
            return found
    return Unreadable("refusal" if _REFUSAL.search(answer) else "none")


def _without_thoughts(text: str) -> str:
    if "<" not in text:
        return text.strip()
    if _ANALYSIS.search(text):
        text = text[_end_of_last(_CHANNEL, text) or len(text) :]
    text = _THOUGHT.sub("", text)
    return _MARKUP.sub("", text[_end_of_last(_THOUGHT_END, text) :]).strip()


def _find_fenced(answer: str) -> list[str]:
    """Objects in fences; behind the last end, each opening would be followed to the end of the text."""
    return _FENCED.findall(answer, 0, _end_of_last(_FENCE_END, answer))


def _end_of_last(mark: re.Pattern[str], text: str) -> int:
    """Where the last match of a pattern ends; 0 without one. A leading ``.*`` takes the length squared."""
    return max((found.end() for found in mark.finditer(text)), default=0)


def _narrow(gap: re.Match[str]) -> str:
    return "\n" if len(f"{gap[0]}.".splitlines()) > 1 else " "


def _json(answer: str, options: tuple[str, ...], asked: Notation | None) -> int | Unreadable:
    try:
        value = str(_DECODER.raw_decode(answer)[0]["answer"])
    except (ValueError, KeyError, TypeError, RecursionError):  # the last if it is nested too deep
        return Unreadable("malformed")
    found = _named(value, options, asked)
    return found if found is not None else Unreadable("none")


def _by_mark(answer: str, options: tuple[str, ...], asked: Notation | None) -> int | Unreadable | None:
    r"""The last line ``### X``, or ``\boxed{X}``."""
    marks = [a or b for a, b in _MARK.findall(answer)] if "#" in answer or "\\" in answer else []
    if not marks:
        return None
    found = _named(marks[-1], options, asked)
    return Unreadable("several") if found is None and _SEVERAL.match(marks[-1]) else found


def _whole(answer: str, options: tuple[str, ...], asked: Notation | None) -> int | Unreadable | None:
    """Return the option if the answer, or its first line, is nothing but a letter or an option."""
    for part in dict.fromkeys((answer, answer.splitlines()[0])):
        found = _named(part, options, asked)
        if found is not None:
            return found
        if len(part) < 40 and _SEVERAL.match(part):
            return Unreadable("several")
    return None


def _stated(answer: str, options: tuple[str, ...], asked: Notation | None) -> int | Unreadable | None:
    """The last "answer: X", else a first or last line such as ``B) text``, else the one "option X"."""
    for line in reversed(_SAID.findall(answer)):  # an option's text may begin with a letter and a bracket
        named = _named(line, options, asked)
        if named is not None:
            return named
    for match in reversed(list(_STATED.finditer(answer))):
        first, second = match.groups()
        if not second and _is_article(match, answer):
            continue
        found = letter_position(first, len(options))
        if found is not None:
            other = letter_position(second, len(options)) if second else None
            return _named(first, options, asked) if other in (None, found) else Unreadable("several")
    lines = answer.splitlines()
    leading = {m[1] for m in (_LEADING.match(lines[0]), _LEADING.match(lines[-1])) if m}
    if len(leading) == 1:
        return letter_position(leading.pop(), len(options))
    chosen = {m[1].upper() for m in _CHOSEN.finditer(answer) if not _is_article(m, answer)}
    if len(chosen) > 1:
        return Unreadable("several")
    return letter_position(chosen.pop(), len(options)) if chosen else None


def _is_article(letter: re.Match[str], answer: str) -> bool:
    """Whether what looks like a letter is a word: "the answer is A heart attack" names none."""
    return letter[1] in ("A", "I", "a", "i") and _ARTICLE.match(answer, letter.end(1)) is not None


def _mentioned(answer: str, options: tuple[str, ...], _asked: Notation | None) -> int | Unreadable | None:
    """The one option whose text occurs as whole words, outside of longer options that occur."""
    fold, folded = make_comparable(options)
    text = f" {fold(answer)} "
    hits = [j for j, o in enumerate(folded) if f" {o} " in text]
    hits = [j for j in hits if not any(i != j and f" {folded[j]} " in f" {folded[i]} " for i in hits)]
    hits = [j for j in hits if not any(f" {word}{folded[j]} " in text for word in _NEGATED)]
    if len(hits) > 1:
        return Unreadable("several")
    return hits[0] if hits else None


def _named(part: str, options: tuple[str, ...], asked: Notation | None) -> int | Unreadable | None:
    """The option that a short text names by its letter or by its own text; of two, as was asked for."""
    alone = _ALONE.match(part) if len(part) <= 12 else None
    found = letter_position(alone[1], len(options)) if alone else None
    if found is not None and asked == "letter":
        return found
    fold, names = make_comparable(options)
    folded = fold(part)
    by_text = names.index(folded) if folded in names else None
    if found is not None and by_text in (found, None):
        return found
    if found is not None and asked is None:
        return Unreadable("several")
    if by_text is not None:
        return by_text
    lead = _LEADING.match(part)  # "B) neurology", if letter and text agree
    if lead and fold(part[lead.end() :]) in names:
        by_text = names.index(fold(part[lead.end() :]))
        return by_text if letter_position(lead[1], len(options)) in (by_text, None) else None
    return None


@cache
def option_letters_of(k: int) -> tuple[str, ...]:
    """A, B, … for up to 26 options, else 1, 2, …."""
    if k <= 26:
        return tuple(chr(ord("A") + j) for j in range(k))
    return tuple(str(j + 1) for j in range(k))


def letter_position(name: str, k: int) -> int | None:
    """Which of `k` options a letter or number names; None if none, or if it might be one of two.

    Full-width and circled letters count as plain ones (NFKC); Greek, Cyrillic, Arabic, Hebrew, Chinese
    and Korean ones by their place in the alphabet.
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
    """Return the most generous way to compare texts that keeps options what they are, and them in it."""
    exact = any(_EXACT.search(option) for option in options)
    for fold in (_signs, _trimmed) if exact else (_words, _signs, _trimmed):
        folded = tuple(fold(option) for option in options)
        if all(folded) and len(set(folded)) == len(folded):
            return fold, folded
    return str.strip, options  # which differ in their blanks alone


def _words(text: str) -> str:
    return re.sub(r"[^\w]+", " ", text.casefold()).strip()


def _signs(text: str) -> str:
    """With the commonest signs: -2 is not 2, and A < B is not A > B."""
    kept = re.sub(r"[^\w+\-<>=^/%\\{}|.]+", " ", text.casefold().replace("−", "-"))
    return " ".join(re.sub(r"\.(?!\d)", " ", kept).split())


def _trimmed(text: str) -> str:
    """With every letter's case and every sign: kW is not KW, and B ∨ W is not B ⊃ W."""
    return " ".join(text.split()).strip(" .*_`")
