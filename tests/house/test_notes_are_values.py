"""Code asks the kind and the data of a note; no code reads them out of its flag or its sentence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [path for wing in ("harness", "protocols", "agents") for path in (ROOT / wing).rglob("*.py")]
EDGES = {
    "agents/search/item_splits.py": "stores the flags with a search",
    "harness/estimate/paired.py": "has a column of flags in its frame",
    "harness/panel/parity.py": "has a column of flags in its frame",
    "harness/types/notes.py": "makes the flags",
}
"""Modules that read `flag` or `flags` → why."""
REMARKS = {"flag", "flags", "note", "notes", "interval", "why"}
TAKE_APART = {
    *("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition"),
    *("split", "rsplit", "replace", "find", "rfind", "index", "count", "strip", "lower", "casefold"),
}


def reads_flags(tree: ast.AST) -> Iterator[int]:
    """Lines that read an attribute `flag` or `flags`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("flag", "flags"):
            yield node.lineno


def compares_text(tree: ast.AST) -> Iterator[int]:
    """Lines that compare a note, a flag, an interval's name or a reason with a text, or take it apart."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            about = {_name(side) for side in sides} & (REMARKS - {"interval", "why"})
            if about and any(isinstance(side, ast.JoinedStr) or _is_text(side) for side in sides):
                yield node.lineno
        elif isinstance(node, ast.Attribute) and node.attr in TAKE_APART and _name(node.value) in REMARKS:
            yield node.lineno


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _name(node: ast.expr) -> str:
    """The last name of ``estimate.flags``, ``found["flags"]`` or ``str(note)``."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        return _name(node.args[0])
    if isinstance(node, ast.Subscript):
        return ast.literal_eval(node.slice) if _is_text(node.slice) else _name(node.value)
    return str(getattr(node, "attr", getattr(node, "id", "")))


@pytest.mark.parametrize(
    "line",
    [
        'if "conditioned_on_questions" in estimate.flags: ...',
        'if any(flag.startswith("partial") for flag in flags): ...',
        'if note == "stratified": ...',
        'if f"joint: {n} models" not in found["flags"]: ...',
        'if str(note).startswith("the collection"): ...',
        "weighted = estimate.interval.startswith(REFUSALS)",
        'name = estimate.interval.removesuffix("+worst-case")',
        'if pair.why.startswith("strata"): ...',
        'if list(estimate.notes)[0].split(":")[0]: ...',
    ],
)
def test_comparisons_of_text_are_found(line: str) -> None:
    assert [*compares_text(ast.parse(line))] == [1]


@pytest.mark.parametrize(
    "line",
    [
        "if NoteKind.JOINT in (note.kind for note in estimate.notes): ...",
        "if WORST_CASE in steps: ...",
        'interval = args.interval or ("" if args.published else "exact")',
        'text = "; ".join(str(note) for note in notes)',
        "if not pair.why: ...",
    ],
)
def test_comparisons_of_values_are_allowed(line: str) -> None:
    assert not [*compares_text(ast.parse(line)), *reads_flags(ast.parse(line))]


def test_flags_are_read_only_in_the_listed_modules() -> None:
    found = {str(path.relative_to(ROOT)) for path in SOURCES if any(reads_flags(_parse(path)))}
    assert found == set(EDGES)


def test_no_code_compares_the_text_of_notes() -> None:
    assert not [f"{path}:{line}" for path in SOURCES for line in compares_text(_parse(path))]


def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
