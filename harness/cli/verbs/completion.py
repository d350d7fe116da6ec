"""Print a script that completes verbs, sub-verbs and options in a shell.

examples: oversight completion bash > ~/.local/share/bash-completion/completions/oversight
          oversight completion zsh > ~/.zfunc/_oversight        (a folder of fpath)
          oversight completion fish > ~/.config/fish/completions/oversight.fish
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from oversight.harness.errors import ConfigError
from oversight.harness.registry import load_module

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the argument of ``oversight completion``."""
    parser.add_argument("shell", choices=SHELLS)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab
    except ImportError:
        raise ConfigError("completion needs: pip install shtab") from None
    # Loaded by its name, as it loads this module.
    verbs: Mapping[str, tuple[str, str]] = load_module("oversight.harness.cli.main").VERBS
    sys.stdout.write(shtab.complete(make_whole_parser(verbs), shell=args.shell) + "\n")
    return 0


def make_whole_parser(verbs: Mapping[str, tuple[str, str]]) -> argparse.ArgumentParser:
    """One parser of all verbs, which are loaded for it."""
    parser = argparse.ArgumentParser(prog="oversight")
    parser.add_argument("--version", action="store_true", help="print the version")
    added = parser.add_subparsers(dest="verb")
    for name, (module, text) in verbs.items():
        verb = added.add_parser(name, help=text)
        verb.add_argument("--json", action="store_true", help="print one JSON object instead of text")
        load_module(module).add_arguments(verb)
    return parser
