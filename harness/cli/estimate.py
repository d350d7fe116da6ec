"""Accuracy of every model from the experts' yes and no answers, with its interval.

examples: oversight estimate
          oversight estimate --model small --open-key key.csv
          oversight estimate --counts '{"K": 4, "S_o": 77, "n_o": 120, "S_c": 321, "n_c": 360}'
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from harness.cli.common import add_study, study_of, study_truth
from harness.cli.output import emit
from harness.errors import BadInput
from harness.store.repository import Repository

if TYPE_CHECKING:
    import argparse

    from harness.types import Estimate

_COUNTS = ("K", "S_o", "n_o", "S_c", "n_c")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight estimate``."""
    add_study(parser)
    parser.add_argument("--model", action="append", help="name of a model that was run; may be repeated")
    parser.add_argument("--open-key", metavar="FILE", help="show the truth by this key beside the estimates")
    parser.add_argument(
        "--counts", help="estimate from counts alone: a JSON object with K, S_o, n_o, S_c, n_c"
    )
    parser.add_argument("--interval", default=None, help="kind of interval (default: the study's, exact)")
    parser.add_argument(
        "--level", type=float, default=None, help="confidence level (default: the study's, 0.95)"
    )
    parser.add_argument(
        "--published", action="store_true", help="use the paper's own conventions (with --counts)"
    )


def run(args: argparse.Namespace) -> int:
    """Estimate and print."""
    return _from_counts(args) if args.counts else _from_study(args)


def _from_study(args: argparse.Namespace) -> int:
    from harness.cli.summary import summarise
    from harness.report.table import estimates_table

    study = study_of(args)
    changes = {name: getattr(args, name) for name in ("interval", "level") if getattr(args, name) is not None}
    study = study.model_copy(update={"estimate": study.estimate.model_copy(update=changes)})
    with Repository(study.store_url) as store:
        truth = study_truth(study, args.open_key, store.items()) if args.open_key else None
        report = summarise(store, study, runs=args.model, truth=truth)
    payload = {
        "study": report.name,
        "models": {
            model.name: {
                "run": model.run_id,
                "estimates": {name: plain(e) for name, e in model.estimates.items()},
                "undefined": model.undefined,
                "checks": [asdict(check) for check in model.checks],
                "truth": model.truth,
            }
            for model in report.models
        },
    }
    emit(args, payload, estimates_table(report))
    return 0


def plain(estimate: Estimate) -> dict[str, Any]:
    """Turn an estimate into what JSON can hold, with `estimate` for its value."""
    fields = asdict(estimate)
    return {"estimate": fields.pop("value"), **fields}


def _from_counts(args: argparse.Namespace) -> int:
    from rich.table import Table

    from harness.estimate import estimate_counts
    from harness.report.contents import ESTIMATOR_NAMES
    from harness.report.table import percent

    counts = _read_counts(args.counts)
    estimates = estimate_counts(
        **counts,
        level=args.level or 0.95,
        interval=args.interval or "exact",
        published=args.published,
    )
    table = Table("estimator", "accuracy", "s.e.", "interval", "method", title=f"From counts, {args.counts}")
    for name, e in estimates.items():
        se = "" if e.se is None else percent(e.se)
        interval = f"{percent(e.low)} – {percent(e.high)}"
        table.add_row(
            ESTIMATOR_NAMES.get(name, name), percent(e.value), se, interval, f"{e.interval} {e.level:.0%}"
        )
    emit(args, {name: plain(e) for name, e in estimates.items()}, table)
    return 0


def _read_counts(text: str) -> dict[str, int]:
    try:
        counts = json.loads(text)
    except ValueError as error:
        raise BadInput(f"--counts: not JSON: {error}") from None
    if not isinstance(counts, dict) or set(counts) != set(_COUNTS):
        raise BadInput(f"--counts: give a JSON object with exactly {', '.join(_COUNTS)}")
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadInput(f"--counts: {name} must be a whole number, is {value!r}")
    return counts
