"""A program's call becomes the request that is sent, and the reply the fields that were asked for.

Letters and formats are made from the item's K; a reply is read whatever order and dress it has. In the
style of lines a model completes a call line by line: for base models, which follow no format. Every
field is a line that begins with its label; the model writes the rest of it. So a study's wording
decides how much a small model understands: *This patient should be seen by the department of* is a
sentence to it, ``{"answer": …}`` is not. What is asked for is always there, in order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from agents.programs import Example, PromptFormat
from agents.runtime.call import Call, ShownRecord
from harness.llm import Message, Request, option_letters_of
from harness.types import Item

NOBODY = "You are a helpful assistant."
_FENCE = re.compile(r"```(?:json)?\s*(\{.*?\})\s*```", re.DOTALL | re.IGNORECASE)
_DECODER = json.JSONDecoder(strict=False)  # made once: raw line breaks in strings are common
_Opening = tuple[tuple[Message, ...], dict[str, Any]]
_OPENINGS: dict[Any, _Opening] = {}
_MOST_OPENINGS = 256
_DEEPEST = 64
"""Levels of a field's value; no model means more."""
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


def answers(item: Item, shape: PromptFormat) -> tuple[str, ...]:
    """What a field that holds an answer may say, in display order."""
    return option_letters_of(len(item.options)) if shape.answer == "letter" else item.shown_options


def is_answer(field: str) -> bool:
    """Whether a field is to hold one of the options: its name says so."""
    return "answer" in field.lower()


def make_call_request(call: Call, item: Item, shape: PromptFormat) -> Request:
    """Word a call for one item.

    The system message carries role and format, then come the study's examples as earlier turns (if
    an answer is asked for), then the inputs and the instruction. So calls that differ only in the
    item share their beginning, which endpoints cache. Every message ends with a line break, since
    base models are served with templates that only join them.
    """
    opening, schema = _open(call, item, shape)
    blocks = [_block(shown, call, item, shape) for shown in call.inputs]
    if call.instruction:
        blocks.append(call.instruction)
    asked = Message("user", "\n\n".join(blocks) + "\n")
    return Request(
        (*opening, asked), temperature=call.temperature, max_tokens=shape.max_tokens, schema=schema
    )


def _open(call: Call, item: Item, shape: PromptFormat) -> _Opening:
    """What calls that differ in the item alone have in common, worded once for items of equal options."""
    choices, wording = tuple(call.choices.items()), (shape.answer, shape.field_chars, shape.max_words)
    options = item.options, item.permutation
    key = (call.fields, call.role, choices, call.examples, options, wording, shape.examples)
    found = _OPENINGS.get(key)
    if found is None:
        if len(_OPENINGS) >= _MOST_OPENINGS:
            _OPENINGS.clear()
        turns = [Message("system", _system(call, item, shape))]
        for example, answer in shown_examples(call, item, shape):
            reply = {field: answer if is_answer(field) else example.thinking for field in call.fields}
            turns.append(Message("user", _question(example.text, shape) + "\n"))
            turns.append(Message("assistant", json.dumps(reply, ensure_ascii=False) + "\n"))
        found = _OPENINGS[key] = (tuple(turns), _schema(call, item, shape))
    return found


def _system(call: Call, item: Item, shape: PromptFormat) -> str:
    lines = [f'- "{field}": {_describe(field, call, item, shape)}' for field in call.fields]
    wish = "Reply with one JSON object with exactly these fields, in this order:"
    return "\n".join([call.role or NOBODY, wish, *lines, ""])


def _describe(field: str, call: Call, item: Item, shape: PromptFormat) -> str:
    if field in call.choices:
        return "only one of: " + ", ".join(call.choices[field])
    if not is_answer(field):
        return f"your {field.replace('_', ' ')}"
    what = "the letter of the option you choose, one of" if shape.answer == "letter" else "one of"
    return f"only {what}: " + ", ".join(answers(item, shape))


def _schema(call: Call, item: Item, shape: PromptFormat) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for field in call.fields:
        allowed = call.choices.get(field) or (answers(item, shape) if is_answer(field) else None)
        properties[field] = {"type": "string"}
        if allowed:
            properties[field]["enum"] = list(allowed)
        elif shape.field_chars is not None:
            properties[field]["maxLength"] = shape.field_chars
    return {
        "type": "object",
        "properties": properties,
        "required": list(call.fields),
        "additionalProperties": False,
    }


def _block(shown: ShownRecord | None, call: Call, item: Item, shape: PromptFormat) -> str:
    if shown is not None:
        turn = f", round {shown.turn + 1}" if shown.turn >= 0 else ""
        yourself = " (yourself)" if shown.author == call.name else ""
        author = f", by {shown.author}{yourself}" if shown.author else ""
        return f"### {shown.field}{turn}{author}\n{shown.content}"
    question = _question(item.text, shape)
    if shape.answer == "option":  # the format names the options already
        return question
    return "\n".join([question, *lettered(item)])


def cut(text: str, shape: PromptFormat) -> str:
    """Return as much of an item's text as is shown."""
    words = text.split()
    too_long = shape.max_words is not None and len(words) > shape.max_words
    return " ".join(words[: shape.max_words]) if too_long else text


