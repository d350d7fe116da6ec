"""Write the page of ``oversight view`` as one HTML file that works offline.

example: oversight report ward.html --open-key key.csv
         oversight report --no-texts
"""

from __future__ import annotations

import argparse
from pathlib import Path

from oversight.harness.analysis import report_study, study_truth
from oversight.harness.cli.conventions import add_key, add_study, emit, study_of
from oversight.harness.errors import BadInput
from oversight.harness.store import Store
from oversight.harness.view import write_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight report``."""
    add_study(parser)
    parser.add_argument(
        "file", nargs="?", default="report.html", help="HTML file to write (default: %(default)s)"
    )
    add_key(parser)
    parser.add_argument(
        "--no-texts", action="store_true", help="omit item texts, replies, comments and prompts"
    )


def run(args: argparse.Namespace) -> None:
    """Write the page and print its path."""
    study, report = study_of(args), None
    if study.is_open:
        raise BadInput("oversight report does not apply to a study of open answers; see: oversight view")
    if Path(args.file).suffix.lower() not in (".html", ".htm"):
        raise BadInput(f"{args.file}: the name of the report must end in .html")
    study.refuse_own_file(args.file)
    with Store(study.store_url) as store:
        store.run_columns.keep([run["id"] for run in store.runs.read_runs()])
        with store.together():
            store.audit.hold_still()  # answers can arrive meanwhile, and all parts of the page must agree
            store.columns.remember()
            if not study.experts.is_panel:
                items = store.content.read_items
                truth = study_truth(study, args.open_key, items()) if args.open_key else None
                report = report_study(store, study, truth=truth)
            path = write_page(study, store, report, args.file, texts=not args.no_texts)
    models = [] if report is None else [m.name for m in report.models]
    emit(args, {"report": str(path), "models": models}, f"wrote {path}")
