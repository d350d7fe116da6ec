"""The winner of a search as one importable file that needs nothing of the search.

What a model wrote, its source, name and reasons, stands in the file as quoted data, and the source runs in
the sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from pprint import pformat

from oversight.agents.programs import PromptFormat, Role
from oversight.agents.search.context import SearchContext
from oversight.harness import BadInput
from oversight.harness.types import Program

_FILE = '''\
"""The best workflow of a search. Its source is data here, and runs in a sandbox.

From a shell, for a file with {columns}:

    python {file} questions.csv --model NAME --endpoint URL

From Python: ``await WORKFLOW.answer(items, model)``; see `oversight.agents.standalone.Workflow`.
"""

from oversight.agents.standalone import Workflow

NAME = {name}
SEARCH = {search}
THOUGHT = {thought}

SOURCE = {source}

WORKFLOW = Workflow(SOURCE, {setting})

if __name__ == "__main__":
    WORKFLOW.main()
'''
_WIDTH = 100


def write_winner(context: SearchContext, file: str) -> str:
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
    setting = make_setting(
        context.shape, context.roles, shared.pop() if len(shared) == 1 else (), context.section.tier
    )
    return write_file(program, setting, search=context.id, file=file)


def make_setting(
    shape: PromptFormat, roles: Sequence[Role], options: Sequence[str], tier: str
) -> dict[str, object]:
    """The setting of `oversight.agents.standalone.Workflow`: how calls are worded, and where programs run."""
    roles_ = [asdict(role) for role in roles]
    return {"options": tuple(options), "shape": asdict(shape), "roles": roles_, "tier": tier}


def write_file(program: Program, setting: dict[str, object], *, search: str, file: str) -> str:
    """Write a workflow with the setting of its study; see `write_winner`."""
    shown = pformat(setting, width=_WIDTH, sort_dicts=False)
    return _FILE.format(
        columns="the columns id and text" if setting["options"] else "the columns id, text and options",
        file=file if re.fullmatch(r"[\w.-]+", file) else "FILE.py",
        name=_quote(program.name),
        search=_quote(search),
        thought=_quote(program.thought.strip()),
        source=_quote(program.source),
        setting=shown,
    )


def _quote(text: str) -> str:
    """A text as Python quotes it, a line of it a line; nothing in it is code, whatever it says."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return repr(text)
    return "(\n" + "".join(f"    {line!r}\n" for line in lines) + ")"
