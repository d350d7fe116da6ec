"""The house in numbers, from the sources alone: folders, arrows, names, sizes, suppressions."""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from oversight.harness.registry import PROTOCOLS
from tests.house.faces import WINGS, is_past_face

ROOT = Path(__file__).parents[2]
LONGEST_FILE = 300
LONGEST_FUNCTION = 60
MOST_PARAMETERS = 6
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
    return {".".join(p.with_suffix("").parts).removesuffix(".__init__"): p for p in found}


def imports_of(module: Module, house: House) -> Iterator[str]:
    """Modules of the product that a module imports; a name taken from a face counts as the face."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in house)
        elif isinstance(node, ast.ImportFrom) and node.module in house:
            inner = {f"{node.module}.{a.name}" for a in node.names}
            yield from inner & house.keys() or {node.module}


def find_arrows(house: House) -> Counter[tuple[str, str]]:
    """Imports from one folder into another, by pair of folders; faces show what lies in their own."""
    return Counter(
        (module.folder, house[imported].folder)
        for module in house.values()
        for imported in imports_of(module, house)
        if not module.is_face and house[imported].folder != module.folder
    )


def find_circles(arrows: Mapping[tuple[str, str], int]) -> list[tuple[str, ...]]:
    """Groups of folders that can all be reached from each other."""
    reach: dict[str, set[str]] = defaultdict(set)
    for start, end in arrows:
        reach[start].add(end)
    changed = True
    while changed:
        before = sum(map(len, reach.values()))
        for ends in reach.values():
            ends |= {further for end in tuple(ends) for further in reach.get(end, ())}
        changed = sum(map(len, reach.values())) > before
    return sorted(
        {tuple(sorted(b for b in reach[a] if a in reach.get(b, ()))) for a in reach if a in reach[a]}
    )


def find_repeated(names: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Names that stand for more than one thing, with their places."""
    return {name: places for name, places in sorted(names.items()) if len(places) > 1}


def file_names(house: House) -> dict[str, list[str]]:
    """File name → paths; faces aside, which are called alike by nature."""
    found: dict[str, list[str]] = defaultdict(list)
    for module in house.values():
        if not module.is_face:
            found[module.path.name].append(module.path.as_posix())
    return found


def public_types(house: House) -> dict[str, list[str]]:
    """Public class → modules that define it; what runs in the sandbox as text is a world of its own."""
    found: dict[str, list[str]] = defaultdict(list)
    for module in house.values():
        if module.name in ("oversight.agents.workflow", "oversight.agents.operators"):
            continue
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module.name)
    return found


def find_long_files(root: Path = ROOT) -> dict[str, int]:
    """Path → lines of the sources, of tests and benchmarks too, that are longer than any may be."""
    lines = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8").count("\n")
        for folder in (*WINGS, "tests", "benchmarks")
        for path in (root / folder).rglob("*.py")
    }
    return {path: length for path, length in sorted(lines.items()) if length > LONGEST_FILE}


def count_files(house: House) -> Counter[str]:
    """Folder → number of its sources."""
    return Counter(module.path.parent.as_posix() for module in house.values())


def length_of(function: Function) -> int:
    """Lines of a function, its docstring among them."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def parameters_of(function: Function) -> int:
    """Parameters of a function, `self` and `cls` aside."""
    a = function.args
    names = [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    return sum(name not in ("self", "cls") for name in names)


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


def measure_house(root: Path = ROOT) -> dict[str, int | float | str]:
    """Every number that is watched, by what it counts."""
    house = read_house(root)
    arrows = find_arrows(house)
    files = count_files(house)
    functions = [f for m in house.values() for f in m.functions]
    packages = {m.name for m in house.values() if m.is_face}
    sources = [p for wing in WINGS for p in (root / wing).rglob("*.py*") if p.suffix in (".py", ".pyi")]
    lines, names = (sum(code_lines(p) for p in sources if p.suffix == kind) for kind in (".py", ".pyi"))
    text = "\n".join(p.read_text(encoding="utf-8") for p in sources)
    suppressed = len(re.findall(r"#\s*(?:noqa|type: ignore)", text))
    fullest, most = files.most_common(1)[0]
    return {
        "files": len(house),
        "folders": len(files),
        "files in the fullest folder": f"{most} ({fullest})",
        f"files over {LONGEST_FILE} lines, tests too": len(find_long_files(root)),
        "arrows between folders": len(arrows),
        "circles between folders": len(find_circles(arrows)),
        "files of equal names": len(find_repeated(file_names(house))),
        "public types of equal names": len(find_repeated(public_types(house))),
        f"functions over {LONGEST_FUNCTION} lines": sum(length_of(f) > LONGEST_FUNCTION for f in functions),
        f"functions over {MOST_PARAMETERS} parameters": sum(
            parameters_of(f) > MOST_PARAMETERS for f in functions
        ),
        "imports past a folder's face": sum(
            is_past_face(m.name, imported, packages)
            for m in house.values()
            if not m.is_face
            for imported in imports_of(m, house)
        ),
        "names of protocols outside the registry": sum(
            isinstance(n, ast.Constant) and n.value in PROTOCOLS
            for m in house.values()
            if m.name != "oversight.harness.registry"
            for n in ast.walk(m.tree)
        ),
        "suppressions per 1,000 lines": round(1000 * suppressed / lines, 1),
        "lines of code": lines,
        "lines that name what faces offer": names,
    }
