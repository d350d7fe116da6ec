"""The hand-made workflows, one per file; `load_program` loads any of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from oversight.harness import ConfigError
from oversight.harness.output import did_you_mean, read_text
from oversight.harness.types import Program

NAMES = ("cot", "cot-sc", "self-refine", "debate", "step-back", "quality-diversity", "role-assignment")


_PROMPTS = (".txt", ".md")
_FIELD = re.compile(r"\$(text|options|names|letters)\b|\$\{(text|options|names|letters)\}")


def load_program(name: str, folder: str | Path = ".") -> Program:
    """Load a workflow of the library, or the user's file in a folder.

    Parameters
    ----------
    name
        Name of a workflow in the library, or of a file. A ``.py`` file is a workflow. A ``.txt`` or ``.md``
        file is a prompt: the workflow makes one call, in which the prompt follows the item.
    folder
        Folder that the file's name is relative to.

    Raises
    ------
    ConfigError
        If the workflow or the file does not exist, or a prompt is empty or contains template fields.
    """
    own = name.endswith((".py", *_PROMPTS))
    if not own and name not in NAMES:
        known = f"there are: {', '.join(NAMES)}, or give a .py file, or a prompt as a .txt or .md file"
        raise ConfigError(f"there is no workflow {name!r}; {known}{did_you_mean(name, NAMES)}")
    path = Path(folder) / name if own else Path(__file__).parent / f"{name.replace('-', '_')}.py"
    try:
        source = read_text(path)
        if name.endswith(_PROMPTS):
            source = _write_prompt_program(source.strip(), path)
        thought = ast.get_docstring(ast.parse(source)) or ""
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
        raise ConfigError(f"the workflow {name} cannot be read: {error}") from None
    return Program(path.stem if own else name, source, thought)


def _write_prompt_program(prompt: str, path: Path) -> str:
    """Return the source of the workflow `cot`, which makes one call, with `prompt` as its instruction."""
    if not prompt:
        raise ConfigError(f"{path}: the prompt is empty")
    if found := _FIELD.search(prompt):
        told = "a workflow shows the item and its options before the prompt; remove the field"
        raise ConfigError(f"{path}: the prompt contains the template field {found[0]!r}; {told}")
    tree = ast.parse(load_program("cot").source)
    for node in tree.body:
        if isinstance(node, ast.Expr):
            node.value = ast.Constant(f"The prompt of {path.name}: one call that thinks before it answers.")
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "INSTRUCTION":
            node.value = ast.Constant(prompt)
    return f"{ast.unparse(tree)}\n"
