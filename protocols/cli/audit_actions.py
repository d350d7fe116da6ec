"""``oversight label audit``: write the history of a study's answers as one file that others can check."""

from __future__ import annotations

import argparse

from oversight.harness.analysis import write_bundle
from oversight.harness.cli import emit
from oversight.harness.config import Study
from oversight.harness.output import counted


def export_audit(args: argparse.Namespace, study: Study) -> int:
    """Write the audit, and print its head, which another person should note."""
    done = write_bundle(study, args.file, comments=args.comments)
    counts = {name: done.counts.get(name, 0) for name in ("event", "answer")}
    text = (
        f"{counted(done.lines, 'line')} in {done.path}: {counted(counts['event'], 'event')}, "
        f"{counted(counts['answer'], 'answer')}"
    )
    if done.uncovered:
        text += f", {done.uncovered:,} of them not covered: stored by a version without a trail"
    text += (
        f"\nhead: {done.head}\ngive it to whoever is to check: oversight store verify {done.path} --head HASH"
    )
    payload = {
        "file": str(done.path), "lines": done.lines, "counts": done.counts, "not_covered": done.uncovered,
        "head": done.head, "link": done.link,
    }  # fmt: skip
    emit(args, payload, text)
    return 0
