"""Compute how many questions an interval needs, or which interval a number of questions gives.

examples: oversight plan --width 0.05
          oversight plan --questions 300 --set experts.protocol=targeted
          oversight plan --options 10 --accuracy 0.7 --width 0.03
          oversight plan --options 4 --accuracy 0.8 --models 5 --questions 500

If experts have answered some questions of the study (a pilot), the plan shows for every model how many
questions each of three methods would save: using the votes of all models, using the study's judge, and
sampling items by how models agree. With --options no study is needed: the plan compares protocols at a
guessed accuracy. The number of questions is chosen so that, if the study were repeated, at least 80 % of the
studies would reach the planned half-width, and at least 80 % would detect the planned difference. In Python,
ov.plan also accepts another power, experts' error rates and clusters of items.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oversight.harness.cli.conventions import (
    add_models,
    add_settings,
    add_study,
    emit,
    parse_settings,
    parse_settings_alone,
    refuse_options,
    study_of,
)
from oversight.harness.config import STUDY_FILE
from oversight.harness.errors import BadInput, EstimateError
from oversight.harness.estimate import REACHED, PilotPlan, SamplePlan, plan
from oversight.harness.output import plain_table
from oversight.harness.registry import PROTOCOLS
from oversight.harness.types import level_text

if TYPE_CHECKING:
    from rich.table import Table

    from oversight.harness.config import Study
    from oversight.harness.judges import PricedPlan
    from oversight.harness.store import Store

_NOTE = (
    "80% of studies reach the half-width shown; the expected half-width is in brackets.\n"
    "{power:.0%} of studies detect the difference shown, if one model has this accuracy and the other's is "
    "nearer to 0.5.\n"
    "Savings are relative to the protocol partitioned (first table) and to its sign test on no-answers "
    "(second table).\n"
    "Models are assumed to agree as often as language models do on MMLU-Pro.\n"
    "To see what models' votes, a judge or a pool of items save, run oversight plan in a study's folder."
)
_GUESSES = ("accuracy", "models")
"""Values that are guessed for a plan without a study; a study's answers replace them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight plan``."""
    add_study(parser)
    add = parser.add_argument
    add_models(parser, "with a study: name of a model that was run; may be repeated (default: all models)")
    add("--options", type=int, metavar="K", help="plan without a study: number of options per item")
    add(
        "--accuracy",
        type=float,
        metavar="A",
        help="with --options: guessed accuracy of the models (default: 0.7)",
    )
    add("--models", type=int, metavar="M", help="with --options: number of models to measure (default: 1)")
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--width",
        type=float,
        metavar="H",
        help="half-width of the interval to plan for, reached in 80 %% of studies "
        "(default: 0.03, which is 3 percentage points)",
    )
    size.add_argument(
        "--questions", type=int, metavar="N", help="plan for this number of questions instead of a half-width"
    )
    add_settings(parser, "estimate.level=0.9")


def run(args: argparse.Namespace) -> None:
    """Print the plan for the study, or for guessed values if ``--options`` is given."""
    if args.width is not None and not 0 < args.width < 1:
        raise BadInput(f"--width must be between 0 and 1, is {args.width:g}; 0.03 is 3 points")
    (_plan_study if args.options is None else _plan_anew)(args)


def _plan_study(args: argparse.Namespace) -> None:
    refuse_options(
        args,
        _GUESSES,
        "applies only to a plan without a study (--options K); a study's own answers give this value",
    )
    if args.study == STUDY_FILE and not Path(STUDY_FILE).exists():
        raise BadInput(
            "there is no study.toml here; name one with --study, or plan without a study: --options K"
        )
    from oversight.harness.analysis import plan_study
    from oversight.harness.store import Store

    study = study_of(args)
    with Store(study.store_url) as store:
        made = plan_study(
            store,
            study,
            runs=args.model,
            half_width=args.width,
            questions=args.questions,
        )
        priced = _price(args, store, study, made) if study.costs.is_given else []
    payload = {
        "study": study.study.name,
        "protocol": made.protocol,
        "level": made.aim.level,
        "rows": [asdict(row) for row in made.rows],
    }
    if priced:
        payload["mixes"] = [asdict(row) for row in priced]
    emit(args, payload, [*_lines(study.study.name, made), *_mix_lines(priced)])


def _price(args: argparse.Namespace, store: Store, study: Study, made: PilotPlan) -> list[PricedPlan]:
    """Price the plan and, if the user names no protocol, the plans of other protocols.

    Returns an empty list with ``--questions``.
    """
    from oversight.harness.analysis import plan_study
    from oversight.harness.judges import price_plans

    if args.questions is not None:
        return []
    plans = [made]
    is_named = "experts.protocol" in parse_settings(args.settings)
    for protocol in () if is_named else PROTOCOLS:
        if protocol == made.protocol:
            continue
        experts = study.experts.model_copy(update={"protocol": protocol})
        other = study.model_copy(update={"experts": experts})
        with contextlib.suppress(EstimateError, BadInput):  # leave out a protocol if it cannot be planned
            plans.append(plan_study(store, other, runs=args.model, half_width=args.width))
    pool = store.count_rows("item")["item"]
    return price_plans(plans, study.costs, pool=pool, judges=len(study.judges))


