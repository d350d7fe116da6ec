"""Check the calls that a program makes, because data from a sandbox are not trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oversight.harness.output import shorten

MOST_FIELDS = 16
HOTTEST = 2.0
LAST_TURN = 1_000_000
_HEADING = 16
"""Characters counted for each block in addition to its text, because an empty block also has a cost."""


class BadCall(ValueError):
    """A malformed call. The program receives the message."""


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """A text, for example an earlier reply, that a program passes to a call as input."""

    field: str
    content: str
    author: str
    turn: int


@dataclass(frozen=True, slots=True)
class Call:
    """One call of ``task.ask``; docs/workflows.md explains its parts.

    Attributes
    ----------
    fields
        Names of the fields that the reply must contain, in order.
    inputs
        Records to show to the model, in order; None stands for the task itself.
    instruction, name, role, temperature
        As given by the program.
    choices
        Allowed texts by field; a field without an entry is not restricted.
    examples
        Number of the study's examples to show; None shows all.
    """

    fields: tuple[str, ...]
    inputs: tuple[ShownRecord | None, ...]
    instruction: str
    name: str
    role: str
    temperature: float | None
    choices: Mapping[str, tuple[str, ...]]
    examples: int | None


def read_call(payload: Any, characters: int, task_size: int = 0) -> Call:
    """Check a call from the sandbox, and return it as a `Call`.

    Parameters
    ----------
    payload
        The call as received from the sandbox.
    characters
        Maximum total number of characters of all texts in the call.
    task_size
        Number of characters of the task, counted each time that the call shows the task.

    Raises
    ------
    BadCall
        If the call is malformed or too long; the message names the argument, the limit and the value.
    """
    fields = tuple(_text(f, "fields") for f in _list(payload.get("fields"), "fields"))
    if not 1 <= len(fields) <= MOST_FIELDS or len(set(fields)) < len(fields) or not all(fields):
        raise BadCall(f"fields: give 1 to {MOST_FIELDS} different names, not {shorten(fields)}")
    call = Call(
        fields=fields,
        inputs=tuple(_shown(block) for block in _list(payload.get("inputs"), "inputs")),
        instruction=_text(payload.get("instruction"), "instruction"),
        name=_text(payload.get("name"), "name"),
        role=_text(payload.get("role"), "role"),
        temperature=_temperature(payload.get("temperature")),
        choices=_choices(payload.get("choices"), fields),
        examples=_count(payload.get("examples")),
    )
    if (size := _measure(call, task_size)) > characters:
        raise BadCall(f"a call may contain at most {characters:,} characters, has {size:,}")
    return call


def _measure(call: Call, task_size: int) -> int:
    """Return the number of characters of everything that a call contains."""
    blocks = sum(
        _HEADING + (task_size if s is None else len(s.field) + len(s.content) + len(s.author))
        for s in call.inputs
    )
    choices = sum(_HEADING + len(text) for texts in call.choices.values() for text in texts)
    return blocks + choices + sum(map(len, (*call.fields, call.instruction, call.name, call.role)))


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise BadCall(f"{what}: must be a text, not {type(value).__name__}")
    # Replace unpaired surrogates and NUL characters, because HTTP clients and databases reject them.
    return value.encode(errors="replace").decode().replace("\0", "?")


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise BadCall(f"{what}: must be a list, not {type(value).__name__}")
    return list(value)


def _shown(block: Any) -> ShownRecord | None:
    if block is None:
        return None
    parts = _list(block, "inputs")
    if len(parts) != 4 or type(parts[3]) is not int:
        raise BadCall(
            "inputs: a record must have `field`, `content`, `author` and `turn`; `turn` must be a whole "
            "number"
        )
    if abs(parts[3]) > LAST_TURN:
        raise BadCall(f"inputs: a record's `turn` must lie between -{LAST_TURN:,} and {LAST_TURN:,}")
    field, content, author = (_text(part, "inputs") for part in parts[:3])
    return ShownRecord(field, content, author, parts[3])


def _temperature(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= HOTTEST:
        raise BadCall(f"temperature: must be a number from 0 to {HOTTEST:g}, not {shorten(value)}")
    return float(value)


def _choices(value: Any, fields: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not set(value) <= set(fields):
        raise BadCall("choices: must map names of fields to lists of texts")
    found = {f: tuple(_text(t, "choices") for t in _list(texts, "choices")) for f, texts in value.items()}
    if not all(found.values()):
        raise BadCall("choices: the list of a field is empty")
    return {field: tuple(dict.fromkeys(texts)) for field, texts in found.items()}


def _count(value: Any) -> int | None:
    if value is None:
        return None
    if type(value) is not int or value < 0:
        raise BadCall(f"examples: must be a whole number ≥ 0, not {shorten(value)}")
    return value
