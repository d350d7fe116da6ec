"""Build the prompt and the request for an item."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from string import Template
from typing import Any

from oversight.harness.config import RunSpec
from oversight.harness.errors import ConfigError
from oversight.harness.llm.models.interface import Message, Request
from oversight.harness.llm.reading.mentions import Notation, option_letters_of
from oversight.harness.llm.reading.reply_reader import ReplyForm
from oversight.harness.types import Item

_QUESTION = """\
Answer the following multiple-choice question.

$text

$options

"""
DEFAULT_TEMPLATE = f"""{_QUESTION}\
Think as long as you need to, then end with a line that holds only:
### X
where X is one of $letters.
"""
_PROBABILITIES = """\
Think as long as you need to. In place of any other last line, end with a line of this form:
PROBABILITIES: X 0.6, Y 0.3, Z 0.1
where X, Y, Z are among $names, and each number is your probability that this is the right answer. The
probabilities sum to 1. Leave out what has probability 0.
"""


FIELDS = ("text", "options", "names", "letters")


def check_template(template: str) -> str:
    """Return the template if it is valid.

    Raises
    ------
    ConfigError
        If the template has no ``$text``, an unknown field, or a single ``$`` (a dollar
        sign is ``$$``).
    """
    parsed = Template(template)
    fields = set(parsed.get_identifiers()) if parsed.is_valid() else None
    if fields is None:
        raise ConfigError("prompt template: a $ does not begin a field; write $$ for a dollar sign")
    unknown = sorted(fields - set(FIELDS))
    if unknown:
        known = ", ".join(f"${name}" for name in FIELDS)
        raise ConfigError(f"prompt template: unknown field ${unknown[0]}; the known fields are {known}")
    if "text" not in fields:
        raise ConfigError("prompt template: $text is missing, so every prompt would be the same")
    return template


def request_probabilities(template: str) -> str:
    """Return a template that requests the options' probabilities in the last line of the answer."""
    begin = _QUESTION if template == DEFAULT_TEMPLATE else f"{template.rstrip()}\n\n"
    names = "$letters" if _notation_of(template) == "letter" else "$names"
    return begin + _PROBABILITIES.replace("$names", names)


def render_prompt(template: str, item: Item, max_words: int | None = None) -> str:
    """Fill in a template for one item.

    ``$text`` is the item's text (at most `max_words` words); ``$options`` the options with letters, one per
    line; ``$names`` the options separated by commas; ``$letters`` the letters separated by commas. Options
    are in display order.
    """
    text, options, letters = item.text, item.shown_options, option_letters_of(len(item.options))
    if max_words is not None and len(text.split()) > max_words:
        text = " ".join(text.split()[:max_words])
    lines = [f"({letter}) {option}" for letter, option in zip(letters, options, strict=True)]
    named, lettered = ", ".join(options), ", ".join(letters)
    fields = {"text": text, "options": "\n".join(lines), "names": named, "letters": lettered}
    return _compile(template) % fields


@lru_cache(maxsize=64)
def _compile(template: str) -> str:
    """Return a template as a format string for the operator ``%``, which is faster than `Template`."""
    return Template(template.replace("%", "%%")).safe_substitute({name: f"%({name})s" for name in FIELDS})


def make_request(spec: RunSpec, item: Item) -> Request:
    """Return the request that a run sends for an item."""
    question = Message("user", render_prompt(spec.template, item, spec.max_words))
    messages = (Message("system", spec.system), question) if spec.system else (question,)
    schema = constraint = None
    if spec.structured or spec.choice:
        is_letter = _notation_of(spec.template) == "letter"
        names = option_letters_of(len(item.options)) if is_letter else item.shown_options
        schema = answer_schema(names) if spec.structured else None
        constraint = CHOICES[spec.choice](names) if spec.choice else None
    return Request(messages, spec.temperature, spec.max_tokens, spec.stop, schema, spec.logprobs, constraint)


def reply_form_of(spec: RunSpec) -> ReplyForm:
    """Return the form of answers that a run requests.

    If the template shows the options with letters but does not list the letters, answers can be letters or
    texts. The form then has no notation. If the run restricts answers, for example by a schema, the template
    determines the notation.
    """
    form = "schema" if spec.structured else spec.answer
    pattern = None if form == "probabilities" else spec.pattern
    is_known = spec.structured or spec.choice or form == "probabilities"
    shown = Template(spec.template).get_identifiers()
    is_open = not is_known and "options" in shown and "letters" not in shown
    return ReplyForm(form, None if is_open else _notation_of(spec.template), pattern)


@lru_cache(maxsize=64)
def _notation_of(template: str) -> Notation:
    """Return how answers name options: by letters if the template shows letters, otherwise by texts."""
    shown = Template(template).get_identifiers()
    return "letter" if "options" in shown or "letters" in shown else "option"


def answer_schema(names: Sequence[str]) -> dict[str, Any]:
    """Return the JSON Schema of an object whose ``answer`` is one of these names."""
    return {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(names)}},
        "required": ["answer"],
        "additionalProperties": False,
    }


CHOICES: dict[str, Callable[[Sequence[str]], dict[str, Any]]] = {
    "structured_outputs": lambda names: {"structured_outputs": {"choice": list(names)}},
    "guided_choice": lambda names: {"guided_choice": list(names)},
    "regex": lambda names: {"regex": "(" + "|".join(map(re.escape, names)) + ")"},
    "grammar": lambda names: {
        "grammar": "root ::= " + " | ".join(json.dumps(name, ensure_ascii=False) for name in names)
    },
}
"""Functions, by name, that return the body field which restricts answers to the given texts: for vLLM,
older vLLM, SGLang and llama.cpp."""
