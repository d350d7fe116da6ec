"""The hand-made workflows, one per file; `load_program` loads any of them."""

from __future__ import annotations

import ast
from pathlib import Path

from oversight.harness import ConfigError
from oversight.harness.output import did_you_mean, read_text
from oversight.harness.types import Program

NAMES = ("cot", "cot-sc", "self-refine", "debate", "step-back", "quality-diversity", "role-assignment")


def load_program(name: str) -> Program:
    """Load a workflow of the library, or the user's file if `name` ends in ``.py``.

    Raises
    ------
    ConfigError
        If the workflow or the file does not exist.
    """
    own = name.endswith(".py")
    if not own and name not in NAMES:
        known = f"there are: {', '.join(NAMES)}, or give a .py file{did_you_mean(name, NAMES)}"
        raise ConfigError(f"there is no workflow {name!r}; {known}")
    path = Path(name) if own else Path(__file__).parent / f"{name.replace('-', '_')}.py"
    try:
        source = read_text(path)
        thought = ast.get_docstring(ast.parse(source)) or ""
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
        raise ConfigError(f"the workflow {name} cannot be read: {error}") from None
    return Program(path.stem if own else name, source, thought)
