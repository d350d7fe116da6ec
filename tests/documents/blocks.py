"""The fenced blocks of all documents, and what each has to pass.

A block with the line ``<!-- test: NAME -->`` before it is run by a test that names it and its page; one with
``<!-- not run: REASON -->`` is not, and says why. Every other block is checked by its language: commands by
the parsers that would read them, settings by what reads them.
"""

from __future__ import annotations

import argparse
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from oversight.harness.cli.main import VERBS, make_parser
from oversight.harness.registry import load_module
from tests.conftest import ROOT

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "data/README.md")]
PAGES += sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)
_FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```[ ]*$", re.MULTILINE | re.DOTALL)
_MARKER = re.compile(r"<!-- (test|file|not run): ([^\n]+?) -->\s*\Z")
_ENDS = re.compile(r"\s(?:\||\|\||&&|>|>>|2>)\s.*")
_PROGRAMS = ("oversight ", "python ", "pytest ", "make ", "pip ", "uv ", "$ ")
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_EXTRAS = _PROJECT["optional-dependencies"]
_MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, what it is, and what is said of it in the line before."""

    page: Path
    line: int
    language: str
    text: str
    kind: str
    told: str

    @property
    def place(self) -> str:
        """``docs/gate.md:12``."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def find_blocks(page: Path) -> Iterator[Block]:
    """All blocks of a page but those that the site alone reads, such as ``{toctree}``."""
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        marker = _MARKER.search(text[: found.start()])
        kind, told = marker.groups() if marker else ("", "")
        language = found[2].strip()
        if not language.startswith("{"):
            yield Block(page, text[: found.start()].count("\n") + 1, language, found[3], kind, told)


def read_commands(block: Block) -> list[list[str]]:
    """The words of each command of a block, without comments, pipes and what it prints."""
    text = block.text.replace("\\\n", " ")
    lines = text.splitlines()
    if block.language == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    words = [shlex.split(_ENDS.sub("", f" {line.strip()} "), comments=True) for line in lines]
    return [line for line in words if line]


def check_command(words: list[str]) -> str:
    """Check a command without running it; returns the error, or an empty text."""
    program, *rest = words
    if program == "oversight":
        return _check_verb(rest)
    if program in ("python", "pytest"):
        return _check_script(rest)
    if program == "make":
        missing = [name for name in rest if not re.search(rf"^{name}:", _MAKEFILE, re.MULTILINE)]
        return f"no target {missing}" if missing else ""
    if program == "pip":
        found = re.fullmatch(r"(?:oversight-eval|\.)\[([\w,]+)\]", rest[-1])
        known = found and set(found[1].split(",")) <= _EXTRAS.keys()
        return "" if known else f"there is no {rest[-1]} to install"
    if program == "export":
        unknown = [word for word in rest if word.partition("=")[0] not in _sources()]
        return f"nothing here reads {unknown}" if unknown else ""
    return f"nothing here checks {program!r}: run it in a test, or say why not"


@cache
def _sources() -> str:
    """All of the product's text."""
    wings = ("harness", "protocols", "agents")
    return "".join(path.read_text(encoding="utf-8") for wing in wings for path in (ROOT / wing).rglob("*.py"))


def _check_verb(words: list[str]) -> str:
    verb, *options = words
    if verb not in VERBS:
        return f"no verb {verb!r}"
    try:
        make_parser(verb, load_module(VERBS[verb][0])).parse_args(options)
    except SystemExit as stop:
        return "" if stop.code == 0 else "its parser refuses it"
    return ""


def _check_script(words: list[str]) -> str:
    """Check that a script or module of this clone exists and that a script has every flag."""
    if words[:1] == ["-m"]:
        path = ROOT / Path(*words[1].split("."))
        return "" if path.with_suffix(".py").exists() or path.is_dir() else f"no module {words[1]}"
    for script in [word.removeprefix("../") for word in words if word.endswith(".py")]:
        if not (ROOT / script).exists():
            return f"there is no {script}"
        shared = (ROOT / script).parent.glob("_*.py")
        source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / script, *shared))
        flags = [word.split("=")[0] for word in words if word.startswith("--")]
        if unknown := [flag for flag in flags if f'"{flag}"' not in source]:
            return f"{script} has no {unknown}"
    return ""


def find_options(parser: argparse.ArgumentParser) -> set[str]:
    """All options of a verb and its actions."""
    found = set()
    for action in parser._actions:  # noqa: SLF001  there is no other way to them
        found |= set(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for sub in action.choices.values():
                found |= find_options(sub)
    return found


def looks_like_a_command(block: Block) -> bool:
    """Whether a block without a language has lines that somebody would type."""
    return any(line.startswith(_PROGRAMS) for line in block.text.splitlines())
