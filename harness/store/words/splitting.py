"""Split texts and queries into words by the same rule."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache

LONGEST_WORD = 64
"""Number of characters of a word that count."""
SHORTEST_BEGINNING = 3
"""Length from which a typed word may be a prefix; shorter prefixes begin half of all words."""

# Thai and Lao, Burmese, Khmer, kana, Chinese characters
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_ASCII = re.compile("[a-z0-9]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_SCRIPTS = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")


def split_words(text: str) -> list[str]:
    """Return the distinct words of a text for the index.

    A word is a run of letters and digits of any script. Case, width and the accents of Latin, Greek and
    Cyrillic letters are ignored. Scripts without spaces between words are split into pairs of neighbouring
    characters. Symbols, for example emoji, are not words.
    """
    if text.isascii():
        return _cut(_ASCII.findall(text.lower()))
    parts = dict.fromkeys(text.split())
    words = _ASCII.findall(" ".join([part for part in parts if part.isascii()]).lower())
    for part in parts:
        if not part.isascii():
            words += _split_part(part) if len(part) <= LONGEST_WORD else _split_part.__wrapped__(part)
    return _cut(words)


@lru_cache(maxsize=1 << 14)  # cached, because words recur
def _split_part(part: str) -> list[str]:
    words = list[str]()
    for run in _find_runs(part):
        if _IS_UNSPACED.match(run):
            words += [run[place : place + 2] for place in range(len(run))]
        else:
            words.append(run)
    return words


def _cut(words: list[str]) -> list[str]:
    return list(dict.fromkeys([word[:LONGEST_WORD] for word in words]))


def read_query(text: str) -> dict[str, bool]:
    """Return for every word of a query whether it may be only the beginning of a word.

    The last word may, if it has at least three characters; so may a single character of a script without
    spaces.
    """
    words = dict[str, bool]()
    runs = list(_find_runs(text))
    for number, run in enumerate(runs, start=1):
        if _IS_UNSPACED.match(run):
            pairs = [run[place : place + 2] for place in range(max(len(run) - 1, 1))]
            words |= dict.fromkeys(pairs, len(run) == 1)
        else:
            is_last = number == len(runs) and len(run) >= SHORTEST_BEGINNING
            words[run[:LONGEST_WORD]] = is_last or len(run) >= LONGEST_WORD
    return words


def _find_runs(text: str) -> Iterator[str]:
    if text.isascii():
        yield from _ASCII.findall(text.lower())
        return
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text).casefold())
    for run in _compile_runs().findall(unicodedata.normalize("NFC", plain).replace("_", " ")):
        if run.isascii():
            yield run
        else:
            yield from _SCRIPTS.findall(run)


@cache
def _compile_runs() -> re.Pattern[str]:
    # Vowels of many scripts are combining marks, which \w does not match.
    marks = [c for c in map(chr, range(0x370, 0x1F000)) if unicodedata.category(c).startswith("M")]
    return re.compile(rf"[\w{''.join(marks)}]+")
