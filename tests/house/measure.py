"""The house in numbers: sizes, names and imports by room, the surface, and the way of an estimate."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import sys
import tempfile
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import cast

from oversight.harness.cli.main import VERBS, main, make_parser
from oversight.harness.config.study_file import generate_schema
from oversight.harness.registry import load_module
from oversight.harness.store.tables.table_maker import METADATA
from tests.documents.blocks import find_options
from tests.house.faces import PACKAGE, WINGS
from tests.studies.opened import copy_study

ROOT = Path(__file__).parents[2]
LONGEST_FUNCTION = 60
WIDE = 90
SHORT = 30
Function = ast.FunctionDef | ast.AsyncFunctionDef
House = dict[str, "Module"]


@dataclass(frozen=True, slots=True)
class Module:
    """One source file of the product."""

    path: Path
    name: str
    tree: ast.Module

    @property
    def is_face(self) -> bool:
        """Whether it stands for its folder."""
        return self.path.name.startswith("__init__")

    @property
    def folder(self) -> str:
        """The package it lies in."""
        return self.name if self.is_face else self.name.rpartition(".")[0]

    @property
    def functions(self) -> list[Function]:
        """All functions and methods, inner ones too."""
        return [n for n in ast.walk(self.tree) if isinstance(n, Function)]


@functools.cache
def read_house(root: Path = ROOT) -> House:
    """Name → module, for all of the product; read once, as it takes seconds."""
    return {
        name: Module(path, name, ast.parse((root / path).read_text(encoding="utf-8")))
        for name, path in find_sources(root).items()
    }


def find_sources(root: Path = ROOT) -> dict[str, Path]:
    """Name → file below the root, for all modules of the product."""
    found = sorted(p.relative_to(root) for wing in WINGS for p in (root / wing).rglob("*.py"))
    return {".".join((PACKAGE, *p.with_suffix("").parts)).removesuffix(".__init__"): p for p in found}


def imports_of(module: Module, house: House) -> Iterator[str]:
    """Modules of the product that a module imports; a name taken from a face counts as the face."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in house)
        elif isinstance(node, ast.ImportFrom) and node.module in house:
            inner = {f"{node.module}.{a.name}" for a in node.names}
            yield from inner & house.keys() or {node.module}


def length_of(function: Function) -> int:
    """Lines of a function without its docstring."""
    first, lines = function.body[0], (function.end_lineno or function.lineno) - function.lineno + 1
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def code_lines(path: Path) -> int:
    """Lines without docstrings, comments and blanks."""
    source = path.read_text(encoding="utf-8")
    texts = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    layout = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in layout and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomNumbers:
    """Measures of one room, or of all rooms; docstrings, comments and blank lines do not count as code."""

    lines: int
    nodes_per_line: float
    wide_lines: float
    modules: int
    short_modules: int
    one_importer: int
    exported: int
    function_p95: int


def name_room(module: Module) -> str:
    """The room of a module, or its wing if it lies in none."""
    return "/".join(module.path.parts[:2]) if len(module.path.parts) > 2 else module.path.parts[0]


def measure_rooms(root: Path = ROOT) -> dict[str, RoomNumbers]:
    """Room → numbers, and at the end those of all."""
    house = read_house(root)
    importers = Counter(
        imported
        for module in house.values()
        if not module.is_face
        for imported in {*imports_of(module, house)} - {module.name}
    )
    rooms: dict[str, list[Module]] = defaultdict(list)
    for module in house.values():
        rooms[name_room(module)].append(module)
    found = {room: _measure_modules(modules, importers, root) for room, modules in sorted(rooms.items())}
    return {**found, "all": _measure_modules([*house.values()], importers, root)}


def _measure_modules(modules: list[Module], importers: Counter[str], root: Path) -> RoomNumbers:
    own = [module for module in modules if not module.is_face]
    sizes = {module.name: code_lines(root / module.path) for module in modules}
    lines = sum(sizes.values())
    wide = sum(
        len(line) > WIDE
        for module in modules
        for line in (root / module.path).read_text("utf-8").splitlines()
    )
    texts = sum(len((root / module.path).read_text("utf-8").splitlines()) for module in modules)
    lengths = sorted(length_of(function) for module in modules for function in module.functions)
    return RoomNumbers(
        lines=lines,
        nodes_per_line=sum(1 for module in modules for _ in ast.walk(module.tree)) / max(lines, 1),
        wide_lines=wide / max(texts, 1),
        modules=len(own),
        short_modules=sum(sizes[module.name] < SHORT for module in own),
        one_importer=sum(importers[module.name] == 1 for module in own),
        exported=sum(count_exported(root / module.path) for module in modules if module.is_face),
        function_p95=lengths[int(0.95 * (len(lengths) - 1))] if lengths else 0,
    )


def count_exported(face: Path) -> int:
    """Names that a face offers."""
    stub = face.with_suffix(".pyi")
    if not stub.exists():
        return 0
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    return sum(len(node.names) for node in tree.body if isinstance(node, ast.ImportFrom))


def count_surface() -> dict[str, int]:
    """Options of the command line, settings of study.toml, and tables of the database."""
    options = {
        (verb, option)
        for verb, (module, _) in VERBS.items()
        for option in find_options(make_parser(verb, load_module(module)))
        if option.startswith("--") and option != "--help"
    }
    schema = generate_schema()
    settings = sum(len(part.get("properties", {})) for part in (schema, *schema.get("$defs", {}).values()))
    return {
        "options of the command line": len(options),
        "settings of study.toml": settings,
        "tables of the database": len(METADATA.tables),
    }


def trace_estimate(study: str = "partitioned") -> dict[str, int]:
    """Files that `oversight estimate` enters for a frozen study, and the most frames open at once.

    The frames from the verb to the maths are those open when the first interval is made, from the verb's
    own function on.
    """
    files: set[str] = set()
    deepest, to_maths = 0, 0

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal deepest, to_maths
        if event != "call" or (file := own_file(frame.f_code)) is None:
            return
        files.add(file)
        way, above = list[str](), cast("FrameType | None", frame)
        while above is not None:
            way += filter(None, [own_file(above.f_code)])
            above = above.f_back
        deepest = max(deepest, len(way))
        if not to_maths and frame.f_code.co_name == "make_interval":
            to_maths = len(way) - way[::-1].index("harness/cli/verbs/estimate.py")

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        copy = copy_study(study, Path(folder))
        main(["estimate", "--study", str(copy / "study.toml")])  # loads all modules
        sys.setprofile(watch)
        try:
            main(["estimate", "--study", str(copy / "study.toml")])
        finally:
            sys.setprofile(None)
    return {
        "files that estimate enters": len(files),
        "frames of estimate open at once": deepest,
        "frames of estimate from the verb to the maths": to_maths,
    }


def own_file(code: CodeType) -> str | None:
    """Path of a function of the product below the root; modules that are loaded are none."""
    home = f"{ROOT}/{PACKAGE}/"
    is_own = code.co_filename.startswith(home) and code.co_name != "<module>"
    return code.co_filename.removeprefix(home) if is_own else None
