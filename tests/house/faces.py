"""A contract for import-linter: code outside a package imports its face, never a module inside."""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

WINGS = ("harness", "protocols", "agents")
"""Layers of the code. Each has packages, and a face for the modules that are directly in it."""
PACKAGE = "oversight"
"""Package that contains the layers."""


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
    """Whether a module imports a module inside a package of a layer that it is not in itself."""
    if not find_wing(imported):
        return False
    parts = imported.split(".")
    layer, package = ".".join(parts[:2]), ".".join(parts[:3])
    owner = package if package in packages else layer
    return owner not in (importer, imported) and not importer.startswith(f"{owner}.")
