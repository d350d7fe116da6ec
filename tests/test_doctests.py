"""Every example in a docstring is run, and gives what it says."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    ".".join(("oversight", *path.relative_to(ROOT).with_suffix("").parts))
    for wing in ("harness", "protocols", "agents")
    for path in (ROOT / wing).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of a module, run where the repository's files are."""
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testmod(import_module(module), optionflags=doctest.ELLIPSIS)
    assert tried
    assert not failed
