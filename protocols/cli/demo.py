"""Run a complete example study on bundled case notes, with simulated experts and a local model.

The demo needs no API key and no account. Eight simulated specialists receive 240 case notes and answer
whether a note belongs to their specialty. A small language model on this machine classifies the same notes.
Its accuracy is estimated from the yes/no answers alone. Then the sealed key is opened, and the true accuracy
is shown beside the estimates.

With --open the model answers questions in text, and experts judge the criteria of their own fields.

example: oversight demo
         oversight demo --open
"""

from __future__ import annotations

import argparse
from pathlib import Path

from oversight.harness.analysis import EstimateOptions
from oversight.harness.cli import emit
from oversight.harness.output import say
from oversight.harness.report import first_screen
from oversight.harness.types import percent
from oversight.protocols.demo_study import run_demo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight demo``."""
    parser.add_argument(
        "folder", nargs="?", default="demo", help="folder to write the study to (default: %(default)s)"
    )
    parser.add_argument(
        "--limit", type=int, help="use only the first LIMIT notes or questions (default: all)"
    )
    told = (
        "run the demo of open answers: 40 questions, answered in text by the local model and by three models "
        "whose answers come with the data"
    )
    parser.add_argument("--open", action="store_true", help=told)


def run(args: argparse.Namespace) -> None:
    """Run the demo, or continue an interrupted one."""
    (_run_open if args.open else _run_choices)(args, Path(args.folder))


def _run_choices(args: argparse.Namespace, folder: Path) -> None:
    report, page = run_demo(folder, args.limit, tell=say)
    emit(args, {"report": str(page), "study": report}, first_screen(report, EstimateOptions()))
    if not args.json:
        say(f"\nreport: {page}\nstudy:  {folder} (try: cd {folder} && oversight label status)")


def _run_open(args: argparse.Namespace, folder: Path) -> None:
    from rich.text import Text

    from oversight.harness.open_answers import estimate_study, result_to_json, result_to_text
    from oversight.protocols.open_demo import run_open_demo

    study, judged, truth = run_open_demo(folder, args.limit, tell=say)
    result = estimate_study(study, judged)
    told = ", ".join(f"{model} {percent(score)}" for model, score in truth.items())
    emit(
        args,
        {"study": result_to_json(result, judged), "truth": truth},
        [*result_to_text(result, judged), Text(f"true scores, from the key file: {told}")],
    )
    if not args.json:
        say(f"\nstudy:  {folder} (try: cd {folder} && oversight view)")
