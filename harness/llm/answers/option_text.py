"""When a text is an option's: letter case and punctuation aside, unless they tell options apart."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_EXACT = re.compile(r"[\d+<>=^%$\\]")  # numbers and formulas, in which signs count


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
