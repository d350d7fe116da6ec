"""Numbers with nouns, and suggestions for misspelled names."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    """``1 expert``, ``3 experts``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def pool_text(drawn: int, size: int) -> str:
    """Return ``300 of 12,000 items drawn``."""
    return f"{drawn:,} of {size:,} items drawn"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'route'?`` for an error about an unknown name; empty if no name is similar."""
    from difflib import get_close_matches

    by_plain = {each.casefold(): each for each in known}
    found = get_close_matches(name.casefold(), by_plain, n=1, cutoff=0.6)
    return f"; did you mean {by_plain[found[0]]!r}?" if found else ""
