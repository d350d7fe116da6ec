"""The text that runs in the sandbox in front of a program."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from agents.sandbox.shim import strip_own

_HERE = Path(__file__).parent
_SHARED = (_HERE.parent / "workflow.py", _HERE.parent / "operators.py")


@cache
def prelude_text(*, stand_ins: bool) -> str:
    """Join the files that a program stands on; `stand_ins` for a tier that lacks modules."""
    files = (*_SHARED, *((_HERE / "modules.py",) if stand_ins else ()), _HERE / "prelude.py")
    trees = [strip_own(ast.parse(path.read_text(encoding="utf-8"))) for path in files]
    return "\n\n".join(ast.unparse(tree) for tree in trees)
