"""Find out which option each letter denotes in a prompt that lists options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from oversight.harness.types.records import find_option

_MOST_LETTERS = 26
_WORD = re.compile(r"\w")


def find_listed_order(options: Sequence[str], text: str) -> tuple[int, ...] | None:
    r"""Return the index of the option that a text lists under A, under B, and so on.

    A list has every option once, under A, B, … in this order, or under 1, 2, … if there are more than 26
    options. Only spaces, line ends and punctuation separate an option from the next label. The first label
    begins a line, follows punctuation, or is written ``A.`` or ``A)``. If the text contains several lists,
    for example in worked examples, the last one counts. Returns None if the text contains no list, or if the
    options are the letters themselves.

    Examples
    --------
    >>> find_listed_order(("red", "blue"), "Which?\nA) blue\nB) red")
    (1, 0)
    >>> find_listed_order(("red", "blue"), "Wire A: blue; wire B: red. Which?") is None
    True
    """
    k = len(options)
    if all(len(o) == 1 and o.isascii() and ord(o.upper()) - ord("A") in range(k) for o in options):
        return None  # "A, B or C" lists no options under letters
    last: tuple[int, ...] | None = None
    found: list[int | None] = []
    end = 0
    for match in _pattern(tuple(options)).finditer(text):
        label, said = match.groups()
        place = int(label) - 1 if k > _MOST_LETTERS else ord(label.upper()) - ord("A")
        if place == 0:
            found = []
        is_next = _begins_list(match) if place == 0 else not _WORD.search(text, end, match.start())
        if is_next and place == len(found):
            found.append(find_option(options, " ".join(said.split())))
        else:
            found = []
        end = match.end()
        order = tuple(option for option in found if option is not None)
        if sorted(order) == list(range(k)):
            last = order
    return last


def _begins_list(first: re.Match[str]) -> bool:
    before = first.string[: first.start()].rstrip(" \t")[-1:]
    return not before.isalnum() or first.string[first.end(1)] in ".)"


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
