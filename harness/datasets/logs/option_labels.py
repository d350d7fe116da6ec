"""Labels under which other programs list options, such as ``A``, ``(b)`` or ``1.``; pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence

_AROUND = " \t\r\n()[]{}（）.:,;*_`\"'"
_DIGITS = re.compile(r"\d{1,3}")
_LEADING = re.compile(r"[\s(\[*\"']*(\w+)[\s*\"']*[)\].:](?:\s|$)")
_STATED = re.compile(r"\b(?:answer|option|choice)\b\s*(?:is|:|=)*[\s(\[*\"']*(\w+)(?![.,]?\w)", re.IGNORECASE)


def strip_label(text: str) -> str:
    """Reduce a label to its letter or number, in lower case.

    >>> [strip_label(label) for label in ("(A)", " b.", "3)")]
    ['a', 'b', '3']
    """
    return text.strip(_AROUND).casefold()


def place_labels(labels: Sequence[str]) -> list[int] | None:
    """Return the place that each label names, or None if they are not consecutive letters or numbers.

    Letters count from ``A``, numbers from 1, or from 0 if one of them is 0.

    >>> place_labels(["(B)", "(A)"]), place_labels(["1", "2"]), place_labels(["yes", "no"])
    ([1, 0], [0, 1], None)
    """
    bare = [strip_label(label) for label in labels]
    if bare and all(_DIGITS.fullmatch(name) for name in bare):
        places = [int(name) - min(1, *map(int, bare)) for name in bare]
    elif all(len(name) == 1 and "a" <= name <= "z" for name in bare):
        places = [ord(name) - ord("a") for name in bare]
    else:
        return None
    return places if sorted(places) == list(range(len(places))) else None


def is_label(text: str) -> bool:
    """Whether a text is nothing but one letter or a number of at most three digits."""
    bare = strip_label(text)
    return (len(bare) == 1 and bare.isalpha()) or _DIGITS.fullmatch(bare) is not None


def read_label(text: str, labels: Sequence[str], *, with_words: bool) -> int | None:
    """Return which of some labels a reply names, or None if it does not plainly name one.

    Read are a reply or a first line that is nothing but the label and, `with_words`, a label with words
    around it: ``2. heart``, ``The answer is 2``.

    >>> [read_label(reply, ["1", "2"], with_words=True) for reply in (" (2)", "The answer is 2.", "2.5")]
    [1, 1, None]
    """
    names = [strip_label(label) for label in labels]
    stripped = text.strip()
    lines = stripped.splitlines() or [""]
    whole = [strip_label(part) for part in (stripped, lines[0])]
    if len(set(names)) < len(names):
        exact = [label.strip() for label in labels]
        return exact.index(stripped) if exact.count(stripped) == 1 else None
    found = [name for name in whole if name in names]
    if not found and with_words:
        lead = _LEADING.match(lines[0])
        stated = {name.casefold() for name in _STATED.findall(stripped)} & set(names)
        found = list(stated) or ([lead[1].casefold()] if lead and lead[1].casefold() in names else [])
        found = found if len(found) == 1 else []
    return names.index(found[0]) if found else None


def find_listed_options(text: str, labels: Sequence[str]) -> tuple[str, ...]:
    r"""Return the texts that the last list with these labels gives them, one a line; empty if there is none.

    >>> find_listed_options("Which?\nOptions:\n(A) red\n(B) blue", ["A", "B"])
    ('red', 'blue')
    """
    lines = text.splitlines()
    patterns = [
        re.compile(rf"\s*[(\[]?{re.escape(label.strip(_AROUND))}[)\].:]\s*(\S.*)", re.IGNORECASE)
        for label in labels
    ]
    for first in reversed(range(len(lines))):
        found: list[str] = []
        for line in lines[first:]:
            if match := patterns[len(found)].match(line):
                found.append(match[1].strip())
            elif not found:
                break
            if len(found) == len(labels):
                return tuple(found)
    return ()
