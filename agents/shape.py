"""How workflows' calls are worded in a study: data that decides prompts without touching code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Example:
    """A solved item that may be shown before the question; none of the items to be answered.

    Attributes
    ----------
    text
        What is asked.
    answer
        The right option's text.
    thinking
        One line that leads to it; may be empty.
    """

    text: str
    answer: str
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """What every call of a study has in common.

    Attributes
    ----------
    answer
        Whether a field called ``answer`` holds an option's letter or its text. Small models do
        not follow letters; to them the text says more.
    field_chars
        Longest content of any other field, enforced by the schema where the endpoint can; None
        sets no limit.
    max_tokens
        Cap of a call's answer.
    examples
        Shown, as earlier turns, in the calls that ask for an answer.
    max_words
        Longest text of an item that is shown, in words; None shows all.
    code
        Whether a program may have code that the model wrote run, in a sandbox of its own.
    """

    answer: Literal["letter", "option"] = "letter"
    field_chars: int | None = None
    max_tokens: int = 2048
    examples: tuple[Example, ...] = ()
    max_words: int | None = None
    code: bool = False


DEFAULT_SHAPE = Shape()
