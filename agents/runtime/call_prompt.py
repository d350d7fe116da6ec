"""Turn a program's call into a request to the model.

`PromptFormat.style` sets the format. ``"parts"`` asks for one part per field, which begins with the field's
name, for example ``ANSWER: B``. ``"json"`` asks for one JSON object. ``"lines"`` is for base models that
follow no format: each request asks for one field, the prompt ends with the field's label, and the model
completes the line. A label can be the start of a sentence, for example *This patient should be seen by the
department of*, which a small model understands better than ``{"answer": …}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oversight.agents.programs import Example, PromptFormat
from oversight.agents.runtime.call import Call, ShownRecord
from oversight.agents.runtime.reply_fields import is_answer, part_names, shown_answers
from oversight.harness.llm import Message, Request, option_letters_of
from oversight.harness.types import Item

NOBODY = "You are a helpful assistant."


def make_call_request(call: Call, item: Item, shape: PromptFormat) -> Request:
    """Return the request of a call about one item, in the style ``"parts"`` or ``"json"``.

    The system message contains the role and the format. If an answer is requested, the study's examples
    follow as earlier turns. The inputs and the instruction come last. Calls that differ only in the item
    thus share a prefix, which endpoints can cache. Every message ends with a line break, because the chat
    templates of base models join messages without a separator.
    """
    turns = [Message("system", _system(call, item, shape))]
    for example, answer in shown_examples(call, item, shape):
        reply = {field: answer if is_answer(field) else example.thinking for field in call.fields}
        turns.append(Message("user", _question(example.text, shape) + "\n"))
        turns.append(Message("assistant", _write_reply(reply, shape) + "\n"))
    blocks = [_block(shown, call, item, shape) for shown in call.inputs]
    if call.instruction:
        blocks.append(call.instruction)
    turns.append(Message("user", "\n\n".join(blocks) + "\n"))
    schema = _schema(call, item, shape) if shape.style == "json" else None
    return Request(tuple(turns), temperature=call.temperature, max_tokens=shape.max_tokens, schema=schema)


def _system(call: Call, item: Item, shape: PromptFormat) -> str:
    told = {field: _describe(field, call, item, shape) for field in call.fields}
    if shape.style == "json":
        wish = "Reply with one JSON object with exactly these fields, in this order:"
        return "\n".join([call.role or NOBODY, wish, *[f'- "{f}": {text}' for f, text in told.items()], ""])
    wish = "Reply with these parts, in this order. Begin each with its name, on a line of its own:"
    lines = [f"{name}: {told[field]}" for field, name in part_names(call.fields).items()]
    last = part_names(call.fields)[call.fields[-1]]
    end = [f"Your last line has the form {last}: X"] if _has_options(call.fields[-1], call) else []
    return "\n".join([call.role or NOBODY, wish, *lines, *end, ""])


def _has_options(field: str, call: Call) -> bool:
    return is_answer(field) or field in call.choices


def _write_reply(reply: Mapping[str, str], shape: PromptFormat) -> str:
    """Return an example's reply in the requested format."""
    if shape.style == "json":
        return json.dumps(reply, ensure_ascii=False)
    return "\n".join(f"{name}: {reply[field]}" for field, name in part_names(list(reply)).items())


def write_wish(lacking: Sequence[str], call: Call, shape: PromptFormat) -> str:
    """Return the message that asks the model to repeat a reply with missing fields."""
    if shape.style == "json":
        return (
            "That was not what was asked for: the JSON object is missing or lacks "
            f"{json.dumps(lacking)}. Reply with the complete JSON object and nothing else.\n"
        )
    names = part_names(call.fields)
    told = " and ".join(f"{names[field]}:" for field in lacking)
    whole = ", ".join(f"{name}:" for name in names.values())
    return (
        f"That was not what was asked for: the part {told} is missing. Write all parts, each on a line that "
        f"begins with its name: {whole}\n"
    )


def _describe(field: str, call: Call, item: Item, shape: PromptFormat) -> str:
    if field in call.choices:
        return "only one of: " + ", ".join(call.choices[field])
    if not is_answer(field):
        most = shape.field_chars if shape.style == "parts" else None
        return f"your {field.replace('_', ' ')}" + (f", at most {most} characters" if most else "")
    what = "the letter of the option you choose, one of" if shape.answer == "letter" else "one of"
    return f"only {what}: " + ", ".join(shown_answers(item, shape))


def _schema(call: Call, item: Item, shape: PromptFormat) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for field in call.fields:
        allowed = call.choices.get(field) or (shown_answers(item, shape) if is_answer(field) else None)
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
    # Leave the options out, because the requested format already lists them.
    if shape.answer == "option":
        return question
    return "\n".join([question, *lettered(item)])


def cut(text: str, shape: PromptFormat) -> str:
    """Return an item's text, shortened to its first `PromptFormat.max_words` words."""
    words = text.split()
    too_long = shape.max_words is not None and len(words) > shape.max_words
    return " ".join(words[: shape.max_words]) if too_long else text


def _question(text: str, shape: PromptFormat) -> str:
    return f"### Question\n{cut(text, shape)}"


def shown_examples(call: Call, item: Item, shape: PromptFormat) -> Iterator[tuple[Example, str]]:
    """Yield the study's examples to include in a call, with answers formatted like the item's options.

    Yields nothing if no answer is requested. Omits examples whose answer is not an option of the item, and an
    example that is the item itself, because that example would reveal the answer.
    """
    for example in shape.examples[: call.examples] if any(map(is_answer, call.fields)) else ():
        if example.answer in item.options and not _is_about(example, item, shape):
            yield example, shown_answers(item, shape)[item.shown_options.index(example.answer)]


def _is_about(example: Example, item: Item, shape: PromptFormat) -> bool:
    """Whether an example and an item have the same text, after both are shortened for the prompt."""
    return example.text.split()[: shape.max_words] == item.text.split()[: shape.max_words]


def lettered(item: Item) -> list[str]:
    """Return an item's options in display order, each after its letter."""
    letters = option_letters_of(len(item.options))
    return [f"({n}) {option}" for n, option in zip(letters, item.shown_options, strict=True)]


def line_request(call: Call, item: Item, shape: PromptFormat, written: Mapping[str, str]) -> Request:
    """Return the request for the first field that `written` lacks, in the style ``"lines"``.

    The options and the examples come first, because they are equal for all items if a study does not shuffle
    options. Endpoints can then cache this prefix.
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
    """Return the prompt lines that show a solved example."""
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
