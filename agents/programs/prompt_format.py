"""How workflows' calls are worded in a study: data that decides prompts without touching code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
class PromptFormat:
    """What every call of a study has in common.

    Attributes
    ----------
    style
        ``"json"`` asks for one JSON object with all fields; ``"lines"`` has every field completed
        as a line of its own, one request each, see `agents.runtime.line_prompt`.
    answer
        Whether a field called ``answer`` holds an option's letter or its text. Small models do
        not follow letters; to them the text says more.
    field_chars
        Longest content of any other field, enforced by the schema where the endpoint can; None
        sets no limit.
    max_tokens
        Cap of a call's answer; with lines, of each.
    examples
        Shown, as earlier turns, in the calls that ask for an answer.
    max_words
        Longest text of an item that is shown, in words; None shows all.
    labels
        With lines, what the line of a field begins with; ``question`` and ``options`` are fields, too.
    code
        Whether a program may have code that the model wrote run, in a sandbox of its own.
    """

    style: Literal["json", "lines"] = "json"
    answer: Literal["letter", "option"] = "letter"
    field_chars: int | None = None
    max_tokens: int = 2048
    examples: tuple[Example, ...] = ()
    max_words: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    code: bool = False

    def label(self, name: str) -> str:
        """What a field's line begins with: its name, if the study does not say."""
        return self.labels.get(name, f"{name[:1].upper()}{name[1:]}:")


DEFAULT_FORMAT = PromptFormat()
