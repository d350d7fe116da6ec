"""The winner of a search as one importable file that needs nothing of the search."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import asdict
from pprint import pformat

from agents import operators, workflow
from agents.programs import PromptFormat, Role
from agents.sandbox import STAND_INS, strip_own
from agents.search.context import SearchContext
from harness import BadInput
from harness.types import Program

_FILE = '''\
"""{title}

{thought}

From a shell, for a file with {columns}:

    python {name} questions.csv --model NAME --endpoint URL

From Python: ``await WORKFLOW.answer(items, model)``; see `agents.standalone.Workflow`.
"""

{imports}

{source}

WORKFLOW = Workflow(forward, {setting})

if __name__ == "__main__":
    WORKFLOW.main()
'''
_WIDTH = 100


def write_winner(context: SearchContext, name: str) -> str:
    """Write the winner of a search as the text of a file of this name.

    Raises
    ------
    BadInput
        If the search has no winner yet.
    """
    noted = context.archive.events.get("winner")
    if noted is None:
        raise BadInput(f"search {context.id} has no winner yet; go on with: oversight search resume")
    program = context.archive.candidates[str(noted["candidate"])].program
    items = [item for part in context.archive.splits.values() for item in part]
    shared = {item.options for item in items}
    title = f"The workflow {program.name}, which search {context.id} found best."
    options = shared.pop() if len(shared) == 1 else ()
    return write_file(program, context.shape, context.roles, options, title=title, name=name)


def write_file(
    program: Program,
    shape: PromptFormat,
    roles: Sequence[Role],
    options: Sequence[str],
    *,
    title: str,
    name: str,
) -> str:
    """Write a workflow with the wording, roles and examples of its study; `options` as in `Workflow`."""
    tree = strip_own(ast.parse(program.source))
    if ast.get_docstring(tree) is not None:  # the file's own takes it up
        tree.body = tree.body[1:]
    setting = {"options": tuple(options), "shape": asdict(shape), "roles": [asdict(role) for role in roles]}
    return _FILE.format(
        title=title,
        thought=program.thought.strip().replace("\\", "\\\\").replace('"""', "'''")
        or "Its author gave no reason.",
        columns="the columns id and text" if options else "the columns id, text and options",
        name=name,
        imports=_imports(tree),
        source=ast.unparse(tree),
        setting=pformat(setting, width=_WIDTH, sort_dicts=False),
    )


def _imports(tree: ast.Module) -> str:
    """Import what stands in front of every program in the sandbox, as far as this one uses it."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    there = {alias.name for s in tree.body if isinstance(s, ast.Import) for alias in s.names}
    lines = [f"import {module}" for module in sorted(({"asyncio", *STAND_INS} & used) - there)]
    for module in (operators, workflow):
        own = (n for n in used if getattr(vars(module).get(n), "__module__", "") == module.__name__)
        if names := sorted(own):
            lines.append(f"from {module.__name__} import {', '.join(names)}")
    return "\n".join([*lines, "from agents.standalone import Workflow"])
