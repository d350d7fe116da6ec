"""Measure a study's judges: accuracy, questions saved, and on which items their calibration holds.

examples: oversight judge
          oversight judge --against ../last-month/study.toml --margin 0.1
          oversight judge --by subject
          oversight judge import probabilities.csv --judge small
          oversight judge ask --url https://host --type choice --judge decide

`report` measures the judges. `import` stores the probability of every option from a file. `ask` sends the
items to an endpoint that answers POST /v1/systemone. All measures are computed from experts' answers,
weighted by their propensities; a judge's probabilities never count as the truth. --json also prints the
results per class and the calibration curve.

exit codes: 0 done, 1 the tested calibration fails, 2 the input is wrong, 3 the test is undecided
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from oversight.harness.cli.conventions import add_models, add_study, emit, study_of
from oversight.harness.config import Study, read_study
from oversight.harness.errors import BadInput
from oversight.harness.judges import (
    KINDS,
    JudgeQuestion,
    ask_judge,
    import_probabilities,
    report_judges,
    report_lines,
    report_to_json,
    transport_verdict,
)
from oversight.harness.output import counted

_CODES = {"pass": 0, "fail": 1, "undecided": 3}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight judge``."""
    add = parser.add_argument
    add("action", nargs="?", choices=["report", "import", "ask"], default="report", help="default: report")
    add(
        "file",
        nargs="?",
        help="for `import`: CSV, JSON Lines or Parquet file with the column 'item' and the probabilities of "
        "all options",
    )
    add_study(parser)
    add(
        "--judge", action="append", help="name of a judge; may be repeated (default: all judges of the study)"
    )
    told = "name of a model whose accuracy is estimated with the judges; may be repeated (default: all)"
    add_models(parser, told)
    add(
        "--against",
        metavar="STUDY",
        help="study file of an earlier study; tests whether its judge calibration holds in the current study",
    )
    add(
        "--by",
        metavar="COLUMN",
        help="test the calibration for each value of this item column, or, with 'model', for each model",
    )
    add(
        "--margin",
        type=float,
        default=0.1,
        help="largest calibration gap at which a judge passes (default: %(default)s)",
    )
    add("--level", type=float, help="confidence level (default: the level set in the study)")
    add("--url", help="for `ask`: URL of the endpoint, or its name under [endpoints] in study.toml")
    add("--type", choices=KINDS, help="for `ask`: type of the questions (default: choice)")


def run(args: argparse.Namespace) -> int:
    """Measure the judges, import their probabilities, or ask a judge about the items."""
    if args.action in ("import", "ask"):
        (_import if args.action == "import" else _ask)(args)
        return 0
    if args.file or args.url or args.type:
        raise BadInput(
            "`report` takes no file, --url or --type: a file is for `import`, and --url and --type are for "
            "`ask`"
        )
    if not 0 < args.margin < 1:
        raise BadInput(
            f"--margin: must be between 0 and 1, such as 0.1 for 10 percentage points, is {args.margin:g}"
        )
    return _report(args)


def _report(args: argparse.Namespace) -> int:
    from oversight.harness.store import Store

    study = study_of(args)
    asked = JudgeQuestion(
        judges=args.judge,
        models=args.model,
        against=read_study(args.against) if args.against else None,
        by=args.by,
        margin=args.margin,
        level=args.level,
    )
    with Store(study.store_url) as store:
        report = report_judges(store, study, asked)
    emit(args, report_to_json(report), report_lines(report))
    if not (args.against or args.by):
        return 0
    names = [one.name for one in report.judges]
    return max((_CODES[transport_verdict(report.transport, name)] for name in names), default=3)


def _only_judge(args: argparse.Namespace) -> str:
    if len(args.judge or ()) != 1:
        raise BadInput(f"{args.action}: name exactly one judge with --judge")
    return str(args.judge[0])


def _next(study: Study, name: str) -> str:
    return "" if name in study.judges else f'; next, in study.toml under [models]: judge = "{name}"'


def _import(args: argparse.Namespace) -> None:
    if not args.file:
        raise BadInput("import: give a file with the probability of every option")
    study = study_of(args)
    made = import_probabilities(study, args.file, _only_judge(args))
    text = f"{made.name}: probabilities of {counted(made.items, 'item')}"
    if made.missing:
        text += f"; none for {counted(made.missing, 'item')} of the study"
    emit(args, asdict(made), text + _next(study, made.name))


def _ask(args: argparse.Namespace) -> None:
    if not args.url or args.file:
        raise BadInput("ask: give the endpoint with --url, and no file")
    study, name = study_of(args), _only_judge(args)
    models = args.model or [name]
    made = ask_judge(study, args.url, models[0], name, args.type or KINDS[0])
    text = f"{made.name}: probabilities of {counted(made.items, 'item')}, {made.asked} of them asked now"
    emit(args, asdict(made), text + _next(study, made.name))
