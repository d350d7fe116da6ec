"""The whole chain on bundled case notes: simulated experts, a real local model, no key, no account.

240 case notes go to eight simulated specialists, each asked "is this one for your specialty?". A
small language model on this machine sorts the same notes. Its accuracy is estimated from the yes
and no answers alone; then the sealed key is opened and the truth shown beside the estimates.

example: oversight demo
"""

from __future__ import annotations

import argparse
from pathlib import Path

from oversight.harness.analysis import EstimateOptions
from oversight.harness.cli import emit
from oversight.harness.output import say
from oversight.harness.report import first_screen
from oversight.protocols.demo_study import run_demo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight demo``."""
    parser.add_argument(
        "folder", nargs="?", default="demo", help="where the study goes (default: %(default)s)"
    )
    parser.add_argument("--limit", type=int, help="use only the first so many notes")


def run(args: argparse.Namespace) -> int:
    """Run the chain; interrupted, the same command goes on."""
    folder = Path(args.folder)
    report, page = run_demo(folder, args.limit, tell=say)
    emit(args, {"report": str(page), "study": report}, first_screen(report, EstimateOptions()))
    if not args.json:
        say(f"\nreport: {page}\nstudy:  {folder} (try: cd {folder} && oversight label status)")
    return 0
