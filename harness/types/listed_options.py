"""Find out which option each letter denotes in a prompt that lists options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from oversight.harness.types.records import find_option

_MOST_LETTERS = 26


def find_listed_order(options: Sequence[str], text: str) -> tuple[int, ...] | None:
    r"""Return the index of the option that a text lists under A, under B, and so on.

    More than 26 options must be listed under 1, 2, …. If the text lists options several times, for example in
    worked examples, the last option under each letter counts. Returns None if the text does not list every
    option under its own letter, or if the options are the letters themselves.

    Examples
    --------
    >>> find_listed_order(("red", "blue"), "Which?\nA) blue\nB) red")
    (1, 0)
    >>> find_listed_order(("red", "blue"), "Red or blue?") is None
    True
    """
    k = len(options)
    if all(len(option) == 1 and ord(option.upper()) - ord("A") in range(k) for option in options):
        return None  # "A, B or C" lists no options under letters
    found: dict[int, int | None] = {}
    for label, said in _pattern(tuple(options)).findall(text):
        place = int(label) - 1 if k > _MOST_LETTERS else ord(label.upper()) - ord("A")
        found[place] = find_option(options, " ".join(said.split()))
    order = [option for option in map(found.get, range(k)) if option is not None]
    return tuple(order) if sorted(order) == list(range(k)) else None


@lru_cache(maxsize=1024)
def _pattern(options: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of one listed option, with groups for its label and its text.

    At least one character between label and text is neither a letter nor a space, because the "a" of a
    sentence is no label.
    """
    label = r"\d{1,3}" if len(options) > _MOST_LETTERS else "[a-z]"
    longest_first = sorted((text.split() for text in options), key=lambda words: -len(" ".join(words)))
    texts = "|".join(r"\s+".join(map(re.escape, words)) for words in longest_first)
    return re.compile(rf"(?<!\w)({label})\s*[^\w\s]\W{{0,6}}?({texts})(?!\w)", re.IGNORECASE)
