"""No block of a document is unchecked: a test runs it, or what would read it does, or it says why not."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from oversight.agents.programs import read_workflow_settings
from oversight.harness.cli.main import VERBS, make_parser
from oversight.harness.config import read_study
from oversight.harness.errors import OversightError
from oversight.harness.llm import read_prices
from oversight.harness.registry import load_module
from oversight.harness.types import Item
from oversight.protocols import read_roster
from tests.conftest import ROOT
from tests.documents.blocks import (
    PAGES,
    Block,
    check_command,
    find_blocks,
    find_options,
    looks_like_a_command,
    read_commands,
)

BLOCKS = [block for page in PAGES for block in find_blocks(page)]
TESTS = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
ITEM = Item("i", "text", ("a", "b"), (0, 1))


def check_commands(block: Block, _folder: Path) -> str:
    """All of them, or those of this program where the rest is run elsewhere, or not at all."""
    found = read_commands(block)
    if block.kind:
        found = [words for words in found if words[0] == "oversight"]
    return "; ".join(f"{' '.join(words)}: {wrong}" for words in found if (wrong := check_command(words)))


def check_toml(block: Block, folder: Path) -> str:
    """By what reads such a file, which is known by its tables."""
    told = tomllib.loads(block.text)
    try:
        if "expert" in told:
            (folder / "experts.toml").write_text(block.text, encoding="utf-8")
            read_roster(folder / "experts.toml")
        elif told.keys() & {"answer", "style", "role"}:
            (folder / "workflow.toml").write_text(block.text, encoding="utf-8")
            (folder / "solved.jsonl").write_text('{"text": "t", "label": "a"}\n', encoding="utf-8")
            read_workflow_settings(folder, [ITEM])
        elif "checked" in told:
            (folder / "prices.toml").write_text(block.text, encoding="utf-8")
            read_prices(folder / "prices.toml")
        else:
            (folder / "study.toml").write_text(complete_study(block.text, set(told)), encoding="utf-8")
            read_study(folder / "study.toml")
    except OversightError as error:
        return str(error)
    return ""


def complete_study(text: str, tables: set[str]) -> str:
    """A whole study.toml around a part of one."""
    parts = {"study": 'name = "whole"\n', "items": 'file = "items.csv"\nclasses = ["a", "b"]\n'}
    if not tables & {"study"} and not text.lstrip("# \nstudy.oml").startswith("["):
        return f"[study]\n{parts['study']}{text}\n[items]\n{parts['items']}"
    return text + "".join(f"\n[{name}]\n{part}" for name, part in parts.items() if name not in tables)


def check_python(block: Block, _folder: Path) -> str:
    """It is run by a test, which its marker names, or says why not."""
    compile(block.text, block.place, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return "" if block.kind else "no test runs it"


def check_output(block: Block, _folder: Path) -> str:
    """A block without a language is accepted only if it shows output, a file's lines or a picture."""
    return "say what it is: bash or console" if looks_like_a_command(block) else ""


CHECKS: dict[str, Callable[[Block, Path], str]] = {
    "bash": check_commands,
    "console": check_commands,
    "toml": check_toml,
    "python": check_python,
    "yaml": lambda block, _: "" if yaml.safe_load(block.text) else "empty",
    "": check_output,
    "text": check_output,
}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_a_block_is_run_or_checked_or_says_why_not(block: Block, tmp_path: Path) -> None:
    if block.kind == "test":
        named = [text for text in TESTS if block.told in text and block.page.name in text]
        assert named, f"no test names {block.page.name} and {block.told!r}"
    check = CHECKS.get(block.language)
    assert check or block.kind, f"nothing checks {block.language!r}: run it in a test, or say why not"
    assert not check or check(block, tmp_path) == ""
    if block.kind == "not run":
        pytest.skip(f"not run: {block.told}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_options_that_a_text_names_are_there(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for verb, rest in re.findall(r"`oversight ([a-z-]+)([^`]*)`", text):
        if verb not in VERBS:
            assert verb in ("--completion", "--version", "--help")
            continue
        known = find_options(make_parser(verb, load_module(VERBS[verb][0])))
        assert set(re.findall(r"--[a-z][a-z-]*", rest)) <= known, f"oversight {verb}{rest}"
    for command in re.findall(r"`(python (?:-m )?(?:benchmarks|docs|tests)[^`]*)`", text):
        assert check_command(shlex.split(command)) == "", command
