"""A parser whose errors say which option or sub-verb was probably meant."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import NoReturn

from oversight.harness.cli.retired_options import RETIRED, find_replacement
from oversight.harness.output import did_you_mean


class VerbParser(argparse.ArgumentParser):
    """The parser of a verb, and of its sub-verbs."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, with what was probably meant, and exit with 2."""
        super().error(message + self._guess(message))

    def _guess(self, message: str) -> str:
        if found := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message):
            return did_you_mean(found[1], re.findall(r"[^\s',]+", found[2]))
        if found := re.match(r"unrecognized arguments: (--[\w-]+)", message):
            if told := _replaced(self.prog, found[1]):
                return f"; this option is gone: {told}"
            return did_you_mean(found[1], _options(self))
        return ""


def _replaced(prog: str, option: str) -> str:
    """What replaces an option of this verb, or of one of its actions."""
    verb = prog.removeprefix("oversight ")
    names = [name for name in RETIRED if f"{name} ".startswith(f"{verb} ")]
    return next(filter(None, (find_replacement(name, option) for name in names)), "")


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Options of a parser and of its sub-verbs."""
    for action in parser._actions:  # noqa: SLF001  there is no other way to them
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for sub in action.choices.values():
                yield from _options(sub)
