"""One way to print: a table for people, or one JSON object for programs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType


def emit(args: argparse.Namespace, payload: Mapping[str, Any], human: RenderableType) -> None:
    """Print `payload` as JSON if ``--json`` was given, else `human` (text or a rich renderable)."""
    if args.json:
        sys.stdout.write(json.dumps(payload, default=_plain, ensure_ascii=False, indent=2) + "\n")
    elif isinstance(human, str):
        sys.stdout.write(human + "\n")
    else:
        from rich.console import Console

        # Without markup: square brackets in an item, a name or a path are what they are. A pipe or
        # a log has no width of its own.
        console = Console(markup=False)
        if not console.is_terminal:
            console = Console(markup=False, width=120)
        console.print(human)


def note(text: str) -> None:
    """Tell a person what goes on, beside the result."""
    sys.stderr.write(text + "\n")


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)
