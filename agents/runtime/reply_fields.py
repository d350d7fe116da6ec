"""Read the requested fields from a reply: parts that begin with their names, or one JSON object."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from oversight.agents.programs import PromptFormat
from oversight.harness.llm import ReplyForm, cut_thoughts, option_letters_of, read_reply
from oversight.harness.types import Item

_FENCE = re.compile(r"```(?:json)?\s*(\{.*?\})\s*```", re.DOTALL | re.IGNORECASE)
# The decoder is not strict, because models often write raw line breaks in strings.
_DECODER = json.JSONDecoder(strict=False)
_DEEPEST = 64
"""Maximum accepted nesting depth of a field's value; real replies are less deep."""
_SEPARATORS = re.compile(r"[\s_]+")


def is_answer(field: str) -> bool:
    """Whether a field must contain one of the options, because its name contains "answer"."""
    return "answer" in field.lower()


def shown_answers(item: Item, shape: PromptFormat) -> tuple[str, ...]:
    """Return the allowed contents of an answer field, in display order."""
    return option_letters_of(len(item.options)) if shape.answer == "letter" else item.shown_options


def part_names(fields: Sequence[str]) -> dict[str, str]:
    """Return the text that begins each field's part: the field's name in capitals.

    If two fields would have the same text, the names are returned unchanged.

    Examples
    --------
    >>> part_names(["thinking", "final_answer"])
    {'thinking': 'THINKING', 'final_answer': 'FINAL ANSWER'}
    """
    names = {field: _SEPARATORS.sub(" ", field).strip().upper() for field in fields}
    distinct = len(set(names.values())) == len(names) and all(names.values())
    return names if distinct else {field: field for field in fields}


def find_missing(text: str, fields: Sequence[str], shape: PromptFormat) -> list[str]:
    """Return the fields that a reply lacks."""
    found = _find_fields(text, fields, shape)
    return [field for field in fields if found is None or found.get(field) is None]


def read_fields(
    text: str,
    fields: Sequence[str],
    shape: PromptFormat,
    item: Item,
    choices: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, str]:
    """Return the requested fields of a reply by name; a missing field is empty.

    If only one field was requested, and the reply has no parts and no JSON object, the whole reply is the
    field's content. In the style ``"parts"``, the content of a field in `choices` becomes the choice that it
    names; any other answer that names exactly one option becomes this option's letter or text.
    """
    found = _find_fields(text, fields, shape)
    if found is None:
        found = {fields[0]: text.strip()} if len(fields) == 1 else {}
    contents = {field: _content(found.get(field)) for field in fields}
    if shape.style == "parts":
        for field, content in contents.items():
            if choices and field in choices:
                contents[field] = _read_choice(content, choices[field])
            elif is_answer(field):
                contents[field] = _read_option(content, item, shape)
    return contents


def _find_fields(text: str, fields: Sequence[str], shape: PromptFormat) -> Mapping[str, Any] | None:
    text = cut_thoughts(text).strip()
    parts = _find_parts(text, fields) if shape.style == "parts" else None
    return read_object(text) if parts is None else parts


def _find_parts(text: str, fields: Sequence[str]) -> dict[str, str] | None:
    """Return the parts of a reply by field; None if the reply has no part.

    Text before the first part belongs to the first field. The contents of repeated parts are joined, so that
    two different answers are read as a contradiction.
    """
    of_name = {name: field for field, name in part_names(fields).items()}
    either = "|".join(re.escape(name) for name in sorted(of_name, key=len, reverse=True))
    heads = list(re.finditer(rf"^[\s*_#>`-]*({either})[\s*_`]*[:：][*_`]*", text, re.MULTILINE))
    if not heads:
        return None
    found: dict[str, str] = {}
    ends = [*(head.start() for head in heads[1:]), len(text)]
    if before := text[: heads[0].start()].strip():
        found[fields[0]] = before
    for head, end in zip(heads, ends, strict=True):
        field, part = of_name[head[1]], text[head.end() : end].strip()
        found[field] = f"{found[field]}\n{part}" if found.get(field) else part
    return found


def _read_option(content: str, item: Item, shape: PromptFormat) -> str:
    option = read_reply(content, item.shown_options, ReplyForm(notation=shape.answer)).option
    return content if option is None else shown_answers(item, shape)[option]


def _read_choice(content: str, choices: Sequence[str]) -> str:
    plain = content.strip(" \t\n*_`\"'.").casefold()
    named = [choice for choice in choices if choice.casefold() == plain]
    return named[0] if len(named) == 1 else content


def read_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a reply: the whole reply, a fenced block, or the first object that parses.

    Returns None if the reply has no JSON object. Fields that are nested too deeply are left out. If the
    nesting is too deep for the parser, the returned object is empty.
    """
    found = _find_object(text)
    return found and {field: value for field, value in found.items() if not _is_deep(value)}


def _find_object(text: str) -> dict[str, Any] | None:
    fenced = _FENCE.search(text)
    for candidate in filter(None, (text, fenced and fenced[1])):
        with suppress(ValueError, RecursionError):
            if isinstance(found := _DECODER.decode(candidate), dict):
                return found
    for start in (match.start() for match in re.finditer(r"\{", text)):
        try:
            found = _DECODER.raw_decode(text, start)[0]
        # Stop at an object that is nested too deeply, because the objects inside it are not the answer.
        except RecursionError:
            return {}
        except ValueError:
            continue
        return found if isinstance(found, dict) else None
    return None


def _is_deep(value: Any) -> bool:
    """Whether a value is nested too deeply; iterative, because the recursion limit depends on the caller."""
    level = [value]
    for _ in range(_DEEPEST):
        parts = [part for part in level if isinstance(part, dict | list)]
        if not parts:
            return False
        level = [v for part in parts for v in (part.values() if isinstance(part, dict) else part)]
    return True


def _content(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # JSON may contain an unpaired surrogate, which cannot be encoded and sent to the sandbox.
    return text if text.isascii() else text.encode(errors="replace").decode()


def read_line(text: str) -> str:
    """Return the first line of a completion, without final full stops."""
    return (text.strip().splitlines() or [""])[0].strip().rstrip(".")
