"""A proposer that edits and recombines existing workflows without a model.

A child is made by edits of its parent's source. Some edits change constants, because workflows define the
values that are worth changing as constants in capitals at the top of the source. Other edits give every call
of ``task.ask`` a role or a number of examples, remove the thinking before the answer, copy constants of a
second parent, let several runs of a workflow vote, or combine two workflows. Proposals cost nothing, depend
only on the seed, and always parse, because all edits change the syntax tree.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TypeGuard

import numpy as np

from oversight.agents.search.policies.proposal import PolicyView, Proposal, child_name, draw_any
from oversight.harness.types import Program

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
    """Return the numbers and texts that a source assigns to names in capitals at its top level."""
    found: dict[str, Value] = {}
    for statement in ast.parse(source).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
                if name.isupper() and isinstance(value, int | float | str) and not isinstance(value, bool):
                    found[name] = value
    return found


def replace_constants(source: str, values: Mapping[str, Value]) -> str:
    """Return a source with new values for its constants; values for names that it lacks are ignored."""
    tree = ast.parse(source)
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()) if name in values:
                statement.value = ast.Constant(values[name])
    return ast.unparse(ast.fix_missing_locations(tree))


def set_argument(source: str, keyword: str, name: str, value: Value) -> str:
    """Define the constant ``name = value``, and pass it as `keyword` in calls for an answer.

    Calls that already have this keyword are not changed.
    """
    tree = ast.parse(source)
    for call in ast.walk(tree):
        if _asks_for_answer(call) and all(k.arg != keyword for k in call.keywords):
            call.keywords.append(ast.keyword(keyword, ast.Name(name, ast.Load())))
    if name not in read_constants(source):
        tree.body.insert(_after_imports(tree), ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)))
    return replace_constants(ast.unparse(ast.fix_missing_locations(tree)), {name: value})


def remove_thinking(source: str) -> str:
    """Rewrite calls that discard the thinking, ``_, answer = …``, so that they request only the answer."""
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
    """Return a workflow that runs `source` several times and returns the most frequent answer."""
    tree = _renamed(ast.parse(source), {"forward": "once"})
    tree.body.insert(_after_imports(tree), ast.parse(f"VOTES = {votes}").body[0])
    tree.body += ast.parse(_VOTED).body
    return _import_vote(tree)


def run_beside(first: str, second: str) -> str:
    """Return a workflow that runs both workflows; if their answers differ, the answer of `first` counts."""
    trees = [
        _renamed(tree, {name: (entry if name == "forward" else f"{name}{mark}") for name in _own_names(tree)})
        for tree, entry, mark in ((ast.parse(first), "one", "_1"), (ast.parse(second), "other", "_2"))
    ]
    imports = {ast.unparse(s): s for tree in trees for s in tree.body if isinstance(s, _IMPORTS)}
    rest = [s for tree in trees for s in tree.body if not isinstance(s, _IMPORTS) and not _is_docstring(s)]
    module = ast.Module([*imports.values(), *rest, *ast.parse(_BESIDE).body], [])
    return _import_vote(module)


def count_calls(source: str) -> int:
    """Return the number of call expressions ``….ask(…)`` in a source, a rough measure of its cost."""
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
    """Return the names defined at the top of a module."""
    names: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign):
            names |= {t.id for t in statement.targets if isinstance(t, ast.Name)}
    return names


def _renamed(tree: ast.Module, names: Mapping[str, str]) -> ast.Module:
    """Rename identifiers, functions and classes in a tree in place, and return the tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.name = names.get(node.name, node.name)
    return tree


def _import_vote(tree: ast.Module) -> str:
    """Add the imports that a vote needs below the module's docstring, and return the source."""
    place = int(bool(tree.body) and _is_docstring(tree.body[0]))
    lines = "import asyncio\nfrom oversight.agents.workflow import vote"
    have = {ast.unparse(s) for s in tree.body if isinstance(s, _IMPORTS)}
    added = [s for s in ast.parse(lines).body if ast.unparse(s) not in have]
    tree.body[place:place] = added
    return ast.unparse(ast.fix_missing_locations(tree))


TRIES = 60
MOST_CALLS = 8
EXAMPLES = (0, 1, 2, 4, 8)
TEMPERATURES = (0.0, 0.2, 0.5, 0.8, 1.0)

Edit = tuple[str, str]
"""The changed source, and a description of the change; the description is empty if nothing changed."""


def read_wordings(roles: Iterable[str] = ()) -> dict[str, tuple[str, ...]]:
    """Read ``prompts/wordings.toml``. Returns texts by the constant that they replace, with `roles` added."""
    text = (files("oversight.agents") / "prompts" / "wordings.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return {
        "INSTRUCTION": tuple(table["instruction"]),
        "ROLE": tuple(dict.fromkeys((*table["role"], *roles))),
    }


