"""Write a commented study.toml, a roster and a prompt to start from.

example: oversight init --items notes.csv --classes cardiology,neurology,nephrology
"""

from __future__ import annotations

import argparse

from harness.analysis import begin_study
from harness.cli.conventions import emit
from harness.datasets import PRESETS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight init``."""
    parser.add_argument("--folder", default=".", help="where to write (default: here)")
    parser.add_argument("--name", help="name of the study (default: the folder's)")
    parser.add_argument("--items", help="file with the items")
    parser.add_argument("--classes", help="fixed classes, separated by commas")
    parser.add_argument("--preset", choices=sorted(PRESETS), help="a public benchmark instead")


def run(args: argparse.Namespace) -> int:
    """Write the files that are not there yet; never overwrite one."""
    classes = [c.strip() for c in (args.classes or "").split(",") if c.strip()]
    files = begin_study(args.folder, name=args.name, items=args.items, classes=classes, preset=args.preset)
    written = [str(path) for path in files]
    emit(args, {"written": written}, f"wrote {' and '.join(written)}; next: oversight items check")
    return 0
