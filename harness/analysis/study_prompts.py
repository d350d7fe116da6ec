"""The prompts of a study."""

from __future__ import annotations

from harness.config import Study
from harness.errors import DataError
from harness.llm import DEFAULT_TEMPLATE, check_template


def template_of(study: Study) -> str:
    """Read and check the template file that study.toml names, or return the built-in one.

    Raises
    ------
    DataError
        If the file cannot be read.
    ConfigError
        If a field of it is unknown.
    """
    if study.prompt.template is None:
        return DEFAULT_TEMPLATE
    return check_template(_read(study, study.prompt.template, "prompt template"))


def system_of(study: Study) -> str:
    """Read the file of the system prompt that study.toml names; empty if it names none.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    return "" if study.prompt.system is None else _read(study, study.prompt.system, "system prompt")


def _read(study: Study, name: str, what: str) -> str:
    path = study.path(name)
    try:
        # A prompt often ends without a line break on purpose; editors add one.
        return path.read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the {what} cannot be read: {error}", file=path) from None
