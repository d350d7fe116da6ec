"""Documents name only commands, files and links that exist."""

from __future__ import annotations

import argparse
import pkgutil
import re
import shlex
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from oversight.harness.cli.main import VERBS
from oversight.harness.registry import load_module

ROOT = Path(__file__).parents[1]
DOCS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "data/README.md")]
DOCS += sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_in_documents_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert target.startswith("https://") or (path.parent / target).exists(), target
    for verb in re.findall(r"(?:^|`)oversight ([a-z][a-z-]*)", text, re.MULTILINE):
        assert verb in VERBS, verb
    for script in re.findall(r"benchmarks/\w+\.py", text):
        assert (ROOT / script).exists(), script
    for name in re.findall(r"`((?:harness|protocols|agents)(?:\.\w+)+)", text):
        assert pkgutil.resolve_name(name), name


def test_the_workflow_of_the_gate_is_one_and_calls_what_there_is() -> None:
    text = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text.split("<!-- test: workflow -->\n```yaml\n")[1].split("```")[0])
    steps = workflow["jobs"]["gate"]["steps"]
    lines = [step.get("run", "").replace("\\\n", "") for step in steps]
    calls = [shlex.split(line)[1:] for text in lines for line in text.splitlines() if "oversight" in line[:9]]
    assert [words[0] for words in calls] == ["run", "gate"]
    for verb, *options in calls:
        parser = argparse.ArgumentParser()
        load_module(VERBS[verb][0]).add_arguments(parser)
        parser.parse_args(options)
