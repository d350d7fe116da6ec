"""Check this machine, the study in this folder and the endpoints it names.

example: oversight doctor
"""

from __future__ import annotations

import argparse

from oversight.harness.cli.conventions import add_study, emit

_MARKS = {"ok": ("ok", "green"), "missing": ("--", "yellow"), "wrong": ("!!", "red")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight doctor``."""
    add_study(parser)


def run(args: argparse.Namespace) -> int:
    """Run all checks. Returns 1 if something is wrong."""
    from rich.table import Table
    from rich.text import Text

    from oversight.harness.analysis import diagnose

    findings = diagnose(args.study)
    table = Table("", "what", "detail", title="oversight doctor")
    for finding in findings:
        table.add_row(Text(*_MARKS[finding.state]), finding.what, finding.detail)
    emit(args, {"findings": findings}, table)
    return 1 if any(finding.state == "wrong" for finding in findings) else 0
