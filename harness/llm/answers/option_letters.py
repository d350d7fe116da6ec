"""The names under which options are shown, and the same names in other scripts."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Literal

Notation = Literal["letter", "option"]
"""What an answer was to say: an option's letter, or its text."""

# First letters of alphabets in which people enumerate, by position.
_ALPHABETS = ("ΑΒΓΔΕΖΗΘ", "АБВГДЕЖЗ", "ابجدهوزح", "אבגדהוזח", "甲乙丙丁戊己庚辛", "가나다라마바사아")
_LOOKALIKES = {"В": "B", "Е": "E", "Н": "H"}
"""Cyrillic capitals that look like a Latin letter of another position: which is meant, nobody knows."""


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
