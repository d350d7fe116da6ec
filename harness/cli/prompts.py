"""The prompt template of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import DataError
from harness.llm.prompt import DEFAULT_TEMPLATE, check_template

if TYPE_CHECKING:
    from harness.config import Study


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
    path = study.path(study.prompt.template)
    try:
        # A prompt often ends without a line break on purpose; editors add one.
        return check_template(path.read_text(encoding="utf-8").removesuffix("\n"))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the prompt template cannot be read: {error}", file=path) from None
