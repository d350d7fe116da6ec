"""Hold a model against a bar, for continuous integration: pass, fail or undecided, from experts' answers.

examples: oversight gate --at-least 0.8
          oversight gate --not-worse-than baseline --margin 0.02 --model candidate --junit gate.xml
          oversight gate --at-least 0.8 --markdown "$GITHUB_STEP_SUMMARY" --json

exit codes: 0 pass, 1 fail, 3 undecided (and 2, as everywhere: something given is wrong)

Each verdict is wrong with probability at most 5 %, also exactly at the bar, and however often the gate is
asked as answers arrive. A planned look is narrower, valid as the look it is, and recorded: --look 1/1 when
all answers are in, --look 2/5 for the second of five.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from oversight.harness.analysis import Bars, GateReport, gate_study
from oversight.harness.cli.conventions import add_settings, add_study, emit, parse_look, study_of
from oversight.harness.errors import BadInput
from oversight.harness.estimate import FAIL, PASS, UNDECIDED
from oversight.harness.machine import write_whole
from oversight.harness.output import read_text
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
        help="pass if the accuracy is at least this number, such as 0.8",
    )
    add("--not-worse-than", metavar="BASELINE", help="pass if not worse than this model by over --margin")
    add("--margin", type=float, metavar="M", help="what may be lost: 0.02 is 2 points")
    add("--model", action="append", help="model to judge (default: the only one that is not the baseline)")
    add_settings(parser, "estimate.level=0.9")
    add("--look", metavar="J/L", help="this is look J of L planned ones; 1/1 is one look at all answers")
    add("--junit", metavar="FILE", help="write JUnit's XML; undecided is a failure of that type")
    add("--markdown", metavar="FILE", help="write a summary in Markdown, added at the end of a file there is")


def run(args: argparse.Namespace) -> int:
    """Judge, print and write; the exit code is the verdict."""
    bars = Bars(
        at_least=args.at_least,
        baseline=args.not_worse_than,
        margin=args.margin,
        look=parse_look(args.look) if args.look else None,
    )
    report = gate_study(study_of(args), bars, names=args.model)
    _write_files(report, args.junit, args.markdown)
    emit(args, gate_to_json(report), gate_screen(report))
    return EXIT_CODES[report.verdict]


def _write_files(report: GateReport, junit: str | None, markdown: str | None) -> None:
    """Both files, each whole or not at all.

    Raises
    ------
    BadInput
        If the summary that is to be added to cannot be read, or a file cannot be written.
    """
    if junit:
        write_whole(gate_to_junit(report), junit)
    if markdown:
        path = Path(markdown)
        try:
            before = read_text(path) + "\n" if path.is_file() else ""
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"--markdown: {path} cannot be read, to be added to: {error}") from None
        write_whole(before + gate_to_markdown(report), path)
