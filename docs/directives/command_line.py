"""A Sphinx directive that shows the ``--help`` of every command, from the command-line parsers."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from oversight.harness.cli.main import VERBS, make_parser
from oversight.harness.registry import load_module

WIDTH = "88"
"""Characters per line of help text, which a page of the site shows without horizontal scrolling."""


class CommandLine(SphinxDirective):
    """``.. command-line::`` shows the help of all commands and their subcommands."""

    def run(self) -> list[nodes.Node]:
        """Return a section for every command."""
        text = "\n".join(
            part
            for verb, (module, _) in VERBS.items()
            for part in describe(make_parser(verb, load_module(module)), 0)
        )
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def find_actions(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of a command's subcommands."""
    for action in parser._actions:  # noqa: SLF001  there is no other way to them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            yield from dict.fromkeys(action.choices.values())


def describe(parser: argparse.ArgumentParser, depth: int) -> list[str]:
    """Return the text of a command's section, followed by the sections of its subcommands."""
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
