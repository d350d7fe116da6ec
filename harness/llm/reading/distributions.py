"""Read the probabilities of the options that a model states at the end of its reply."""

from __future__ import annotations

import re
from functools import lru_cache

from oversight.harness.llm.reading.mentions import Notation, option_letters_of

_HEAD = re.compile(r"\bprobabilities\b[\s\"'*_`]*[:：=]", re.IGNORECASE)
_NUMBER = r"(?P<value>\d+(?:\.\d+)?|\.\d+)(?![\d.,]*\d)\s*(?P<percent>%?)"
_BETWEEN = r"[\"'*_`)\]]*\s*(?:\([^()\n]{1,200}\)\s*)?(?:[:：=–—]|-(?=\s))?\s*[\"'*_`]*"
_SLACK = 0.05
"""Largest difference of the sum from 1, because models round."""
_LONGEST = 20_000


def read_distribution(
    text: str, shown_options: tuple[str, ...], notation: Notation | None
) -> tuple[float, ...] | None:
    r"""Read the probabilities after the last ``PROBABILITIES:`` of a reply, for example ``A 0.7, B 30 %``.

    Options that are not listed have probability 0. The probabilities must sum to 1, up to rounding, and are
    divided by their sum.

    Parameters
    ----------
    text
        The reply without reasoning.
    shown_options
        The options in display order.
    notation
        Whether options are named by letters or by their texts.

    Returns
    -------
    tuple of float or None
        Probabilities in display order, which sum to 1. Empty if an option is listed twice, or the sum is not
        1. None if the reply states no probabilities.

    Examples
    --------
    >>> read_distribution("Chest pain.\nPROBABILITIES: A 0.7, C 0.3", ("heart", "lung", "skin"), "letter")
    (0.7, 0.0, 0.3)
    """
    heads = list(_HEAD.finditer(text))
    if not heads:
        return None
    stated = text[heads[-1].end() :][:_LONGEST]
    names = option_letters_of(len(shown_options)) if notation == "letter" else shown_options
    found = [list(_pattern(name, is_letter=notation == "letter").finditer(stated)) for name in names]
    is_percent = any(match["percent"] for matches in found for match in matches)
    values = [[float(m["value"]) / (100 if is_percent else 1) for m in matches] for matches in found]
    p = [own[0] if own else 0.0 for own in values]
    total = sum(p)
    if any(len(own) > 1 for own in values) or max(p) > 1 or abs(total - 1) > _SLACK:
        return ()
    return tuple(value / total for value in p)


@lru_cache(maxsize=512)
def _pattern(name: str, *, is_letter: bool) -> re.Pattern[str]:
    return re.compile(
        rf"(?<![\w.-]){re.escape(name)}{_BETWEEN}{_NUMBER}", re.NOFLAG if is_letter else re.IGNORECASE
    )
