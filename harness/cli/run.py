"""Ask models about every item; run again to go on after an interruption.

example: oversight run --model small
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from harness.cli.common import add_study, study_items, study_of
from harness.cli.main import load
from harness.cli.output import emit
from harness.cli.prompts import template_of
from harness.errors import ConfigError
from harness.store.repository import Repository
from harness.types import Prediction, PredictionStatus

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from harness.config import RunSpec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight run``."""
    add_study(parser)
    parser.add_argument("--model", action="append", help="name in study.toml [models]; may be repeated")
    parser.add_argument(
        "--workflow", metavar="NAME", help="a workflow of the library (or a .py file) as the model"
    )
    parser.add_argument("--sandbox", default="monty", metavar="TIER", help="monty, cpython or bubblewrap")
    parser.add_argument("--retry-failed", action="store_true", help="ask again where the calls failed")


def run(args: argparse.Namespace) -> int:
    """Run every model asked for; 1 if any item failed."""
    from harness.llm.run import ask_model, make_spec

    study = study_of(args)
    if args.workflow:
        # Named as a string: nothing here imports upwards.
        results, text = load("agents.run_cli").run(args, study)
        emit(args, {"workflows": results}, text)
        return 1 if any(result["failed"] for result in results.values()) else 0
    if not study.models:
        raise ConfigError("study.toml names no model; add a [models.NAME] section")
    names = args.model or list(study.models)
    template, words = template_of(study), study.prompt.max_words
    specs = {name: make_spec(name, study.model(name), template, words) for name in names}
    items = study_items(study)
    results = {}
    with Repository(study.store_url) as store:
        store.add_items(items)
        for name, spec in specs.items():
            asked = ask_model(store, items, spec, study.model(name), retry_failed=args.retry_failed)
            results[name] = _summary(spec, store.predictions(spec.id), asked)
    emit(args, {"models": results}, "\n".join(_lines(name, r) for name, r in results.items()))
    return 1 if any(result["failed"] for result in results.values()) else 0


def _summary(spec: RunSpec, predictions: Sequence[Prediction], asked: int) -> dict[str, Any]:
    by_status = Counter(p.status for p in predictions)
    reasons = Counter(f"{p.status}: {p.reason}" for p in predictions if p.reason)
    return {
        "run": spec.id,
        "model": spec.model,
        "predictions": len(predictions),
        "asked_now": asked,
        "ok": by_status[PredictionStatus.OK],
        "unreadable": by_status[PredictionStatus.UNREADABLE],
        "failed": by_status[PredictionStatus.FAILED],
        "reasons": dict(reasons.most_common(10)),
        "input_tokens": sum(p.input_tokens for p in predictions),
        "output_tokens": sum(p.output_tokens for p in predictions),
    }


def _lines(name: str, result: dict[str, Any]) -> str:
    lines = [
        f"{name}: {result['predictions']} answers, {result['asked_now']} asked now; {result['ok']} readable, "
        f"{result['unreadable']} unreadable, {result['failed']} failed"
    ]
    lines += [f"    {count} × {reason}" for reason, count in result["reasons"].items()]
    if result["failed"]:
        lines.append("    try the failed ones again with: oversight run --retry-failed")
    return "\n".join(lines)
