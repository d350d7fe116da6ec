"""What a writer of programs is told of them: everything they may use, with examples, and what is refused.

The words stand in ``prompts/guide.txt``. Every example there is a whole program whose calls an item are in
its first line; a test runs each through gate and free run, so that text and code say the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from oversight.agents.programs import PromptFormat, Role
from oversight.agents.search.policies.optimizer import render_template

MOST_ROLES = 24
_ROLE_CHARACTERS = 160


def write_guide(restrictions: str, roles: Sequence[Role], shape: PromptFormat) -> str:
    """Write the guide for a study.

    Parameters
    ----------
    restrictions
        What the sandbox refuses, see `oversight.agents.sandbox.Sandbox.restrictions`.
    roles, shape
        The study's experts, and how it words calls.
    """
    code = render_template("guide_code" if shape.code else "guide_no_code")
    return render_template(
        "guide",
        answers="the option's letter" if shape.answer == "letter" else "the option in its own words",
        roles=_list_roles(roles),
        shape=_describe_shape(shape),
        examples=f"0 to {len(shape.examples)} here" if shape.examples else "of which this study has none",
        code=f"\n{code}\n",
        restrictions=restrictions,
    )


def quote_data(text: str, most: int) -> str:
    """A text of others as data in a prompt: one line in quotes, no longer than `most` characters."""
    quoted = json.dumps(text[:most] + ("…" if len(text) > most else ""), ensure_ascii=False)
    return quoted.replace("`", "'")


def _list_roles(roles: Sequence[Role]) -> str:
    told = [f"{quote_data(r.name, 60)} ({quote_data(r.text, _ROLE_CHARACTERS)})" for r in roles[:MOST_ROLES]]
    more = len(roles) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more > 0 else "") if told else "none"


def _describe_shape(shape: PromptFormat) -> str:
    told = f" A call's reply has {shape.max_tokens:,} tokens at most"
    if shape.field_chars is not None:
        told += f", a free text {shape.field_chars:,} characters"
    if shape.style == "lines":
        told += "; every field is one line that the model completes, and a call for it alone"
    return told + "."
