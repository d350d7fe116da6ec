"""``oversight label audit``: all that happened to a study's answers, as one file for others to check."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from oversight.harness.analysis import write_bundle
from oversight.harness.cli import emit
from oversight.harness.config import Study
from oversight.harness.output import counted


def export_audit(args: argparse.Namespace, study: Study) -> None:
    """Write the audit, and print its head, which somebody else has to note."""
    done = write_bundle(study, args.file, comments=args.comments)
    counts = {name: done.counts.get(name, 0) for name in ("event", "answer")}
    text = (
        f"{counted(done.lines, 'line')} in {done.file}: {counted(counts['event'], 'event')}, "
        f"{counted(counts['answer'], 'answer')}"
    )
    if done.not_covered:
        text += f", {done.not_covered:,} of them not covered: stored by a version without a trail"
    text += (
        f"\nhead: {done.head}\ngive it to whoever is to check: oversight store verify {done.file} --head HASH"
    )
    emit(args, asdict(done), text)
