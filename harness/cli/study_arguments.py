"""What several verbs share: naming the study."""

from __future__ import annotations

import argparse

from harness.config import STUDY_FILE, Study, read_study


def add_study(parser: argparse.ArgumentParser) -> None:
    """Add ``--study FILE``."""
    parser.add_argument("--study", default=STUDY_FILE, help="study file (default: %(default)s)")


def study_of(args: argparse.Namespace) -> Study:
    """Read the study file that the command names."""
    return read_study(args.study)
