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
from dataclasses import dataclass
from importlib import import_module

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
_PLAIN = {"str", "int"}
_HANDLE = "Workflow"
"""What the file that is written calls the class that it is made with."""
_SITE = {"copyright", "credits", "exit", "help", "license", "quit"}
_FOREIGN = {*dir(builtins), *_SITE} - set(_BUILTINS.split())
_AT_IMPORT = frozenset(
    {
        *("frozenset", "staticmethod", "classmethod", "property", "enum.auto", "functools.cache"),
        *("functools.lru_cache", "dataclasses.dataclass", "dataclasses.field", "re.compile"),
    }
)
"""What may be called where a source is imported: it makes values of what is written there."""


def _find_shared() -> Iterator[str]:
    """Names of what the classes listed have in Python: whoever sets one changes it for the whole process."""
    for module, names in MEMBERS.items():
        found = vars(import_module(module))
        for kind in (found[name] for name in names if isinstance(found.get(name), type)):
            for base in kind.__mro__:
                yield from () if base.__flags__ & _IMMUTABLE else vars(base)


_IMMUTABLE = 1 << 8
"""Flag of classes whose attributes cannot be set, as those written in C."""
_SHARED = frozenset(_find_shared())

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
    imported = {n.asname or n.name for n in ast.walk(tree) if isinstance(n, ast.alias)}
    if _HANDLE in own | imported:
        raise Refusal(f"may call nothing {_HANDLE}")
    named, classes = _find_imported(tree, modules, own), _BaseClasses.of(tree, modules)
    for node in _at_import(tree):
        if reason := _refused_at_import(node, named, classes):
            raise Refusal(reason, getattr(node, "lineno", None))


def _binds(node: ast.AST) -> bool:
    """Whether a node gives a name of the source's own a meaning."""
    if isinstance(node, ast.Name):
        return isinstance(node.ctx, ast.Store)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _find_imported(tree: ast.Module, modules: dict[str, str], own: set[str]) -> dict[str, str]:
    """Expression in the source → what it stands for, as far as it may be called where the source is imported.

    What the source gives a meaning of its own, or two meanings, is left out.
    """
    found = {name: name for name in _AT_IMPORT if "." not in name}
    for name, module in modules.items():
        if name not in own:
            found |= {f"{name}.{member}": f"{module}.{member}" for member in MEMBERS[module]}
    for node in (n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)):
        for alias in node.names:
            name, meant = alias.asname or alias.name, f"{node.module}.{alias.name}"
            found[name] = meant if found.get(name, meant) == meant else ""
    return {name: meant for name, meant in found.items() if name not in own}


def _find_modules(tree: ast.Module) -> dict[str, str]:
    """Name in the source → the module that it stands for; those of the prelude are there unasked."""
    found = {name: name for name in ("asyncio", "statistics", "string")}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if "." in alias.name:
                    raise Refusal(f"may import of {alias.name} single names only", node.lineno)
                name = alias.asname or alias.name
                if found.setdefault(name, alias.name) != alias.name:
                    raise Refusal(f"may not call two modules {name}", node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.module in MEMBERS:
            for alias in node.names:
                if alias.name not in MEMBERS[node.module]:
                    raise Refusal(f"may not use {node.module}.{alias.name}", node.lineno)
    return found


def _refused(node: ast.AST, modules: dict[str, str], bases: set[int], plain: set[int]) -> str:
    if isinstance(node, ast.Name):
        if node.id in modules and not (id(node) in bases and isinstance(node.ctx, ast.Load)):
            return f"may use the module {node.id} only as {node.id}.NAME"
        if node.id in _FOREIGN or node.id == _HANDLE:
            return f"may not use {node.id}"
    elif isinstance(node, ast.Attribute):
        return _refused_attribute(node, modules, plain)
    elif isinstance(node, ast.MatchClass) and node.kwd_attrs:
        return "may not match attributes by name"
    return ""


def _refused_attribute(node: ast.Attribute, modules: dict[str, str], plain: set[int]) -> str:
    module = modules.get(node.value.id) if isinstance(node.value, ast.Name) else None
    if not isinstance(node.ctx, ast.Load) and (module is not None or node.attr in _SHARED):
        return f"may not set .{node.attr}, which classes or modules of this process have"
    if module is not None and node.attr not in MEMBERS[module]:
        return f"may not use {module}.{node.attr}"
    if node.attr == "format" and id(node) not in plain:
        return "may format only a text in quotes, with fields that are plain names or numbers"
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


def _refused_at_import(node: ast.AST, named: dict[str, str], classes: _BaseClasses) -> str:
    if isinstance(node, ast.Call) and not _makes_value(node.func, named):
        return "may call nothing when it is imported"
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add | ast.BitOr):
        return "may compute nothing when it is imported"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        for decorator in node.decorator_list:
            if not isinstance(decorator, ast.Call) and not _makes_value(decorator, named):
                return "may call nothing when it is imported, and a decorator is called"
    if isinstance(node, ast.ClassDef):
        return _refused_class(node, classes)
    statements = (ast.stmt, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    if isinstance(node, statements) and not isinstance(node, _DEFINITIONS):
        return "may compute nothing when it is imported"
    return ""


def _makes_value(called: ast.expr, named: dict[str, str]) -> bool:
    """Whether a call makes a value of what is written there, and runs nothing of the source's own."""
    return named.get(ast.unparse(called)) in _AT_IMPORT


@dataclass(frozen=True, slots=True)
class _BaseClasses:
    """What a class may be derived from: modules by name, names that were assigned, enumerations."""

    modules: dict[str, str]
    assigned: set[str]
    enums: set[str]

    @classmethod
    def of(cls, tree: ast.Module, modules: dict[str, str]) -> _BaseClasses:
        assigned = {
            n.id for n in _at_import(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        imported = (n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module == "enum")
        aliases = {alias.asname or alias.name for node in imported for alias in node.names}
        return cls(modules, assigned, MEMBERS["enum"] | aliases)

    def has(self, base: ast.expr) -> bool:
        """Whether a base is called by its own name: another may hide what it is."""
        named = base.value if isinstance(base, ast.Subscript) else base
        owner = named.value if isinstance(named, ast.Attribute) else named
        if not isinstance(owner, ast.Name) or owner.id in self.assigned:
            return False
        return owner is named or owner.id in self.modules

    def has_enum(self, base: ast.expr) -> bool:
        """Whether a base is an enumeration."""
        return ast.unparse(base).rpartition(".")[2] in self.enums


def _refused_class(node: ast.ClassDef, classes: _BaseClasses) -> str:
    """Why a class may not be made; the members of an enumeration are made with it, by its special methods."""
    if node.keywords:
        return "may give a class no metaclass or other keywords"
    if not all(map(classes.has, node.bases)):
        return "may derive a class only from classes by their own names"
    if not any(map(classes.has_enum, node.bases)):
        return ""
    classes.enums.add(node.name)
    others = [base for base in node.bases if not classes.has_enum(base)]
    if any(ast.unparse(base) not in _PLAIN for base in others):
        return "may make an enumeration of enumerations, str and int only"
    bound = (part for line in node.body for part in ast.walk(line) if _binds(part))
    special = any(getattr(part, "name", getattr(part, "id", "")).startswith("_") for part in bound)
    return "may give an enumeration no special methods" if special else ""
