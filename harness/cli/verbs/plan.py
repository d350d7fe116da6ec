"""How many questions an interval costs under each protocol, and what a number of questions buys.

examples: oversight plan --options 10 --accuracy 0.7 --width 0.03
          oversight plan --options 4 --accuracy 0.8 --models 5 --questions 500
          oversight plan --options 5 --sensitivity 0.9 --specificity 0.97 --json
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.cli.output import emit
from harness.estimate import SamplePlan, accuracy_variances, difference_variances, make_plan, power_factor

if TYPE_CHECKING:
    from rich.console import Group

_SIGN_TEST = "uniform, sign test"
_NOTE = (
    "Savings: against uniform routing (accuracy) and the sign test on its no-answers (difference).\n"
    "How often models agree is guessed as among language models on MMLU-Pro."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight plan``."""
    parser.add_argument("--options", type=int, required=True, metavar="K", help="options per item")
    parser.add_argument("--accuracy", type=float, default=0.7, metavar="A", help="a guess (default 0.7)")
    parser.add_argument("--models", type=int, default=1, metavar="M", help="models measured (default 1)")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--width", type=float, metavar="H", help="half-width: 0.03 is ±3 points (default)")
    size.add_argument("--questions", type=int, metavar="N", help="questions there is money for")
    parser.add_argument("--level", type=float, default=0.95, help="confidence level (default 0.95)")
    parser.add_argument("--power", type=float, default=0.8, help="to detect a difference (default 0.8)")
    parser.add_argument("--sensitivity", type=float, default=1.0, help="experts' P(yes | it is), default 1")
    parser.add_argument(
        "--specificity", type=float, default=1.0, help="experts' P(no | it is not), default 1"
    )


def run(args: argparse.Namespace) -> int:
    """Print both tables: for an accuracy, and for the difference of two models."""
    payload = plan_payload(args)
    emit(args, payload, _tables(payload))
    return 0


def plan_payload(args: argparse.Namespace) -> dict[str, Any]:
    """Everything that is printed, as plain values.

    Raises
    ------
    EstimateError
        If an argument is out of range, or experts with such rates say nothing.
    """
    rates = {"sensitivity": args.sensitivity, "specificity": args.specificity}
    width = 0.03 if args.width is None and args.questions is None else args.width
    size = {"half_width": width, "questions": args.questions, "level": args.level}
    single = accuracy_variances(args.options, args.accuracy, models=args.models, **rates)
    pair = difference_variances(args.options, args.accuracy, **rates)
    factor = power_factor(args.level, args.power)
    names = ("options", "accuracy", "models", "level", "power", "sensitivity", "specificity")
    return {
        **{name: getattr(args, name) for name in names},
        "estimate": _rows(make_plan(single, **size), "half_width"),
        "compare": _rows(make_plan(pair, factor=factor, reference=_SIGN_TEST, **size), "detectable"),
    }


def _rows(plans: Sequence[SamplePlan], width_name: str) -> list[dict[str, Any]]:
    return [
        {"protocol": p.protocol, "questions": p.questions, width_name: p.half_width, "saving": p.saving}
        for p in plans
    ]


def _tables(payload: dict[str, Any]) -> Group:
    from rich.console import Group
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
    return Group(*tables, _NOTE)
