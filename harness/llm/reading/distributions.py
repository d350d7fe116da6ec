"""Read the probabilities of the options that a model states at the end of its reply."""

from __future__ import annotations

import re
from functools import lru_cache

from oversight.harness.llm.reading.mentions import Notation, Pattern, option_letters_of

_HEAD = re.compile(r"\bprobabilities\b[\"'*_` \t]{0,8}[:：=]", re.IGNORECASE)
_NUMBER = r"(?P<value>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?)(?!\d)[ \t]*(?P<percent>%?)"
_BETWEEN = r"[ \t|:：=→~≈–—\"'*_`)\]]{0,16}+(?:-(?=[ \t]))?[ \t]*"
_FILLING = re.compile(r"(?:[\s,;|•*_`\"'{}\[\]().–—-]|\band\b)*")
"""Punctuation and the word "and", which a list may contain beside options and numbers."""
_SLACK = 0.05
"""Largest accepted difference between the sum of the probabilities and 1, because models round."""
_LONGEST, _MOST_HEADS = 20_000, 3
"""Maximum number of characters read after ``PROBABILITIES:``, and maximum number of such marks tried."""


def read_distribution(
    text: str, shown_options: tuple[str, ...], notation: Notation | None
) -> tuple[float, ...] | None:
    r"""Read the probabilities after the last ``PROBABILITIES:`` of a reply, for example ``A 0.7, B 0.3``.

    The probabilities are on the same line or the next lines. A line with an option contains only options with
    their probabilities. Options that are not listed have probability 0. The probabilities must sum to 1, up
    to rounding, and are divided by their sum.

    Parameters
    ----------
    text
        The reply without reasoning.
    shown_options
        The options in display order.
    notation
        Whether options are named by letters, possibly followed by their texts, or only by their texts.

    Returns
    -------
    tuple of float or None
        Probabilities in display order, which sum to 1. Empty if a line with an option contains other text, an
        option is listed twice, some but not all numbers are percentages, or the sum is not 1. None if the
        reply states no probabilities.

    Examples
    --------
    >>> read_distribution("Chest pain.\nPROBABILITIES: A 0.7, C 0.3", ("heart", "lung", "skin"), "letter")
    (0.7, 0.0, 0.3)
    """
    heads = list(_HEAD.finditer(text))
    if not heads:
        return None
    pattern = _entry(shown_options, notation)
    for head in heads[: -_MOST_HEADS - 1 : -1]:
        found = _read_block(text[head.end() :][:_LONGEST], pattern)
        if found is None:
            return ()
        if found:
            return _normalise(found, len(shown_options))
    return ()


def _read_block(text: str, entry: Pattern) -> list[tuple[int, float, bool]] | None:
    """Return the entries in the first consecutive lines that list options.

    An entry is (option, value, whether the value is a percentage). Returns None if one of these lines also
    contains other text.
    """
    found = list[tuple[int, float, bool]]()
    for number, line in enumerate(text.split("\n")):
        matches = list(entry.finditer(line))
        is_filled = _FILLING.fullmatch(entry.sub(" ", line)) is not None
        if matches and not is_filled:
            return None
        if not matches and (found or (number == 0 and not is_filled)):
            break
        for match in matches:
            option = next(int(name[1:]) for name in match.groupdict() if name[0] == "o" and match[name])
            found.append((option, float(match["value"]), bool(match["percent"])))
    return found


def _normalise(found: list[tuple[int, float, bool]], options: int) -> tuple[float, ...]:
    p = [0.0] * options
    is_percent = {percent for _, _, percent in found}
    if len({option for option, _, _ in found}) < len(found) or len(is_percent) > 1:
        return ()
    for option, value, percent in found:
        p[option] = value / 100 if percent else value
    total = sum(p)
    if max(p) > 1 or abs(total - 1) > _SLACK + 1e-9:
        return ()
    return tuple(value / total for value in p)


@lru_cache(maxsize=512)
def _entry(options: tuple[str, ...], notation: Notation | None) -> Pattern:
    """Return a pattern for any one option with its probability; group ``o3`` matches option 3."""
    texts = [re.escape(option) for option in options]
    if notation == "letter":
        letters = option_letters_of(len(options))
        names = [
            rf"{letter}(?!\w)[.)\]]?(?:[ \t:：(]{{0,4}}{text}\)?)?"
            for letter, text in zip(letters, texts, strict=True)
        ]
        flags = re.IGNORECASE
    else:
        names = texts
        is_plain = len({option.casefold() for option in options}) == len(options)
        flags = re.IGNORECASE if is_plain else re.NOFLAG
    # Try longer names first: otherwise "heart" would match the beginning of "heart (left)".
    order = sorted(range(len(options)), key=lambda k: -len(options[k]))
    either = "|".join(f"(?P<o{k}>{names[k]})" for k in order)
    return re.compile(rf"(?<![\w.-])(?:{either})(?!\w){_BETWEEN}{_NUMBER}", flags)
