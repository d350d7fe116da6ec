"""Every public name of a folder's face, from its stub, with its docstring."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import get_origin

from docutils import nodes
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective


class Face(SphinxDirective):
    """``.. face:: oversight.harness`` shows all that the package offers, grouped by the rooms it comes from.

    With ``:skip: errors`` the names of a room are left to another page.
    """

    required_arguments = 1
    option_spec = {"skip": str.split, "only": str.split}  # noqa: RUF012  the base class has it so

    def run(self) -> list[nodes.Node]:
        """The sections, each with its names."""
        face = import_module(self.arguments[0])
        skipped, only = self.options.get("skip", []), self.options.get("only")
        text = [
            describe_room(face, room, names)
            for room, names in read_stub(face).items()
            if room not in skipped and (only is None or room in only)
        ]
        return self.parse_text_to_nodes("\n".join(text), allow_section_headings=True)


def read_stub(face: ModuleType) -> dict[str, list[str]]:
    """Room → the names that a face offers of it; a module that is offered as a whole is a room of none."""
    stub = Path(str(face.__file__)).with_suffix(".pyi")
    rooms: dict[str, list[str]] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            rooms.setdefault(node.module, []).extend(alias.asname or alias.name for alias in node.names)
    return rooms


def describe_room(face: ModuleType, room: str, names: list[str]) -> str:
    """A room's section: its own first line as the title, then every name."""
    doc = inspect.getdoc(import_module(f"{face.__name__}.{room}")) or room
    title = doc.splitlines()[0].rstrip(".").replace("`", "")
    lines = [f".. rubric:: {title}", "   :heading-level: 2", ""]
    for name in names:
        lines += [*describe_name(face.__name__, name, getattr(face, name)), ""]
    return "\n".join(lines)


def describe_name(face: str, name: str, value: object) -> list[str]:
    """The directive of autodoc for one name."""
    if isinstance(value, type) and get_origin(value) is None:
        if issubclass(value, BaseException):
            return [f".. autoexception:: {face}.{name}", "   :members:", "   :show-inheritance:"]
        return [f".. autoclass:: {face}.{name}", "   :members:"]
    if inspect.isroutine(value):
        return [f".. autofunction:: {face}.{name}"]
    return [f".. py:data:: {face}.{name}", "", *(f"   {line}" for line in read_data_docstring(face, name))]


def read_data_docstring(module: str, name: str) -> list[str]:
    """The text below a constant or a type, where it is defined; faces are followed to there."""
    found = import_module(module)
    if hasattr(found, "__path__") and Path(str(found.__file__)).with_suffix(".pyi").exists():
        [room] = [room for room, names in read_stub(found).items() if name in names]
        return read_data_docstring(f"{module}.{room}", name)
    return ModuleAnalyzer.for_module(module).find_attr_docs().get(("", name), [])
