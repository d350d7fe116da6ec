"""How an option may be named: by its letter, in any script, or by its text, which need not be exact.

Letter case and punctuation do not count in a text unless they tell options apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Literal

Notation = Literal["letter", "option"]
"""What an answer was to say: an option's letter, or its text."""

# First letters of alphabets in which people enumerate, by position.
_ALPHABETS = ("ΑΒΓΔΕΖΗΘ", "АБВГДЕЖЗ", "ابجدهوزح", "אבגדהוזח", "甲乙丙丁戊己庚辛", "가나다라마바사아")
_LOOKALIKES = {"В": "B", "Е": "E", "Н": "H"}
"""Cyrillic capitals that look like a Latin letter of another position: which is meant, nobody knows."""

_EXACT = re.compile(r"[\d+<>=^%$\\]")  # numbers and formulas, in which signs count


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
    for fold in (_signs,) if exact else (_words, _signs):
        folded = tuple(fold(option) for option in options)
        if all(folded) and len(set(folded)) == len(folded):
            return fold, folded
    return _trimmed, tuple(map(_trimmed, options))


def _words(text: str) -> str:
    return re.sub(r"[^\w]+", " ", text.casefold()).strip()


def _signs(text: str) -> str:
    """With the commonest signs: -2 is not 2, and A < B is not A > B."""
    kept = re.sub(r"[^\w+\-<>=^/%\\{}|.]+", " ", text.casefold().replace("−", "-"))
    return " ".join(re.sub(r"\.(?!\d)", " ", kept).split())


def _trimmed(text: str) -> str:
    """With every letter's case and every sign: kW is not KW, and B ∨ W is not B ⊃ W."""
    return " ".join(text.split()).strip(" .*_`")
