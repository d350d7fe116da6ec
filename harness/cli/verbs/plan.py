"""How many questions an interval costs under each protocol, and what a number of questions buys.

examples: oversight plan --options 10 --accuracy 0.7 --width 0.03
          oversight plan --options 4 --accuracy 0.8 --models 5 --questions 500
          oversight plan --options 5 --sensitivity 0.9 --specificity 0.97 --json
          oversight plan --options 4 --cluster-size 5 --intraclass 0.4

Items in clusters count for fewer: questions are multiplied by 1 + (M − 1)·R.
"""

from __future__ import annotations

import argparse
from typing import Any

from harness.cli.conventions import emit
from harness.errors import BadInput
from harness.estimate import SamplePlan, check_least, check_unit, plan

_NOTE = (
    "Savings: against uniform routing (accuracy) and the sign test on its no-answers (difference).\n"
    "How often models agree is guessed as among language models on MMLU-Pro."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight plan``."""
    add = parser.add_argument
    add("--options", type=int, required=True, metavar="K", help="options per item")
    add("--accuracy", type=float, default=0.7, metavar="A", help="a guess (default 0.7)")
    add("--models", type=int, default=1, metavar="M", help="models measured (default 1)")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--width", type=float, metavar="H", help="half-width: 0.03 is ±3 points (default)")
    size.add_argument("--questions", type=int, metavar="N", help="questions there is money for")
    add("--level", type=float, default=0.95, help="confidence level (default 0.95)")
    add("--power", type=float, default=0.8, help="to detect a difference (default 0.8)")
    add("--sensitivity", type=float, default=1.0, help="experts' P(yes | it is), default 1")
    add("--specificity", type=float, default=1.0, help="experts' P(no | it is not), default 1")
    add("--cluster-size", type=float, default=1.0, metavar="M", help="items a cluster, such as a patient's")
    add("--intraclass", type=float, default=0.3, metavar="R", help="correlation within one (default 0.3)")


def run(args: argparse.Namespace) -> int:
    """Print both tables: for an accuracy, and for the difference of two models."""
    check_least("--cluster-size", args.cluster_size, 1)
    check_unit("--intraclass", args.intraclass)
    if args.width is not None and not 0 < args.width < 1:
        raise BadInput(f"--width must lie in (0, 1), is {args.width:g}: 0.03 is ±3 points")
    made = plan(
        args.options,
        args.accuracy,
        models=args.models,
        half_width=args.width,
        questions=args.questions,
        level=args.level,
        power=args.power,
        sensitivity=args.sensitivity,
        specificity=args.specificity,
        cluster_size=args.cluster_size,
        intraclass=args.intraclass,
    )
    names = ["options", "accuracy", "models", "level", "power", "sensitivity", "specificity"]
    names += ["cluster_size", "intraclass"] if args.cluster_size > 1 and args.intraclass > 0 else []
    payload = {
        **{name: getattr(args, name) for name in names},
        "estimate": [_row(p, "half_width") for p in made.accuracy],
        "compare": [_row(p, "detectable") for p in made.difference],
    }
    emit(args, payload, _tables(payload))
    return 0


def _row(p: SamplePlan, width_name: str) -> dict[str, Any]:
    return {"protocol": p.protocol, "questions": p.questions, width_name: p.half_width, "saving": p.saving}


def _tables(payload: dict[str, Any]) -> list[Any]:
    from rich.table import Table

    models = "1 model" if payload["models"] == 1 else f"{payload['models']} models, one set of questions"
    experts = f"experts {payload['sensitivity']:g}/{payload['specificity']:g}"
    head = f"{payload['options']} options, accuracy near {payload['accuracy']:g}, {experts}"
    titles = {
        "estimate": (f"Accuracy of {models} · {head} · {payload['level']:.0%}", "half_width", "half-width"),
        "compare": (f"Difference of 2 models · power {payload['power']:.0%}", "detectable", "difference"),
    }
    tables = []
    for key, (title, field, width_title) in titles.items():
        table = Table("protocol", title=title, title_justify="left")
        for name in ("questions", width_title, "saving"):
            table.add_column(name, justify="right")
        for row in payload[key]:
            size = (f"{row['questions']:,}", f"±{row[field]:.3f}", f"{row['saving']:.1f}×")
            table.add_row(row["protocol"], *size)
        tables.append(table)
    return [*tables, _NOTE]
