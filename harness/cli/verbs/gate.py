"""Test in continuous integration whether a model meets a requirement, from experts' answers.

examples: oversight gate --at-least 0.8
          oversight gate --not-worse-than baseline --margin 0.02 --model candidate --junit gate.xml
          oversight gate --at-least 0.8 --markdown "$GITHUB_STEP_SUMMARY" --json

exit codes: 0 pass, 1 fail, 2 the input is wrong, 3 undecided

Each verdict is wrong with probability at most 5 %, even if the accuracy equals the required one, and even if
the gate runs repeatedly while answers arrive. With --look the interval is narrower, but it is valid only for
that planned analysis, which is recorded. Use --look 1/1 for one analysis of all answers, and --look 2/5 for
the second of five.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from oversight.harness.analysis import Bars, GateReport, gate_study
from oversight.harness.cli.conventions import add_models, add_settings, add_study, emit, parse_look, study_of
from oversight.harness.errors import BadInput
from oversight.harness.estimate import FAIL, PASS, UNDECIDED
from oversight.harness.output import read_text
from oversight.harness.platform import write_whole
from oversight.harness.report import gate_screen, gate_to_json, gate_to_junit, gate_to_markdown

EXIT_CODES = {PASS: 0, FAIL: 1, UNDECIDED: 3}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight gate``."""
    add_study(parser)
    add = parser.add_argument
    add(
        "--at-least",
        type=float,
        metavar="A",
        help="pass if the accuracy, or the score of open answers, is at least this number, for example 0.8",
    )
    add(
        "--not-worse-than",
        metavar="BASELINE",
        help="pass if the model is at most --margin worse than this baseline model",
    )
    add(
        "--margin",
        type=float,
        metavar="M",
        help="with --not-worse-than: largest accepted loss of accuracy; 0.02 means 2 percentage points",
    )
    add_models(parser, "name of the model to test (default: the only model that is not the baseline)")
    add_settings(parser, "estimate.level=0.9")
    add(
        "--look",
        metavar="J/L",
        help="run interim analysis J of L planned analyses; 1/1 is a single analysis of all answers",
    )
    add(
        "--junit",
        metavar="FILE",
        help='write a JUnit XML report; an undecided gate is written as a failure of type "undecided"',
    )
    add("--markdown", metavar="FILE", help="write a Markdown summary; append if the file exists")


def run(args: argparse.Namespace) -> int:
    """Compare the models with the requirement, and print the verdict. Returns the verdict's exit code."""
    bars = Bars(
        at_least=args.at_least,
        baseline=args.not_worse_than,
        margin=args.margin,
        look=parse_look(args.look) if args.look else None,
    )
    study = study_of(args)
    if study.is_open:
        # Import this here, because the import is slow.
        from oversight.harness.open_answers import gate_open_study

        report = gate_open_study(study, bars, names=args.model)
    else:
        report = gate_study(study, bars, names=args.model)
    _write_files(report, args.junit, args.markdown)
    emit(args, gate_to_json(report), gate_screen(report))
    return EXIT_CODES[report.verdict]


def _write_files(report: GateReport, junit: str | None, markdown: str | None) -> None:
    """Write the JUnit file and the Markdown summary atomically, each if its path is given.

    Raises
    ------
    BadInput
        If the existing summary cannot be read, or a file cannot be written.
    """
    if junit:
        write_whole(gate_to_junit(report), junit)
    if markdown:
        path = Path(markdown)
        try:
            before = read_text(path) + "\n" if path.is_file() else ""
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(
                f"--markdown: {path} cannot be read, so nothing can be appended: {error}"
            ) from None
        write_whole(before + gate_to_markdown(report), path)
