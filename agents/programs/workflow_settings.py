"""``workflow.toml`` beside study.toml: the roles and the wording that a study gives to workflows.

Without the file, letters are asked for, and each class of a fixed-class study is a role::

    answer = "option"          # or "letter": what an answer says
    field_chars = 120          # longest content of the other fields
    max_tokens = 200
    examples = "solved.jsonl"  # rows with text, label and, if there is, thinking

    [[role]]
    name = "cardiologist"
    text = "You are a cardiologist."
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.programs.prompt_format import DEFAULT_FORMAT, Example, PromptFormat
from agents.programs.roles import Role, default_roles
from harness import DataError
from harness.datasets import read_rows
from harness.types import Item

SETTING_FILE = "workflow.toml"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Role(_Section):
    name: str = Field(min_length=1)
    text: str = Field(min_length=1)


class _File(_Section):
    style: Literal["json", "lines"] = DEFAULT_FORMAT.style
    answer: Literal["letter", "option"] = DEFAULT_FORMAT.answer
    field_chars: int | None = Field(default=DEFAULT_FORMAT.field_chars, ge=1)
    max_tokens: int = Field(default=DEFAULT_FORMAT.max_tokens, ge=1)
    max_words: int | None = Field(default=DEFAULT_FORMAT.max_words, ge=1)
    code: bool = DEFAULT_FORMAT.code
    examples: str | None = None
    labels: dict[str, str] = {}
    role: list[_Role] = []


def read_workflow_settings(
    folder: str | Path, items: Sequence[Item]
) -> tuple[PromptFormat, tuple[Role, ...]]:
    """Read a study's ``workflow.toml``, or make the default for its items.

    Raises
    ------
    DataError
        Naming file and key of the first thing wrong.
    """
    path = Path(folder) / SETTING_FILE
    if not path.exists():
        return DEFAULT_FORMAT, default_roles(items)
    try:
        found = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {error}", file=path) from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"not valid TOML: {error}", file=path) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(f"{first['msg']}, is {first['input']!r}", file=path, field=where) from None
    names = [role.name for role in found.role]
    if len(set(names)) < len(names):
        raise DataError("a role is there twice", file=path, field="role.name")
    settings = found.model_dump(exclude={"role", "examples"})
    examples = _examples(path.parent / found.examples) if found.examples else ()
    roles = tuple(Role(role.name, role.text) for role in found.role)
    return PromptFormat(**settings, examples=examples), roles or default_roles(items)


def _examples(path: Path) -> tuple[Example, ...]:
    examples = []
    for row in read_rows(path):
        for field in ("text", "label"):
            if not row.fields.get(field):
                raise DataError("is missing", file=row.file, line=row.line, field=field)
        thinking = str(row.fields.get("thinking") or "")
        examples.append(Example(str(row.fields["text"]), str(row.fields["label"]), thinking))
    return tuple(examples)
