"""Documents name only commands, files and links that exist."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

from harness.cli.main import VERBS

ROOT = Path(__file__).parents[1]
DOCS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "data/README.md")]
DOCS += sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_what_a_document_names_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("https://") or (path.parent / target).exists(), target
    for verb in re.findall(r"(?:^|`)oversight ([a-z-]+)", text, re.MULTILINE):
        assert verb in VERBS, verb
    for script in re.findall(r"benchmarks/\w+\.py", text):
        assert (ROOT / script).exists(), script
    for name in re.findall(r"`((?:harness|protocols|agents)(?:\.\w+)+)", text):
        assert pkgutil.resolve_name(name), name
