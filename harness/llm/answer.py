"""A model's text becomes one of the item's options, or a reason why it cannot."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_REFUSAL = re.compile(
    r"\b(i (?:can(?:no|')t|am unable to|'m unable to|won't)|as an ai|i'm sorry|i am sorry)\b", re.IGNORECASE
)
_STATED = re.compile(
    r"(?:answer|option|choice)\s*(?:is|:|=)?\s*[*_`\"'(\[]*([A-Z])\b(?![a-z'])", re.IGNORECASE
)
_ALONE = re.compile(r"^[\s*_`\"'(\[#]*([A-Z])[\s*_`\"')\].:]*$", re.IGNORECASE)
_LEADING = re.compile(r"^[\s*_`\"'(\[#]*([A-Z])[)\].:](?:\s|$)")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The text names no option; `reason` is ``"empty"``, ``"refusal"``, ``"several"`` or ``"none"``."""

    reason: str


def letters(k: int) -> tuple[str, ...]:
    """A, B, … for up to 26 options, else 1, 2, …."""
    if k <= 26:
        return tuple(chr(ord("A") + j) for j in range(k))
    return tuple(str(j + 1) for j in range(k))


def parse_answer(text: str, shown_options: Sequence[str]) -> int | Unreadable:
    """Find the option a text names.

    In this order: a last line of the form ``### X``; the whole answer being a letter or an
    option's text; the last "answer is X"; a line that begins with a letter and a bracket or stop;
    exactly one option's text occurring in the answer. Thoughts in ``<think>`` tags are not read.

    Parameters
    ----------
    text
        What the model wrote.
    shown_options
        The options in display order.

    Returns
    -------
    int or Unreadable
        Position in `shown_options`.
    """
    answer = _THOUGHT.sub("", text).strip()
    if not answer:
        return Unreadable("empty")
    names = letters(len(shown_options))
    for found in (_by_mark(answer, names), _whole(answer, shown_options, names), _stated(answer, names)):
        if found is not None:
            return found
    mentioned = _mentioned(answer, shown_options)
    if len(mentioned) == 1:
        return mentioned[0]
    if len(mentioned) > 1:
        return Unreadable("several")
    return Unreadable("refusal" if _REFUSAL.search(answer) else "none")


def _by_mark(answer: str, names: Sequence[str]) -> int | None:
    """``### X`` on the last line that has it."""
    marks: list[str] = re.findall(r"^#{2,}\s*[*(]*([A-Za-z]|\d+)[*).]*\s*$", answer, re.MULTILINE)
    return _index(marks[-1], names) if marks else None


def _whole(answer: str, options: Sequence[str], names: Sequence[str]) -> int | None:
    """Return the option if the answer, or its first line, is nothing but a letter or an option."""
    folded = [_fold(option) for option in options]
    for part in (answer, answer.splitlines()[0]):
        alone = _ALONE.match(part)
        if alone and _index(alone[1], names) is not None:
            return _index(alone[1], names)
        if part.strip().isdigit() and len(names) > 26:
            return _index(part.strip(), names)
        if _fold(part) in folded:
            return folded.index(_fold(part))
    return None


def _stated(answer: str, names: Sequence[str]) -> int | None:
    """The last "answer: X", else a first or last line such as ``B) text``."""
    stated = [j for j in (_index(m, names) for m in _STATED.findall(answer)) if j is not None]
    if stated:
        return stated[-1]
    lines = answer.splitlines()
    leading = {m[1] for m in (_LEADING.match(lines[0]), _LEADING.match(lines[-1])) if m}
    return _index(leading.pop(), names) if len(leading) == 1 else None


def _mentioned(answer: str, options: Sequence[str]) -> list[int]:
    """Options whose text occurs as whole words, without those inside a longer option that occurs."""
    text = f" {_fold(answer)} "
    hits = [j for j, o in enumerate(options) if _fold(o) and f" {_fold(o)} " in text]
    return [
        j
        for j in hits
        if not any(i != j and f" {_fold(options[j])} " in f" {_fold(options[i])} " for i in hits)
    ]


def _index(name: str, names: Sequence[str]) -> int | None:
    return names.index(name.upper()) if name.upper() in names else None


def _fold(text: str) -> str:
    return re.sub(r"[^\w]+", " ", text.casefold()).strip()
