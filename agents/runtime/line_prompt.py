"""Calls as lines that a model completes one by one: for base models, which follow no format.

Every field is a line that begins with its label; the model writes the rest of it. So a study's
wording decides how much a small model understands: *This patient should be seen by the department
of* is a sentence to it, ``{"answer": …}`` is not. What is asked for is always there, in order.
"""

from __future__ import annotations

from collections.abc import Mapping

from agents.programs import Example, PromptFormat
from agents.runtime.call import Call, Shown
from agents.runtime.call_prompt import cut, is_answer, lettered, shown_examples
from harness.llm import Request
from harness.types import Item


def line_request(call: Call, item: Item, shape: PromptFormat, written: Mapping[str, str]) -> Request:
    """Word the request for the first field that is not yet written.

    The options and the examples come first and are the same for all items of a study that does not
    shuffle its options: endpoints keep what prompts have in common.
    """
    field = next(f for f in call.fields if f not in written)
    lines = [text for text in (call.role, call.instruction) if text]
    lines += [_options(item, shape), ""]
    for example, answer in shown_examples(call, item, shape):
        lines += _example(example, answer, call, shape)
    lines += [_block(shown, item, shape) for shown in call.inputs]
    lines += [f"{_label(f, call, shape)} {text}" for f, text in written.items()]
    prompt = "\n".join([*lines, _label(field, call, shape)])
    return Request.of(prompt, temperature=call.temperature, max_tokens=shape.max_tokens, stop=("\n",))


def read_line(text: str) -> str:
    """What was written into a line, without what a model adds to it."""
    return (text.strip().splitlines() or [""])[0].strip().rstrip(".")


def _options(item: Item, shape: PromptFormat) -> str:
    label = shape.label("options")
    if shape.answer == "option":
        return f"{label} {', '.join(item.shown_options)}."
    return "\n".join([label, *lettered(item)])


def _label(field: str, call: Call, shape: PromptFormat) -> str:
    label = shape.label("answer" if is_answer(field) else field)
    return f"{label[:-1]} ({', '.join(call.choices[field])}):" if field in call.choices else label


def _example(example: Example, answer: str, call: Call, shape: PromptFormat) -> list[str]:
    """Show a solved item in the lines of this call."""
    lines = [f"{shape.label('question')} {example.text}"]
    for field in call.fields:
        if is_answer(field):
            label = shape.label("answer")
            lines.append(f"{label} {answer}" + ("" if label.endswith(":") else "."))
        elif example.thinking:
            lines.append(f"{shape.label(field)} {example.thinking}")
    return [*lines, ""]


def _block(shown: Shown | None, item: Item, shape: PromptFormat) -> str:
    if shown is None:
        return f"{shape.label('question')} {cut(item.text, shape)}"
    field = "answer" if is_answer(shown.field) else shown.field
    return f"{shape.label(field)} {shown.content}"