@dataclass(frozen=True, slots=True)
class Recombine:
    """The proposer that edits and recombines workflows.

    Parameters
    ----------
    wordings
        Instructions and roles to choose from, see `read_wordings`.
    """

    wordings: Mapping[str, Sequence[str]]
    name: str = "recombine"

    async def propose(self, view: PolicyView) -> Proposal:
        """Change one parent, or combine two parents; try again if the resulting program already exists."""
        known = set(view.board.ids)
        first = draw_any(view)
        for _ in range(TRIES):
            second = draw_any(view)
            op, (source, note) = self.edit(first.program.source, second.program.source, view.rng)
            program = Program(child_name(first, view), source, note)
            if note and program.id not in known:
                parents = tuple(dict.fromkeys((first.id, second.id) if op in _TWO else (first.id,)))
                return Proposal(program, op, parents, note)
        return Proposal(None, self.name, (first.id,), refused=f"no new program in {TRIES} tries")

    async def repair(self, view: PolicyView, proposal: Proposal, reason: str, attempt: int) -> Proposal:
        """Return a new proposal, because this proposer cannot use an error message."""
        again = await self.propose(view)
        return replace(again, log=(*proposal.log, f"draw {attempt + 1}: {reason}"))

    def edit(self, first: str, second: str, rng: np.random.Generator) -> tuple[str, Edit]:
        """Apply one to three edits to the source `first`; the first edit can use the source `second`.

        Returns the first edit's name, and the result of all edits.
        """
        ops = list(EDITS)
        op = ops[int(rng.choice(len(ops), p=_WEIGHTS))]
        source, note = EDITS[op](self, first, second, rng)
        notes = [note] if note else []
        for _ in range(int(rng.integers(3))):
            source, more = self.change_constant(source, "", rng)
            notes += [more] if more else []
        return op, (source, "; ".join(notes))

    def change_constant(self, source: str, _: str, rng: np.random.Generator) -> Edit:
        """Change the value of one random constant, within the values allowed for its name and type."""
        found = read_constants(source)
        if not found:
            return source, ""
        name = sorted(found)[int(rng.integers(len(found)))]
        value = self._other(name, found[name], rng)
        if value == found[name]:
            return source, ""
        return replace_constants(source, {name: value}), f"{name} = {value!r}, was {found[name]!r}"

    def cross(self, source: str, other: str, rng: np.random.Generator) -> Edit:
        """Set some constants of `source` to their values in `other`, if both sources define them."""
        mine, theirs = read_constants(source), read_constants(other)
        shared = [n for n in sorted(mine) if n in theirs and theirs[n] != mine[n] and rng.random() < 0.7]
        note = f"{', '.join(shared)} as in the other parent" if shared else ""
        return replace_constants(source, {n: theirs[n] for n in shared}), note

    def add_examples(self, source: str, _: str, rng: np.random.Generator) -> Edit:
        """Set how many of the study's solved examples every call for an answer shows."""
        n = EXAMPLES[int(rng.integers(len(EXAMPLES)))]
        return set_argument(source, "examples", "EXAMPLES", n), f"shows {n} examples"

    def add_role(self, source: str, _: str, rng: np.random.Generator) -> Edit:
        """Add a random role to every call for an answer."""
        role = self.wordings["ROLE"][int(rng.integers(len(self.wordings["ROLE"])))]
        return set_argument(source, "role", "ROLE", role), f"plays: {role}"

    def _other(self, name: str, value: Value, rng: np.random.Generator) -> Value:
        if isinstance(value, str):
            choices: Sequence[Value] = self.wordings.get(name.rstrip("_0123456789"), (value,))
        elif "TEMPERATURE" in name:
            choices = TEMPERATURES
        elif name.startswith("EXAMPLES"):
            choices = EXAMPLES
        elif isinstance(value, int):
            choices = range(1, 2 * value + 2)
        else:
            choices = (value / 2, value * 2)
        return choices[int(rng.integers(len(choices)))]


def _drop_thinking(_: Recombine, source: str, __: str, ___: np.random.Generator) -> Edit:
    changed = remove_thinking(source)
    return changed, "answers without thinking first" if changed != replace_constants(source, {}) else ""


def _vote(_: Recombine, source: str, __: str, rng: np.random.Generator) -> Edit:
    votes = int(rng.choice([3, 5]))
    if "VOTES" in read_constants(source) or count_calls(source) * votes > 2 * MOST_CALLS:
        return source, ""
    return add_vote(source, votes), f"votes over {votes} runs"


def _beside(_: Recombine, source: str, other: str, __: np.random.Generator) -> Edit:
    if source == other or count_calls(source) + count_calls(other) > MOST_CALLS // 2:
        return source, ""
    return run_beside(source, other), "runs the other parent beside it, and votes"


EDITS: dict[str, Callable[[Recombine, str, str, np.random.Generator], Edit]] = {
    "mutate": Recombine.change_constant,
    "cross": Recombine.cross,
    "examples": Recombine.add_examples,
    "role": Recombine.add_role,
    "no-thinking": _drop_thinking,
    "vote": _vote,
    "beside": _beside,
}
_TWO = ("cross", "beside")
_WEIGHTS = (0.25, 0.1, 0.25, 0.15, 0.15, 0.05, 0.05)
