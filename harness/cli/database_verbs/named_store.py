"""The line of study.toml that names the database."""

from __future__ import annotations

import json
import re
import tomllib
from contextlib import suppress

from oversight.harness.errors import BadInput


def name_store(text: str, store: str) -> str:
    r"""The text of a study.toml that names another database, all else unchanged.

    Raises
    ------
    BadInput
        If the file has no such place.

    Examples
    --------
    >>> print(name_store('[study]\nname = "a"  # mine\n', "b.db"))
    [study]
    store = "b.db"
    name = "a"  # mine
    <BLANKLINE>
    """
    line = f"store = {json.dumps(store, ensure_ascii=False)}"
    head = re.search(r"^[ \t]*\[[ \t]*study[ \t]*\][^\n]*\n?", text, re.MULTILINE)
    if head is not None:
        end = re.compile(r"^[ \t]*\[", re.MULTILINE).search(text, head.end())
        section = text[head.end() : end.start() if end else len(text)]
        rest = text[head.end() + len(section) :]
        named = re.compile(r"""^[ \t]*store[ \t]*=[ \t]*(?:"[^"\n]*"|'[^'\n]*')""", re.MULTILINE)
        changed, number = named.subn(lambda _: line, section)
        changed = changed if number else f"{line}\n{section}"
        begin = text[: head.end()] + ("" if head[0].endswith("\n") else "\n")
        made = begin + changed + rest
        with suppress(ValueError):  # no TOML any more, as after a value with "#" in it
            if tomllib.loads(made)["study"]["store"] == store:
                return made
    raise BadInput(
        f"study.toml: write this under [study] by hand, then use store copy and store adopt: {line}"
    )
