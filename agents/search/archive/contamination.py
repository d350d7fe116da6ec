"""A program may learn how to answer, never what: no long quotation of items it is judged on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.types import Item

WORDS = 8
"""So many words in a row do not agree by chance."""


def find_quotations(source: str, items: Iterable[Item]) -> str:
    """Say which item a source quotes, by its id alone; empty if none."""
    grams = _grams(source)
    for item in items:
        if not grams.isdisjoint(_grams(item.text)):
            return f"it quotes {WORDS} words or more of the item {item.id!r}, which it is judged on"
    return ""


def _grams(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return {tuple(words[j : j + WORDS]) for j in range(len(words) - WORDS + 1)}
