"""Names that texts and tables refer to exist."""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path

import pytest

from oversight.protocols.cli.label import SUB_VERBS
from tests.house.faces import WINGS
from tests.house.measure import ROOT

NAME = re.compile(r"(?<![\w./])oversight(?:\.[a-zA-Z_]\w*)+")
NO_NAMES = {"oversight.gate", "oversight.invalid"}
"""A test suite's name in JUnit files, and a domain."""
FOLDERS = (*WINGS, "docs", "benchmarks")


@cache
def exists(name: str) -> bool:
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        return all((found := getattr(found, part, None)) is not None for part in parts[end:])
    return False


def find_texts() -> list[Path]:
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.*"))]
    files += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml")]
    return [file for file in files if file.suffix in (".py", ".md", ".rst", ".toml")]


def test_dotted_names_in_code_and_documents_exist() -> None:
    names = {(str(f.relative_to(ROOT)), n) for f in find_texts() for n in NAME.findall(f.read_text())}
    names = {(file, name) for file, name in names if name not in NO_NAMES}
    assert len(names) > 1000
    assert [(file, name) for file, name in sorted(names) if not exists(name)] == []


@pytest.mark.parametrize("place", [place for place, _ in SUB_VERBS.values()])
def test_the_function_of_an_action_exists(place: str) -> None:
    assert exists(f"oversight.protocols.cli.{place.replace(':', '.')}")
