"""Every verb's ``--help``, from the parsers that read the command line."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from oversight.harness.cli.main import VERBS, make_parser
from oversight.harness.registry import load_module

WIDTH = "88"
"""Characters of a line of help: what a page of the site shows without scrolling."""


class CommandLine(SphinxDirective):
    """``.. command-line::`` shows the help of all verbs and their actions."""

    def run(self) -> list[nodes.Node]:
        """A section for every verb."""
        text = "\n".join(
            part
            for verb, (module, _) in VERBS.items()
            for part in describe(make_parser(verb, load_module(module)), 0)
        )
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def find_actions(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers of a verb's actions."""
    for action in parser._actions:  # noqa: SLF001  there is no other way to them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            yield from dict.fromkeys(action.choices.values())


def describe(parser: argparse.ArgumentParser, depth: int) -> list[str]:
    """The section of a verb, and those of its actions below it."""
    os.environ["COLUMNS"] = WIDTH
    title = parser.prog
    lines = [
        "",
        f".. _{title.replace(' ', '-')}:",
        "",
        title,
        "-~^"[depth] * len(title),
        "",
        ".. code-block:: text",
        "",
    ]
    lines += [f"   {line}".rstrip() for line in parser.format_help().splitlines()]
    return lines + [line for action in find_actions(parser) for line in describe(action, depth + 1)]
