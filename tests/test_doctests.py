"""Every example in a docstring is run, and gives what it says."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from tests.studies.opened import copy_study

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    ".".join(("oversight", *path.relative_to(ROOT).with_suffix("").parts))
    for wing in ("harness", "protocols", "agents")
    for path in (ROOT / wing).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings_pass(module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The examples of a module, run in the folder of a finished study that also holds the bundled data."""
    study = copy_study("partitioned", tmp_path)
    (study / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(study)
    failed, tried = doctest.testmod(import_module(module), optionflags=doctest.ELLIPSIS)
    assert tried
    assert not failed
