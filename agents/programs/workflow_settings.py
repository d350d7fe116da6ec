"""Read ``workflow.toml``, which sets the roles and the prompt format of a study's workflows.

The file is in the same folder as study.toml. Without this file, calls ask for option letters, and there is
one role per option if all items have the same options. An example of the file::

    style = "parts"            # format of a reply: "parts", "json" or "lines"
    answer = "option"          # content of an answer: "option" (its text) or "letter"
    field_chars = 120          # maximum number of characters of any other field
    max_tokens = 200
    examples = "solved.jsonl"  # rows with text, label and optionally thinking

    [[role]]
    name = "cardiologist"
    text = "You are a cardiologist."
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from oversight.harness import DataError
from oversight.harness.config import Section
from oversight.harness.datasets import read_rows
from oversight.harness.output import read_text
from oversight.harness.types import Item

Style = Literal["parts", "json", "lines"]


@dataclass(frozen=True, slots=True)
class Example:
    """A solved question that prompts show before an item's question, unless the item asks the same question.

    Attributes
    ----------
    text
        The question.
    answer
        The right option's text.
    thinking
        One line of reasoning; may be empty.
    """

    text: str
    answer: str
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class PromptFormat:
    """Settings shared by all calls of a study.

    Attributes
    ----------
    style
        ``"parts"`` asks for all fields, each on a line that begins with its name, for example ``ANSWER: B``.
        ``"json"`` asks for one JSON object, with a schema. ``"lines"`` sends one request per field, and the
        model completes the field's line; see `oversight.agents.runtime.call_prompt`.
    answer
        Content of each field whose name contains ``answer``: ``"letter"`` or ``"option"`` (the option's
        text). Small models give texts more reliably than letters.
    field_chars
        Maximum number of characters of a field that is not an answer; None sets no limit. The style
        ``"parts"`` states the limit in the prompt, ``"json"`` in the schema; ``"lines"`` ignores it.
    max_tokens
        Token limit of a reply; in the style ``"lines"``, of each line.
    examples
        Solved questions shown before the item in calls that ask for an answer.
    max_words
        Maximum number of words of an item's text that are shown; None shows all.
    labels
        In the style ``"lines"``, the text that begins a field's line, by field name; ``question`` and
        ``options`` are also keys.
    code
        Whether a program may run code written by the model, in a separate sandbox.
    """

    style: Style = "parts"
    answer: Literal["letter", "option"] = "letter"
    field_chars: int | None = None
    max_tokens: int = 2048
    examples: tuple[Example, ...] = ()
    max_words: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    code: bool = False

    def label(self, name: str) -> str:
        """Return the text that begins a field's line: the study's label, or else the field's name."""
        return self.labels.get(name, f"{name[:1].upper()}{name[1:]}:")


DEFAULT_FORMAT = PromptFormat()


@dataclass(frozen=True, slots=True)
class Role:
    """An expert role that a prompt can assign to the model.

    Attributes
    ----------
    name
        Name, unique within a study; programs select a role by its name.
    text
        Sentence that begins the prompt.
    """

    name: str
    text: str


def default_roles(items: Sequence[Item]) -> tuple[Role, ...]:
    """Return one role per option, followed by a generalist.

    If items have different options, the generalist is the only role.
    """
    shared = {frozenset(item.options) for item in items}
    names = items[0].options if len(shared) == 1 else ()
    experts = tuple(Role(name, f"You are an expert for {name}.") for name in names)
    return (*experts, Role("generalist", "You are a careful generalist."))


class _Role(Section):
    name: str = Field(min_length=1)
    text: str = Field(min_length=1)


class _File(Section):
    style: Style = DEFAULT_FORMAT.style
    answer: Literal["letter", "option"] = DEFAULT_FORMAT.answer
    field_chars: int | None = Field(default=DEFAULT_FORMAT.field_chars, ge=1)
    max_tokens: int = Field(default=DEFAULT_FORMAT.max_tokens, ge=1)
    max_words: int | None = Field(default=DEFAULT_FORMAT.max_words, ge=1)
    code: bool = DEFAULT_FORMAT.code
    examples: str | None = None
    labels: dict[str, str] = Field(default={})
    role: list[_Role] = Field(default=[])


def read_workflow_settings(
    folder: str | Path, items: Sequence[Item]
) -> tuple[PromptFormat, tuple[Role, ...]]:
    """Read a study's ``workflow.toml``. If it does not exist, return the defaults for the items.

    Raises
    ------
    DataError
        If the file is invalid; the error names the file and the first invalid key.
    """
    path = Path(folder) / "workflow.toml"
    if not path.exists():
        return DEFAULT_FORMAT, default_roles(items)
    try:
        found = _File.model_validate(tomllib.loads(read_text(path)))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {error}", file=path) from None
    # Catch ValidationError before ValueError, which is its base class.
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(f"{first['msg']}, is {first['input']!r}", file=path, field=where) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"not valid TOML: {error}", file=path) from None
    names = [role.name for role in found.role]
    if len(set(names)) < len(names):
        raise DataError("a role occurs twice", file=path, field="role.name")
    settings = found.model_dump(exclude={"role", "examples"})
    examples = _examples(path.parent / found.examples) if found.examples else ()
    roles = tuple(Role(role.name, role.text) for role in found.role)
    return PromptFormat(**settings, examples=examples), roles or default_roles(items)


def _examples(path: Path) -> tuple[Example, ...]:
    examples = []
    for row in read_rows(path):
        for name in ("text", "label"):
            if not row.fields.get(name):
                raise DataError("is missing", file=row.file, line=row.line, field=name)
        thinking = str(row.fields.get("thinking") or "")
        examples.append(Example(str(row.fields["text"]), str(row.fields["label"]), thinking))
    return tuple(examples)