def _mix_lines(priced: Sequence[PricedPlan]) -> list[Any]:
    """Return the cheapest mix of questions for each model, with its cost; empty without prices."""
    from rich.padding import Padding
    from rich.text import Text

    from oversight.harness.judges import mix_sentence

    if not priced:
        return []
    cheapest = [row for row in priced if row.cheapest]
    lines = [Padding(Text(mix_sentence(row)), (0, 0, 0, 2)) for row in cheapest]
    return [Text("Cheapest mix, by the prices under [costs]:"), *lines]


def _lines(name: str, made: PilotPlan) -> list[Any]:
    from rich.padding import Padding
    from rich.text import Text

    lines: list[Any] = [Text(f"{name}: plan for {made.protocol} questions · {level_text(made.aim.level)}")]
    for model in dict.fromkeys(row.model for row in made.rows):
        rows = [row for row in made.rows if row.model == model]
        answers = max(row.answers for row in rows)
        lines.append(Text(f"{model} ({answers} answered items)" if answers else model))
        lines += [Padding(Text(row.sentence), (0, 0, 0, 2)) for row in rows]
    note = "In brackets: approximate intervals, from the answers so far."
    return [*lines, Text(note)] if any(row.low is not None for row in made.rows) else lines


def _plan_anew(args: argparse.Namespace) -> None:
    """Print a plan without a study: one table for the accuracy of a model, one for the difference of two."""
    refuse_options(args, ("model",), "needs a study; leave out --options")
    if args.study != STUDY_FILE:
        raise BadInput("--options is for plans without a study; leave out --study or --options")
    settings = parse_settings_alone(args, {"estimate.level"}, "--options plans without a study")
    level = float(settings.get("estimate.level", 0.95))
    accuracy = 0.7 if args.accuracy is None else args.accuracy
    models = 1 if args.models is None else args.models
    made = plan(
        args.options,
        accuracy,
        models=models,
        half_width=args.width,
        questions=args.questions,
        level=level,
    )
    payload = {
        "options": args.options,
        "accuracy": accuracy,
        "models": models,
        "level": level,
        "power": 0.8,
        "sensitivity": 1.0,
        "specificity": 1.0,
        "half_width_reached_in": REACHED,
        "estimate": [_row(p, "half_width") for p in made.accuracy],
        "compare": [_row(p, "detectable") for p in made.difference],
    }
    emit(args, payload, _tables(payload))


def _row(p: SamplePlan, width_name: str) -> dict[str, Any]:
    row = {"protocol": p.protocol, "questions": p.questions, width_name: p.half_width}
    if p.half_width_expected is not None:
        row["half_width_expected"] = p.half_width_expected
    return row | {"saving": p.saving}


def _tables(payload: dict[str, Any]) -> list[Any]:
    from rich.text import Text

    models = "1 model" if payload["models"] == 1 else f"{payload['models']} models, one set of questions"
    head = f"{payload['options']} options, accuracy near {payload['accuracy']:g}, experts who do not err"
    return [
        Text(f"{_fewest(payload)}\n\nAccuracy of {models} · {head} · {level_text(payload['level'])}"),
        _table(payload["estimate"], "half_width", "half-width"),
        Text(f"\nDifference of 2 models · power {payload['power']:.0%}"),
        _table(payload["compare"], "detectable", "difference"),
        Text("\n" + _NOTE.format(power=payload["power"])),
    ]


def _fewest(payload: dict[str, Any]) -> str:
    """Return a sentence that compares the protocol with the fewest questions to the uniform protocol."""
    rows = {row["protocol"]: row for row in payload["estimate"]}
    best = min(rows.values(), key=lambda row: (row["questions"], row["half_width"]))
    random = rows["uniform"]
    cost = f'{best["questions"]:,} questions with protocol "{_named(best["protocol"])}"'
    plain = f'with "{_named("uniform")}"'
    if best["questions"] < random["questions"]:
        return f"±{best['half_width']:.3f} takes {cost}, {random['questions']:,} {plain}."
    others = f", ±{random['half_width']:.3f} {plain}" if best is not random else ""
    return f"{cost} give ±{best['half_width']:.3f}{others}."


def _named(protocol: str) -> str:
    """Return the name that study.toml uses for a protocol."""
    # The first protocol in `PROTOCOLS` draws uniform options; the second draws the options that models chose.
    uniform, chosen, *_ = PROTOCOLS
    protocol = protocol.replace("shared", chosen).replace("uniform", uniform)
    return protocol.replace("disagreements", "disagreement")


def _table(rows: list[dict[str, Any]], field: str, width_title: str) -> Table:
    table = plain_table()
    table.add_column("protocol", overflow="fold")
    for name in ("questions", width_title, "saving"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        expected = f" ({row['half_width_expected']:.3f})" if "half_width_expected" in row else ""
        size = (f"{row['questions']:,}", f"±{row[field]:.3f}{expected}", f"{row['saving']:.1f}×")
        table.add_row(_named(row["protocol"]), *size)
    return table
