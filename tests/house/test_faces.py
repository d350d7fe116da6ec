"""Every package shows the names of its face, and its face names what is defined inside."""

from __future__ import annotations

import ast
import importlib
import types
from pathlib import Path

import pytest

from tests.house.faces import WINGS, find_wing
from tests.house.measure import ROOT, find_sources, read_house

FACES = sorted(name for name, path in find_sources().items() if path.stem == "__init__")
PLAIN = {name for name in FACES if name.count(".") > 2}
"""Folders inside packages; they have no face, because only their package imports their modules."""


ROOMS = {"oversight.harness": {"plot"}}
"""Rooms that a wing offers by their own name."""


def named_by(face: str) -> dict[str, str]:
    """Name → module it is taken from, as the stub of a face says; without the rooms that it offers."""
    stub = ROOT / Path(*face.split(".")) / "__init__.pyi"
    if not stub.exists():
        return {}
    found = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        assert isinstance(node, ast.ImportFrom)
        assert node.level == 1
        for alias in node.names:
            assert alias.asname == alias.name
            if node.module is None:
                assert alias.name in ROOMS[face]
            else:
                found[alias.name] = f"{face}.{node.module}"
    return found


@pytest.mark.parametrize("face", FACES)
def test_a_face_has_a_paragraph_and_all_its_names(face: str) -> None:
    module = importlib.import_module(face)
    assert ast.get_docstring(read_house()[face].tree)
    if face in PLAIN:
        return
    rooms = ROOMS.get(face, set())
    assert {*named_by(face), *rooms} == {*module.__all__}
    assert all(isinstance(getattr(module, room), types.ModuleType) for room in rooms)
    assert set(module.__all__) <= set(dir(module))
    below = {name.rpartition(".")[2] for name in read_house() if name.rpartition(".")[0] == face}
    assert not below & named_by(face).keys(), "a name hides a module"
    for name, place in named_by(face).items():
        value = getattr(module, name)
        assert not isinstance(value, types.ModuleType)
        assert value is getattr(importlib.import_module(place), name)


@pytest.mark.parametrize("face", [face for face in FACES if face not in PLAIN])
def test_a_face_names_what_is_defined_in_its_folder(face: str) -> None:
    for name, place in named_by(face).items():
        home = definition_of(place, name)
        assert home.startswith(f"{face}."), f"{face} lends {name} from {home}"
        assert not name.startswith("_") or name == "__version__"


def definition_of(place: str, name: str) -> str:
    """The module that defines a name, through the faces that hand it on."""
    while name in named_by(place):
        place = named_by(place)[name]
    defined = {
        found
        for node in read_house()[place].tree.body
        for found in (
            [node.name]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            else [x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)]
        )
    }
    assert name in defined, f"{place} does not define {name}"
    return place


def test_every_package_has_a_checked_face() -> None:
    assert {find_wing(face) for face in FACES} == set(WINGS)
