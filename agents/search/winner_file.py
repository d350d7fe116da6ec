"""The winner of a search as one importable file that needs nothing of the search.

What a model wrote, its source, name and reasons, stands in the file as quoted data, and the source runs in
the sandbox. `in_process` is the other form: the source as code, behind a gate that lets it reach nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import asdict
from pprint import pformat

from agents import operators, workflow
from agents.programs import PromptFormat, Role
from agents.sandbox import STAND_INS, check_in_process, strip_own
from agents.search.context import SearchContext
from harness import BadInput
from harness.types import Program

_FILE = '''\
"""The best workflow of a search. {how}

From a shell, for a file with {columns}:

    python {file} questions.csv --model NAME --endpoint URL

From Python: ``await WORKFLOW.answer(items, model)``; see `agents.standalone.Workflow`.
"""

{imports}

NAME = {name}
SEARCH = {search}
THOUGHT = {thought}

{body}

if __name__ == "__main__":
    WORKFLOW.main()
'''
_HELD = "Its source is data here, and runs in a sandbox."
_FREE = "Its source is code here, and runs as part of this program: read it first."
_WIDTH = 100


def write_winner(context: SearchContext, file: str, *, in_process: bool = False) -> str:
    """Write the winner of a search as the text of a file of this name.

    Raises
    ------
    BadInput
        If the search has no winner yet.
    ProgramRefused
        If it shall run `in_process`, and reaches what only the sandbox can hold.
    """
    noted = context.archive.events.get("winner")
    if noted is None:
        raise BadInput(f"search {context.id} has no winner yet; go on with: oversight search resume")
    program = context.archive.candidates[str(noted["candidate"])].program
    items = [item for part in context.archive.splits.values() for item in part]
    shared = {item.options for item in items}
    setting = make_setting(
        context.shape, context.roles, shared.pop() if len(shared) == 1 else (), context.section.tier
    )
    return write_file(program, setting, search=context.id, file=file, in_process=in_process)


def make_setting(
    shape: PromptFormat, roles: Sequence[Role], options: Sequence[str], tier: str
) -> dict[str, object]:
    """The setting of `agents.standalone.Workflow`: how a study words calls, and where programs run."""
    roles_ = [asdict(role) for role in roles]
    return {"options": tuple(options), "shape": asdict(shape), "roles": roles_, "tier": tier}


def write_file(
    program: Program, setting: dict[str, object], *, search: str, file: str, in_process: bool = False
) -> str:
    """Write a workflow with the setting of its study; see `write_winner`."""
    shown = pformat(setting, width=_WIDTH, sort_dicts=False)
    imports = "from agents.standalone import Workflow"
    if in_process:
        tree = strip_own(check_in_process(program))
        imports = _imports(tree)
        body = f"{ast.unparse(tree)}\n\nWORKFLOW = Workflow(forward, {shown})"
    else:
        body = f"SOURCE = {_quote(program.source)}\n\nWORKFLOW = Workflow(SOURCE, {shown})"
    return _FILE.format(
        how=_FREE if in_process else _HELD,
        columns="the columns id and text" if setting["options"] else "the columns id, text and options",
        file=file if re.fullmatch(r"[\w.-]+", file) else "FILE.py",
        imports=imports,
        name=_quote(program.name),
        search=_quote(search),
        thought=_quote(program.thought.strip()),
        body=body,
    )


def _quote(text: str) -> str:
    """A text as Python quotes it, a line of it a line; nothing in it is code, whatever it says."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return repr(text)
    return "(\n" + "".join(f"    {line!r}\n" for line in lines) + ")"


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
