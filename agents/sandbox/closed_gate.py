"""The gate for code that runs in no sandbox: a closed list of what a source may reach, and nothing at import.

On top of `agents.sandbox.gate`. A module is no value here: its name stands only in front of one of the
members listed, so that no attribute leads from one module to another, and importing the source runs nothing
but definitions. It keeps a program of an optimiser from reaching files, processes or the network; it does
not keep it from computing for ever.
"""

from __future__ import annotations

import ast
import builtins
import string
from collections.abc import Iterator

from agents.sandbox.gate import ASYNCIO, Refusal, check_program
from harness import ProgramRefused
from harness.types import Program

_LISTED = """
agents.operators answer_generate custom format_answer md_ensemble programmer review revise sc_ensemble
agents.workflow Record Role Task vote
collections Counter OrderedDict defaultdict deque
copy copy deepcopy
dataclasses asdict astuple dataclass field replace
datetime date datetime timedelta
enum Enum IntEnum StrEnum auto unique
functools cache cmp_to_key lru_cache partial reduce
heapq heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest
itertools accumulate batched chain combinations combinations_with_replacement compress count cycle
itertools dropwhile filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee
itertools zip_longest
json JSONDecodeError dumps loads
math acos asin atan atan2 ceil comb copysign cos dist e exp fabs factorial floor fmod fsum gcd hypot inf
math isclose isfinite isinf isnan isqrt lcm log log10 log1p log2 nan perm pi pow prod sin sqrt tan tanh tau
math trunc
operator add and_ contains eq floordiv ge getitem gt itemgetter le lt mod mul ne neg not_ or_ pow sub truediv
random Random choice choices gauss randint random sample seed shuffle uniform
re DOTALL I IGNORECASE M MULTILINE S VERBOSE X compile escape findall finditer fullmatch match search split
re sub subn
statistics StatisticsError fmean mean median mode multimode pstdev pvariance stdev variance
string ascii_letters ascii_lowercase ascii_uppercase capwords digits punctuation
textwrap dedent fill indent shorten wrap
typing Any Awaitable Callable ClassVar Dict Final Iterable Iterator List Literal Mapping NamedTuple Optional
typing Sequence Set Tuple TypedDict Union
"""
MEMBERS: dict[str, set[str]] = {"asyncio": set(ASYNCIO)}
"""Module → what of it a source may use."""
for _module, *_names in map(str.split, _LISTED.strip().splitlines()):
    MEMBERS.setdefault(_module, set()).update(_names)

_BUILTINS = """
abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate
filter float format frozenset hash hex id int isinstance issubclass iter len list map max min next object oct
ord pow print property range repr reversed round set slice sorted staticmethod str sum tuple type zip True
False None NotImplemented Ellipsis ArithmeticError AssertionError AttributeError BaseException Exception
IndexError KeyError LookupError NotImplementedError OverflowError RecursionError RuntimeError
StopAsyncIteration StopIteration TimeoutError TypeError UnicodeError ValueError ZeroDivisionError
"""
_SITE = {"copyright", "credits", "exit", "help", "license", "quit"}
_FOREIGN = {*dir(builtins), *_SITE} - set(_BUILTINS.split())
_AT_IMPORT = frozenset(
    {
        *("auto", "cache", "dataclass", "field", "frozenset", "lru_cache", "staticmethod", "classmethod"),
        *("property", "enum.auto", "functools.cache", "functools.lru_cache", "dataclasses.dataclass"),
        *("dataclasses.field", "re.compile"),
    }
)
"""What may be called where a source is imported: it makes values of what is written there."""

_DEFINITIONS = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign),
    *(ast.AnnAssign, ast.Expr, ast.Pass),
)


def check_in_process(program: Program) -> ast.Module:
    """Return the parsed source if it may run outside any sandbox.

    Raises
    ------
    ProgramRefused
        Naming the program, the line and what is refused.
    """
    tree = check_program(program)
    try:
        _check(tree)
    except Refusal as refusal:
        told = f"workflow {program.name!r}{refusal.where}: outside a sandbox it {refusal}"
        raise ProgramRefused(told) from None
    return tree


