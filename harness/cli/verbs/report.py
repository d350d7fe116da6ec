"""Write the study's report as one HTML page that needs no network.

example: oversight report --out report.html
"""

from __future__ import annotations

import argparse

from harness.analysis import report_study, study_truth
from harness.cli.conventions import add_study, emit, study_of
from harness.report import write_html
from harness.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight report``."""
    add_study(parser)
    parser.add_argument("--out", default="report.html", help="default: %(default)s")
    parser.add_argument("--model", action="append", help="name of a model that was run; may be repeated")
    parser.add_argument("--open-key", metavar="FILE", help="show the truth by this key beside the estimates")


def run(args: argparse.Namespace) -> int:
    """Write the page and name it."""
    study = study_of(args)
    with Store(study.store_url) as store:
        truth = study_truth(study, args.open_key, store.content.read_items()) if args.open_key else None
        report = report_study(store, study, runs=args.model, truth=truth, curve=True)
    path = write_html(report, args.out)
    emit(args, {"report": str(path), "models": [m.name for m in report.models]}, f"wrote {path}")
    return 0