def _question(text: str, shape: PromptFormat) -> str:
    return f"### Question\n{cut(text, shape)}"


def shown_examples(call: Call, item: Item, shape: PromptFormat) -> Iterator[tuple[Example, str]]:
    """The study's examples that a call shows, each with its answer as a field of this item says it.

    There are none if no answer is asked for, and none whose answer is not among the item's options.
    """
    for example in shape.examples[: call.examples] if any(map(is_answer, call.fields)) else ():
        if example.answer in item.options:
            yield example, answers(item, shape)[item.shown_options.index(example.answer)]


def lettered(item: Item) -> list[str]:
    """An item's options in display order, each behind its letter."""
    letters = option_letters_of(len(item.options))
    return [f"({n}) {option}" for n, option in zip(letters, item.shown_options, strict=True)]


def line_request(call: Call, item: Item, shape: PromptFormat, written: Mapping[str, str]) -> Request:
    """Word the request for the first field that is not yet written.

    The options and the examples come first and are the same for all items of a study that does not
    shuffle its options: endpoints keep what prompts have in common.
    """
    field = next(f for f in call.fields if f not in written)
    lines = [text for text in (call.role, call.instruction) if text]
    label = shape.label("options")
    if shape.answer == "option":
        lines += [f"{label} {', '.join(item.shown_options)}.", ""]
    else:
        lines += [label, *lettered(item), ""]
    for example, answer in shown_examples(call, item, shape):
        lines += _example_lines(example, answer, call, shape)
    lines += [_line(shown, item, shape) for shown in call.inputs]
    lines += [f"{_label(f, call, shape)} {text}" for f, text in written.items()]
    prompt = "\n".join([*lines, _label(field, call, shape)])
    return Request.of(prompt, temperature=call.temperature, max_tokens=shape.max_tokens, stop=("\n",))


def _label(field: str, call: Call, shape: PromptFormat) -> str:
    label = shape.label("answer" if is_answer(field) else field)
    return f"{label[:-1]} ({', '.join(call.choices[field])}):" if field in call.choices else label


def _example_lines(example: Example, answer: str, call: Call, shape: PromptFormat) -> list[str]:
    """Show a solved item in the lines of this call."""
    lines = [f"{shape.label('question')} {example.text}"]
    for field in call.fields:
        if is_answer(field):
            label = shape.label("answer")
            lines.append(f"{label} {answer}" + ("" if label.endswith(":") else "."))
        elif example.thinking:
            lines.append(f"{shape.label(field)} {example.thinking}")
    return [*lines, ""]


def _line(shown: ShownRecord | None, item: Item, shape: PromptFormat) -> str:
    if shown is None:
        return f"{shape.label('question')} {cut(item.text, shape)}"
    field = "answer" if is_answer(shown.field) else shown.field
    return f"{shape.label(field)} {shown.content}"


def read_object(text: str) -> dict[str, Any] | None:
    """Find the JSON object in a reply: the whole of it, a fenced one, or the first that parses.

    Fields that hold too deep a nesting are left out, and all of them where nothing can read the object.
    """
    found = _find_object(text)
    return found and {field: value for field, value in found.items() if not _is_deep(value)}


def _find_object(text: str) -> dict[str, Any] | None:
    text = _THOUGHT.sub("", text).strip()
    fenced = _FENCE.search(text)
    for candidate in filter(None, (text, fenced and fenced[1])):
        with suppress(ValueError, RecursionError):
            if isinstance(found := _DECODER.decode(candidate), dict):
                return found
    for start in (match.start() for match in re.finditer(r"\{", text)):
        try:
            found = _DECODER.raw_decode(text, start)[0]
        except RecursionError:  # what stands within is no answer of its own
            return {}
        except ValueError:
            continue
        return found if isinstance(found, dict) else None
    return None


def _is_deep(value: Any) -> bool:
    """Whether a value is nested too deep; never by recursion, whose limit depends on who calls."""
    level = [value]
    for _ in range(_DEEPEST):
        parts = [part for part in level if isinstance(part, dict | list)]
        if not parts:
            return False
        level = [v for part in parts for v in (part.values() if isinstance(part, dict) else part)]
    return True


def find_missing(text: str, fields: Sequence[str]) -> list[str]:
    """Fields that a reply does not hold."""
    found = read_object(text)
    return [field for field in fields if found is None or found.get(field) is None]


def read_fields(text: str, fields: Sequence[str]) -> dict[str, str]:
    """Contents of the fields by name; surplus ones are dropped, missing ones empty.

    A reply without any JSON object is the content of the only field, if one was asked for.
    """
    found = read_object(text)
    if found is None:
        return {field: text.strip() if len(fields) == 1 else "" for field in fields}
    return {field: _content(found.get(field)) for field in fields}


def _content(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # JSON may spell half a surrogate pair, which crosses no border of a sandbox.
    return text if text.isascii() else text.encode(errors="replace").decode()


def read_line(text: str) -> str:
    """What was written into a line, without what a model adds to it."""
    return (text.strip().splitlines() or [""])[0].strip().rstrip(".")
