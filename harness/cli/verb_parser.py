"""A parser whose errors suggest the option or sub-verb that was probably meant."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from oversight.harness.cli.retired_options import find_replacement
from oversight.harness.output import did_you_mean


class VerbParser(argparse.ArgumentParser):
    """The parser of a verb and of its sub-verbs."""

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse all arguments; an unknown option ends the program, as `error` does."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            action = getattr(found, "action", None) or getattr(found, "verb", None) or ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._replace(str(action), unknown[0])}")
        return found

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message with a suggestion, and exit with code 2."""
        found = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message)
        meant = did_you_mean(found[1], re.findall(r"[^\s',]+", found[2])) if found else ""
        super().error(message + meant)

    def _replace(self, action: str, option: str) -> str:
        """Return the replacement of an option that this action does not have."""
        verb, option = self.prog.removeprefix("oversight "), option.partition("=")[0]
        told = find_replacement(f"{verb} {action}", option) or find_replacement(verb, option)
        return f"; this option was removed: {told}" if told else did_you_mean(option, _options(self))


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the options of a parser and of its sub-verbs."""
    for action in parser._actions:  # noqa: SLF001  argparse offers no public access
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for sub in action.choices.values():
                yield from _options(sub)