def _check(tree: ast.Module) -> None:
    modules = _find_modules(tree)
    bases = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    plain = set(_plain_formats(tree))
    for node in ast.walk(tree):
        if reason := _refused(node, modules, bases, plain):
            raise Refusal(reason, getattr(node, "lineno", None))
    own = {getattr(node, "name", getattr(node, "id", "")) for node in _at_import(tree) if _binds(node)}
    for node in _at_import(tree):
        if reason := _refused_at_import(node, own):
            raise Refusal(reason, getattr(node, "lineno", None))


def _binds(node: ast.AST) -> bool:
    """Whether a node gives a name of the source's own a meaning."""
    if isinstance(node, ast.Name):
        return isinstance(node.ctx, ast.Store)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _find_modules(tree: ast.Module) -> dict[str, str]:
    """Name in the source → the module that it stands for; those of the prelude are there unasked."""
    found = {name: name for name in ("asyncio", "statistics", "string")}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if "." in alias.name:
                    raise Refusal(f"may import of {alias.name} single names only", node.lineno)
                found[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom) and node.module in MEMBERS:
            for alias in node.names:
                if alias.name not in MEMBERS[node.module]:
                    raise Refusal(f"may not use {node.module}.{alias.name}", node.lineno)
    return found


def _refused(node: ast.AST, modules: dict[str, str], bases: set[int], plain: set[int]) -> str:
    if isinstance(node, ast.Name):
        if node.id in modules and not (id(node) in bases and isinstance(node.ctx, ast.Load)):
            return f"may use the module {node.id} only as {node.id}.NAME"
        if node.id in _FOREIGN:
            return f"may not use {node.id}"
    elif isinstance(node, ast.Attribute):
        module = modules.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if module is not None and node.attr not in MEMBERS[module]:
            return f"may not use {module}.{node.attr}"
        if node.attr == "format" and id(node) not in plain:
            return "may format only a text in quotes, with fields that are plain names or numbers"
    elif isinstance(node, ast.MatchClass) and node.kwd_attrs:
        return "may not match attributes by name"
    return ""


def _plain_formats(tree: ast.Module) -> Iterator[int]:
    """The attributes `format` of texts whose fields reach no attribute and no element."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "format":
            text = node.value.value if isinstance(node.value, ast.Constant) else None
            if isinstance(text, str) and _is_plain(text):
                yield id(node)


def _is_plain(text: str) -> bool:
    try:
        fields = [(name, spec) for _, name, spec, _ in string.Formatter().parse(text) if name is not None]
    except ValueError:
        return False
    return all(
        (not name or name.isidentifier() or name.isdigit()) and "{" not in (spec or "")
        for name, spec in fields
    )


def _at_import(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when the source is imported: all but the bodies of functions."""
    inner = ("body",) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) else ()
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else (value,):
            if field not in inner and isinstance(child, ast.AST):
                yield child
                yield from _at_import(child)


def _refused_at_import(node: ast.AST, own: set[str]) -> str:
    if isinstance(node, ast.Call) and not _makes_value(node.func, own):
        return "may call nothing when it is imported"
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add | ast.BitOr):
        return "may compute nothing when it is imported"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        for decorator in node.decorator_list:
            if not isinstance(decorator, ast.Call) and not _makes_value(decorator, own):
                return "may call nothing when it is imported, and a decorator is called"
    if isinstance(node, ast.ClassDef):
        return _refused_class(node)
    statements = (ast.stmt, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    if isinstance(node, statements) and not isinstance(node, _DEFINITIONS):
        return "may compute nothing when it is imported"
    return ""


def _makes_value(called: ast.expr, own: set[str]) -> bool:
    """Whether a call makes a value of what is written there, and runs nothing of the source's own."""
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        return f"{called.value.id}.{called.attr}" in _AT_IMPORT
    return isinstance(called, ast.Name) and called.id in _AT_IMPORT and called.id not in own


def _refused_class(node: ast.ClassDef) -> str:
    if node.keywords:
        return "may give a class no metaclass or other keywords"
    names = {part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "") for part in node.bases}
    special = any(isinstance(s, ast.FunctionDef) and s.name.startswith("_") for s in node.body)
    return "may give an enumeration no special methods" if special and names & MEMBERS["enum"] else ""
