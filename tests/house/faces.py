"""A contract for import-linter: code outside a folder imports the folder's face, never what lies inside."""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

WINGS = ("harness", "protocols", "agents")
"""Folders of rooms: what lies directly in one is offered by its face, its rooms by theirs."""
PACKAGE = "oversight"
"""Package from which the wings are imported."""


class FacesContract(Contract):
    """Every import from outside names a face.

    Attributes
    ----------
    open_modules
        Modules that anybody may import, each for a reason given beside it.
    """

    open_modules = fields.SetField(subfield=fields.StringField(), required=False, default=set())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002, FBT001  the base class's
        """Collect the imports that go past a face."""
        inner = [m for m in graph.modules if find_wing(m)]
        packages = {m for m in inner if graph.find_children(m)}
        wrong = sorted(
            (importer, imported)
            for importer in inner
            for imported in graph.find_modules_directly_imported_by(importer)
            if imported not in self.open_modules  # type: ignore[operator]  # a set once read
            and is_past_face(importer, imported, packages)
        )
        return ContractCheck(kept=not wrong, metadata={"wrong": wrong})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Name every import that goes past a face."""
        for importer, imported in check.metadata["wrong"]:
            output.print_error(f"{importer} imports {imported}, past its folder's face")


def find_wing(module: str) -> str:
    """The wing that a module lies in; empty if it lies in none."""
    parts = module.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 and parts[1] in WINGS else ""


def is_past_face(importer: str, imported: str, packages: set[str]) -> bool:
    """Whether the import of one module by another reaches into a folder that the first is not in."""
    if not find_wing(imported):
        return False
    parts = imported.split(".")
    for depth in range(2, len(parts) + 1):
        folder = ".".join(parts[:depth])
        if importer == folder or importer.startswith(f"{folder}."):
            continue
        if depth == 2 and len(parts) > 2 and ".".join(parts[:3]) in packages:
            continue
        return folder in packages and imported != folder
    return False
