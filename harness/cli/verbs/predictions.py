"""Bring in answers of models that another program ran, make items of its log, or export all answers.

example: oversight predictions import logs/2026-11-21_questions.eval --model gpt-5-mini
"""

from __future__ import annotations

import argparse

from harness.cli.conventions import add_study, emit, study_of
from harness.datasets import READERS
from harness.errors import ConfigError
from harness.output import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight predictions``."""
    add = parser.add_argument
    add("action", choices=["import", "items", "export"])
    add("file", help="the log to read, or for export the .csv, .jsonl or .parquet to write")
    add("--format", choices=list(READERS), help="told by the file's name if left out")
    add("--model", help="import: the name under which the model is estimated")
    add("--out", default="items.jsonl", help="items: the file to write (default: %(default)s)")
    add_study(parser)


def run(args: argparse.Namespace) -> int:
    """Do one of the three."""
    from harness.analysis import export_predictions, import_predictions, write_log_items

    if args.action == "import":
        if not args.model:
            raise ConfigError("give the model a name with --model")
        found = import_predictions(study_of(args), args.file, args.model, args.format)
        counts = ", ".join(f"{n} {status}" for status, n in found.by_status.items())
        text = f"{args.model}: {counted(found.answers, 'answer')} to {counted(found.items, 'item')}; {counts}"
        if found.missing:
            text += f"; {counted(found.missing, 'item')} of the study without one"
        if found.errors:
            noun = "answer ended with an error and counts as a failed prediction"
            if found.errors > 1:
                noun = "answers ended with errors and count as failed predictions"
            text += f"\n    {found.errors} {noun}; for example: {found.error}"
        if found.ended:
            text += f"\n    the log ended before its end ({found.ended}): what it holds was read"
        payload = {"run": found.run, "answers": found.answers, "items": found.items}
        payload |= {"errors": found.errors, "ended": found.ended}
        payload |= {status.value: n for status, n in found.by_status.items()}
        emit(args, payload, text)
    elif args.action == "items":
        n = write_log_items(args.file, args.out, args.format)
        emit(args, {"written": args.out, "items": n}, f"wrote {counted(n, 'item')} to {args.out}")
    else:
        n = export_predictions(study_of(args), args.file)
        emit(args, {"written": args.file, "rows": n}, f"wrote {counted(n, 'answer')} to {args.file}")
    return 0
