"""Build the text that runs in a sandbox: the prelude and the program.

For Monty, unsupported constructs are rewritten; for CPython, only imports of this project are removed.

- ``next(<generator>, default)`` → ``next(iter(<generator>), default)``
- ``key=votes.count`` → ``key=lambda it: votes.count(it)``, because methods are not values in Monty
- ``del a[k]`` → ``a.pop(k)``; ``del name`` → ``name = None``
- ``asyncio.create_task(c)`` → ``c``, which runs only when it is awaited
- ``asyncio.gather(…, return_exceptions=True)`` → ``_gather_all(…)``, a function of the prelude
- ``import statistics`` and ``import string`` → stand-ins in `oversight.agents.sandbox.modules`
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

STAND_INS = frozenset({"statistics", "string"})
_HERE = Path(__file__).parent


@cache
def prelude_text(*, stand_ins: bool) -> str:
    """Return the source that precedes a program; `stand_ins` adds replacements for modules Monty lacks."""
    shared = (_HERE.parent / "workflow.py", _HERE.parent / "operators.py")
    files = (*shared, *((_HERE / "modules.py",) if stand_ins else ()), _HERE.parent / "prelude.py")
    trees = [strip_own(ast.parse(path.read_text(encoding="utf-8"))) for path in files]
    return "\n\n".join(ast.unparse(tree) for tree in trees)


def strip_own(tree: ast.Module) -> ast.Module:
    """Remove imports of this project, because the sandbox already has those names."""
    own = ("oversight.agents.", "agents.", "__future__")
    tree.body = [
        s for s in tree.body if not (isinstance(s, ast.ImportFrom) and (s.module or "").startswith(own))
    ]
    return tree


def for_monty(tree: ast.Module) -> str:
    """Return the source that Monty runs; `tree` is modified in place."""
    return ast.unparse(ast.fix_missing_locations(_Shim().visit(strip_own(tree))))


class _Shim(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name == "next" and node.args and isinstance(node.args[0], ast.GeneratorExp):
            node.args[0] = ast.Call(ast.Name("iter", ast.Load()), [node.args[0]], [])
        elif name in ("asyncio.create_task", "create_task") and len(node.args) == 1:
            return node.args[0]
        elif name in ("asyncio.gather", "gather") and node.keywords:
            asked = ast.unparse(node.keywords[0].value) != "False"
            return ast.Call(ast.Name("_gather_all", ast.Load()) if asked else node.func, node.args, [])
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        self.generic_visit(node)
        if node.arg == "key" and isinstance(node.value, ast.Attribute):
            node.value = ast.parse(f"lambda _it: {ast.unparse(node.value)}(_it)", mode="eval").body
        return node

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        self.generic_visit(node)
        return [_deleted(target) for target in node.targets]

    def visit_Import(self, node: ast.Import) -> ast.AST | list[ast.AST]:
        node.names = [a for a in node.names if a.name not in STAND_INS or a.asname]
        return node if node.names else []

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | list[ast.AST]:
        if node.module == "asyncio":
            node.names = [alias for alias in node.names if alias.name != "create_task"]
            return node if node.names else []
        if node.module not in STAND_INS:
            return node
        given = [f"{alias.asname or alias.name} = {node.module}.{alias.name}" for alias in node.names]
        return [*ast.parse("\n".join(given)).body]


def _deleted(target: ast.expr) -> ast.stmt:
    if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
        pop = ast.Attribute(target.value, "pop", ast.Load())
        return ast.Expr(ast.Call(pop, [target.slice], []))
    if isinstance(target, ast.Name):
        return ast.Assign([target], ast.Constant(None))
    return ast.Delete([target])
