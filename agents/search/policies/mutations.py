"""Changing a workflow's source in ways that keep it a workflow: its constants, roles, samples, fields.

Workflows keep what is worth changing in constants in capitals at the top; beside those, every call of
``task.ask`` can be given a role or a number of examples, and a whole workflow can be voted over or put
beside another. All edits go through the syntax tree, so the result always parses.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TypeGuard

Value = int | float | str

_VOTED = """
async def forward(task):
    return vote(await asyncio.gather(*[once(task) for _ in range(VOTES)]))
"""
_BESIDE = """
async def forward(task):
    return vote(await asyncio.gather(one(task), other(task)))
"""


def read_constants(source: str) -> dict[str, Value]:
    """Numbers and texts that stand as constants in capitals at the top of a source."""
    found: dict[str, Value] = {}
    for statement in ast.parse(source).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
                if name.isupper() and isinstance(value, int | float | str) and not isinstance(value, bool):
                    found[name] = value
    return found


def replace_constants(source: str, values: Mapping[str, Value]) -> str:
    """Give constants that are there other values; others are left out."""
    tree = ast.parse(source)
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()) if name in values:
                statement.value = ast.Constant(values[name])
    return ast.unparse(ast.fix_missing_locations(tree))


def set_argument(source: str, keyword: str, name: str, value: Value) -> str:
    """Pass ``keyword=NAME`` in every call that asks for an answer and does not pass it, NAME = value."""
    tree = ast.parse(source)
    for call in ast.walk(tree):
        if _asks_for_answer(call) and all(k.arg != keyword for k in call.keywords):
            call.keywords.append(ast.keyword(keyword, ast.Name(name, ast.Load())))
    if name not in read_constants(source):
        tree.body.insert(_after_imports(tree), ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)))
    return replace_constants(ast.unparse(ast.fix_missing_locations(tree)), {name: value})


def remove_thinking(source: str) -> str:
    """Ask for the answer alone wherever the thinking is thrown away: ``_, answer = await task.ask(...)``."""
    tree = ast.parse(source)
    for statement in ast.walk(tree):
        match statement:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id="_"), kept])],
                value=ast.Await(value=ast.Call(args=[ast.List() as fields, *_]) as call),
            ) if _asks_for_answer(call) and len(_fields(call)) == 2:
                fields.elts = fields.elts[1:]
                statement.targets = [ast.Tuple([kept], ast.Store())]
    return ast.unparse(ast.fix_missing_locations(tree))


def add_vote(source: str, votes: int) -> str:
    """Run a workflow several times and return its most frequent answer."""
    tree = _renamed(ast.parse(source), {"forward": "once"})
    tree.body.insert(_after_imports(tree), ast.parse(f"VOTES = {votes}").body[0])
    tree.body += ast.parse(_VOTED).body
    return _import_vote(tree)


def run_beside(first: str, second: str) -> str:
    """Run two workflows and vote; the first one's answer stands if they differ."""
    trees = [
        _renamed(tree, {name: (entry if name == "forward" else f"{name}{mark}") for name in _own_names(tree)})
        for tree, entry, mark in ((ast.parse(first), "one", "_1"), (ast.parse(second), "other", "_2"))
    ]
    imports = {ast.unparse(s): s for tree in trees for s in tree.body if isinstance(s, _IMPORTS)}
    rest = [s for tree in trees for s in tree.body if not isinstance(s, _IMPORTS) and not _is_docstring(s)]
    module = ast.Module([*imports.values(), *rest, *ast.parse(_BESIDE).body], [])
    return _import_vote(module)


def count_calls(source: str) -> int:
    """How many places in a source call the model: a rough measure of its size."""
    return sum(_is_ask(node) for node in ast.walk(ast.parse(source)))


_IMPORTS = (ast.Import, ast.ImportFrom)


def _is_ask(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "ask"


def _fields(call: ast.Call) -> list[str]:
    first = call.args[0] if call.args else None
    elements = first.elts if isinstance(first, ast.List) else []
    return [e.value for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, str)]


def _asks_for_answer(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and _is_ask(node) and "answer" in _fields(node)


def _after_imports(tree: ast.Module) -> int:
    places = [j + 1 for j, s in enumerate(tree.body) if isinstance(s, _IMPORTS) or _is_docstring(s)]
    return max(places, default=0)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _own_names(tree: ast.Module) -> set[str]:
    """Names that a module defines at its top."""
    names: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign):
            names |= {t.id for t in statement.targets if isinstance(t, ast.Name)}
    return names


def _renamed(tree: ast.Module, names: Mapping[str, str]) -> ast.Module:
    """Give names in a tree others, in place."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.name = names.get(node.name, node.name)
    return tree


def _import_vote(tree: ast.Module) -> str:
    """Import what the added functions use, above everything but the docstring."""
    place = int(bool(tree.body) and _is_docstring(tree.body[0]))
    lines = "import asyncio\nfrom oversight.agents.workflow import vote"
    have = {ast.unparse(s) for s in tree.body if isinstance(s, _IMPORTS)}
    added = [s for s in ast.parse(lines).body if ast.unparse(s) not in have]
    tree.body[place:place] = added
    return ast.unparse(ast.fix_missing_locations(tree))
