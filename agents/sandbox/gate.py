"""The static gate, which checks a program's source before it runs.

The gate checks every node of the syntax tree. It is not the security barrier: the sandbox that runs a
program must confine it. The gate tells authors early which code will not work, and blocks common ways to
probe the interpreter.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from oversight.harness import ProgramRefused
from oversight.harness.types import Program

LONGEST = 50_000
"""Maximum number of characters of a source."""

DEEPEST = 100
"""Maximum depth of a syntax tree, because much deeper trees cannot be converted back to source."""

MODULES = frozenset(
    {
        *("oversight.agents.operators", "oversight.agents.workflow"),
        *("agents.operators", "agents.workflow"),  # programs of version 0.2 import these names
        *("asyncio", "collections", "copy", "dataclasses", "datetime"),
        *("enum", "functools", "heapq", "itertools", "json", "math", "operator", "random", "re"),
        *("statistics", "string", "textwrap", "typing"),
    }
)
"""Modules that a program may import; a sandbox tier may allow fewer."""

ASYNCIO = frozenset({"Lock", "Semaphore", "TimeoutError", "as_completed", "create_task", "gather", "sleep"})
"""Names of asyncio that a program may use; other names can open files, sockets and processes."""

NO_NAMES = frozenset(
    {
        *("breakpoint", "compile", "delattr", "eval", "exec", "globals", "locals", "memoryview", "open"),
        *("setattr", "super", "vars"),
    }
)
"""Built-in functions that a program may not use, because they inspect or leave the program's namespace."""

NO_ATTRIBUTES = frozenset(
    {
        *("ag_await", "ag_code", "ag_frame", "co_code", "co_consts", "cr_await", "cr_code", "cr_frame"),
        *("cr_origin", "f_back", "f_builtins", "f_code", "f_globals", "f_locals", "format_map", "func_code"),
        *("func_globals", "gi_code", "gi_frame", "gi_yieldfrom", "mro", "tb_frame", "tb_next"),
        *("builtins", "modules", "os", "subclasses", "sys"),
    }
)
"""Attributes that a program may not use, because they lead from a value into the interpreter."""

OWN_METHODS = frozenset(
    {
        *("__init__", "__str__", "__repr__", "__eq__", "__lt__", "__len__", "__iter__", "__getitem__"),
        *("__call__", "__contains__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__hash__"),
    }
)
"""Special methods that a class may define, although no other code may name them."""

_STATEMENTS = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom),
    *(ast.Assign, ast.AnnAssign),
)


def check_program(program: Program) -> ast.Module:
    """Return the parsed source of a program if the gate accepts it.

    Raises
    ------
    ProgramRefused
        If the gate refuses the source; the message names the program, the line and the reason.
    """
    try:
        tree = check_code(program.source)
        _check_forward(tree)
    except Refusal as refusal:
        raise ProgramRefused(f"workflow {program.name!r}{refusal.where}: {refusal}") from None
    return tree


def check_code(code: str) -> ast.Module:
    """Parse code for the sandbox, and return its syntax tree if the gate accepts it.

    Raises
    ------
    Refusal
        If the gate refuses the code; the message gives the reason.
    """
    if len(code) > LONGEST:
        raise Refusal(f"is longer than {LONGEST:,} characters")
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        raise Refusal(f"is not Python: {error.msg}", error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refusal(f"cannot be parsed: {error}") from None
    _check_depth(tree)
    for node in ast.walk(tree):
        if reason := _refused(node):
            raise Refusal(reason, getattr(node, "lineno", None))
    return tree


def _check_depth(tree: ast.Module) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    line = getattr(level[0], "lineno", None)
    raise Refusal(f"is nested deeper than {DEEPEST} levels (a sum of n terms has n levels)", line)


class Refusal(Exception):
    """The reason why a source is refused, and its line, if known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.where = "" if line is None else f", line {line}"


def _check_forward(tree: ast.Module) -> None:
    found = [
        n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and n.name == "forward"
    ]
    if len(found) != 1 or not isinstance(found[0], ast.AsyncFunctionDef):
        raise Refusal("must define exactly one function `async def forward(task)`")
    args = found[0].args
    required = len(args.posonlyargs) + len(args.args) - len(args.defaults)
    if required != 1 or any(default is None for default in args.kw_defaults):
        raise Refusal("forward must have exactly one required argument, the task", found[0].lineno)
    for node in tree.body:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not isinstance(node, _STATEMENTS) and not text:
            raise Refusal(
                "only imports, constants, functions and classes are allowed at the top level", node.lineno
            )


def _refused(node: ast.AST) -> str:
    """Return the reason why a node is refused; empty if it is allowed."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return next((f"may not import {name}" for name in _imported(node) if not _importable(name)), "")
    if isinstance(node, ast.Global):
        return "may not use global: items are independent"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in OWN_METHODS:
        return ""
    if isinstance(node, ast.Attribute):
        return _refused_attribute(node)
    if isinstance(node, ast.Call):
        return _refused_call(node)
    return next(
        (f"may not use the name {name}" for name in _names(node) if _hidden(name) or name in NO_NAMES), ""
    )


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    else:
        module = "." * node.level + (node.module or "")
        yield from (f"{module}:{alias.name}" for alias in node.names)


def _importable(name: str) -> bool:
    module, _, member = name.partition(":")
    if module not in MODULES or member == "*" or _hidden(member) or member in NO_ATTRIBUTES:
        return False
    return module != "asyncio" or not member or member in ASYNCIO


def _refused_attribute(node: ast.Attribute) -> str:
    if _hidden(node.attr) or node.attr in NO_ATTRIBUTES:
        return f"may not use the attribute {node.attr}"
    if node.attr.startswith("_") and not (isinstance(node.value, ast.Name) and node.value.id == "self"):
        return f"may not use the attribute {node.attr}: it is private to another object"
    if isinstance(node.value, ast.Name) and node.value.id == "asyncio" and node.attr not in ASYNCIO:
        return f"may not use asyncio.{node.attr}; allowed of asyncio: {', '.join(sorted(ASYNCIO))}"
    return ""


def _refused_call(node: ast.Call) -> str:
    """Return why a call of ``getattr`` or ``hasattr`` is refused; empty if the call is harmless."""
    if not (isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr")):
        return ""
    name = node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else None
    if not isinstance(name, str) or name.startswith("_") or name in NO_ATTRIBUTES:
        return f"may use {node.func.id} only with a plain name in quotes"
    return ""


def _names(node: ast.AST) -> Iterator[str]:
    """Yield all identifiers that belong to a node itself, not to its children."""
    for field in ("id", "name", "arg", "asname", "rest"):
        value = getattr(node, field, None)
        if isinstance(value, str):
            yield value
    if isinstance(node, ast.Nonlocal):
        yield from node.names
    if isinstance(node, ast.MatchClass):
        yield from node.kwd_attrs


def _hidden(name: str) -> bool:
    return name.startswith("__")
