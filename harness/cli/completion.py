"""``oversight --completion SHELL``: a script that completes verbs, actions and options in a shell.

Examples
--------
::

    oversight --completion bash > ~/.local/share/bash-completion/completions/oversight
    oversight --completion zsh > ~/.zfunc/_oversight        (a folder of fpath)
    oversight --completion fish > ~/.config/fish/completions/oversight.fish
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from oversight.harness.errors import BadInput, ConfigError
from oversight.harness.registry import load_module

SHELLS = ("bash", "zsh", "fish")


def complete(verbs: Mapping[str, tuple[str, str]], shell: str) -> str:
    """Return the completion script for a shell.

    Raises
    ------
    BadInput
        If no script can be written for this shell.
    ConfigError
        If shtab is not installed.
    """
    if shell not in SHELLS:
        raise BadInput(f"--completion: name one of {', '.join(SHELLS)}, not {shell!r}")
    try:
        import shtab
    except ImportError:
        raise ConfigError("--completion needs: pip install shtab") from None
    return str(shtab.complete(make_whole_parser(verbs), shell=shell)) + "\n"


def make_whole_parser(verbs: Mapping[str, tuple[str, str]]) -> argparse.ArgumentParser:
    """Return one parser of all verbs, loading every verb."""
    parser = argparse.ArgumentParser(prog="oversight")
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("--completion", choices=SHELLS, help="print a script for this shell")
    added = parser.add_subparsers(dest="verb")
    for name, (module, text) in verbs.items():
        verb = added.add_parser(name, help=text)
        verb.add_argument("--json", action="store_true", help="print one JSON object instead of text")
        load_module(module).add_arguments(verb)
    return parser
