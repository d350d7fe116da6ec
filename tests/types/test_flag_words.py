"""Every flag that the sources can raise has words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from oversight.harness.types import Estimate, explain_flag
from oversight.harness.types.flag_words import FLAG_WORDS

ROOT = Path(__file__).parents[2]
SOURCES = [path for wing in ("estimate", "panel") for path in (ROOT / "harness" / wing).rglob("*.py")]


def texts(node: ast.AST) -> Iterator[str]:
    """Beginnings of all texts in an expression, but for those that are compared or looked up."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield from texts(node.values[0])
    elif not isinstance(node, ast.Compare | ast.Subscript):
        for child in ast.iter_child_nodes(node):
            yield from texts(child)


def is_flags(node: ast.AST) -> bool:
    """Whether a name or an attribute holds flags."""
    return getattr(node, "id", getattr(node, "attr", "")) in ("flags", "flag", "why_not")


def assigned(target: ast.AST, value: ast.AST) -> Iterator[str]:
    """What flags are assigned, alone or among others."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from assigned(one, other)
    elif is_flags(target):
        yield from texts(value)


def raised(path: Path) -> Iterator[str]:
    """What a file gives to, assigns to or appends to flags."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "flags":
            yield from texts(node.value)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from assigned(target, node.value)
        elif isinstance(node, ast.AugAssign | ast.AnnAssign) and node.value:
            yield from assigned(node.target, node.value)
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_flags(node.func.value)
        ):
            yield from (text for argument in node.args for text in texts(argument))


def flags_of_sources() -> set[str]:
    found = {text.partition(":")[0] for path in SOURCES for text in raised(path)}
    return {name for name in found if name.isidentifier()}


def test_the_sources_are_read() -> None:
    known = {"out_of_range", "unresolved", "partial", "passed_over", "missing", "never_differ", "joint"}
    assert known <= flags_of_sources()


def test_every_flag_has_words() -> None:
    assert flags_of_sources() - FLAG_WORDS.keys() == set()


@pytest.mark.parametrize("name", FLAG_WORDS)
def test_words_are_words(name: str) -> None:
    said = explain_flag(f"{name}: 3 of 7" if "{}" in FLAG_WORDS[name] else name)
    assert "{" not in said
    assert "_" not in said
    assert " " in said
    assert ("3 of 7" in said) == ("{}" in FLAG_WORDS[name])


def test_an_unknown_flag_stays() -> None:
    assert explain_flag("never heard of: 4") == "never heard of: 4"


def estimate(value: float, low: float, high: float, *flags: str, why: str = "") -> Estimate:
    return Estimate(
        value=value,
        low=low,
        high=high,
        se=None,
        level=0.95,
        estimator="ml",
        interval="exact",
        flags=flags,
        why=why,
    )


def test_an_interval_contains_its_estimate_or_says_that_it_does_not() -> None:
    assert estimate(0.5, 0.4, 0.6).notes == ()
    (note,) = estimate(0.7, 0.4, 0.6).notes
    assert "outside its own interval" in note
    assert len(estimate(0.7, 0.4, 0.6, "value_outside_interval").notes) == 1
    (note,) = estimate(-0.1, 0.0, 0.6, "out_of_range").notes
    assert "outside the possible range" in note


def test_an_estimate_that_may_not_hold_says_so_as_text() -> None:
    assert estimate(0.5, 0.4, 0.6).holds
    doubtful = estimate(0.5, 0.4, 0.6, why="half of the run is missing")
    assert not doubtful.holds
    assert str(doubtful).endswith("the interval may not hold: half of the run is missing")
