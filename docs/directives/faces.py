"""A Sphinx directive that shows all public names of a package, from its stub, with their docstrings."""

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
    """``.. face:: oversight.harness`` shows the package's public names, grouped by the module they come from.

    ``:skip: errors`` omits the names from the module ``errors``, and ``:only: errors`` shows only these.
    """

    required_arguments = 1
    option_spec = {"skip": str.split, "only": str.split}  # noqa: RUF012  the base class has it so

    def run(self) -> list[nodes.Node]:
        """Return a section for every module, with its names."""
        face = import_module(self.arguments[0])
        skipped, only = self.options.get("skip", []), self.options.get("only")
        text = [
            describe_room(face, room, names)
            for room, names in read_stub(face).items()
            if room not in skipped and (only is None or room in only)
        ]
        return self.parse_text_to_nodes("\n".join(text), allow_section_headings=True)


def read_stub(face: ModuleType) -> dict[str, list[str]]:
    """Read a package's stub. Returns module → names that the stub imports from this module."""
    stub = Path(str(face.__file__)).with_suffix(".pyi")
    rooms: dict[str, list[str]] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            rooms.setdefault(node.module, []).extend(alias.asname or alias.name for alias in node.names)
    return rooms


def describe_room(face: ModuleType, room: str, names: list[str]) -> str:
    """Return text that documents a module: the first line of its docstring as the title, then every name."""
    doc = inspect.getdoc(import_module(f"{face.__name__}.{room}")) or room
    title = doc.splitlines()[0].rstrip(".").replace("`", "")
    lines = [f".. rubric:: {title}", "   :heading-level: 2", ""]
    for name in names:
        lines += [*describe_name(face.__name__, name, getattr(face, name)), ""]
    return "\n".join(lines)


def describe_name(face: str, name: str, value: object) -> list[str]:
    """Return the autodoc directive for one name."""
    if isinstance(value, type) and get_origin(value) is None:
        if issubclass(value, BaseException):
            return [f".. autoexception:: {face}.{name}", "   :members:", "   :show-inheritance:"]
        return [f".. autoclass:: {face}.{name}", "   :members:"]
    if inspect.isroutine(value):
        return [f".. autofunction:: {face}.{name}"]
    return [f".. py:data:: {face}.{name}", "", *(f"   {line}" for line in read_data_docstring(face, name))]


def read_data_docstring(module: str, name: str) -> list[str]:
    """Return the docstring lines below a constant or type alias, in the module that defines it."""
    found = import_module(module)
    if hasattr(found, "__path__") and Path(str(found.__file__)).with_suffix(".pyi").exists():
        [room] = [room for room, names in read_stub(found).items() if name in names]
        return read_data_docstring(f"{module}.{room}", name)
    return ModuleAnalyzer.for_module(module).find_attr_docs().get(("", name), [])
