"""Ask models about every item; run again to go on after an interruption.

example: oversight run --model small --dry-run
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING, Any

from harness.analysis import stream_items, system_of, template_of
from harness.cli.output import emit
from harness.cli.study_arguments import add_study, study_of
from harness.config import Study
from harness.errors import ConfigError
from harness.registry import load_module
from harness.store import Store
from harness.types import PredictionStatus

if TYPE_CHECKING:
    from harness.llm import PriceTable, Target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight run``."""
    add_study(parser)
    parser.add_argument("--model", action="append", help="name in study.toml [models]; may be repeated")
    parser.add_argument(
        "--workflow", metavar="NAME", help="a workflow of the library (or a .py file) as the model"
    )
    parser.add_argument("--sandbox", default="monty", metavar="TIER", help="monty, cpython or bubblewrap")
    parser.add_argument("--retry-errors", action="store_true", help="ask again where calls failed")
    parser.add_argument("--dry-run", action="store_true", help="send nothing: count calls, tokens, dollars")
    parser.add_argument("--budget-usd", type=float, metavar="X", help="stop before the runs cost more")
    parser.add_argument("--budget-tokens", type=int, metavar="N", help="stop before the runs use more")
    parser.add_argument(
        "--batch",
        nargs="?",
        const="wait",
        choices=["wait", "once", "cancel"],
        help="use the Batch API: wait for the answers, look once, or give up what is under way",
    )


def run(args: argparse.Namespace) -> int:
    """Run every model asked for; 1 if any item failed."""
    from harness.analysis import study_prices

    study = study_of(args)
    if args.workflow:
        # Named as a string: nothing here imports upwards.
        results, text = load_module("agents.cli.workflow_run").run(args, study)
        emit(args, {"workflows": results}, text)
        return 1 if any(result["failed"] for result in results.values()) else 0
    targets = study_targets(study, args.model)
    prices = study_prices(study)
    with Store(study.store_url) as store:
        ids = store.content.add_items(stream_items(study))
        if args.dry_run:
            return _dry_run(args, store, ids, targets, prices)
        if args.batch:
            return _batch(args, store, ids, targets, prices)
        from harness.llm import BudgetCaps, run_targets

        limits = BudgetCaps(args.budget_usd, args.budget_tokens)
        outcomes = run_targets(
            store, ids, targets, prices=prices, limits=limits, retry_failed=args.retry_errors
        )
        results = {o.target.spec.name: summary(store, o.target, o.asked) for o in outcomes}
    emit(args, {"models": results}, "\n".join(lines(name, r) for name, r in results.items()))
    return 1 if any(result["failed"] for result in results.values()) else 0


def study_targets(study: Study, names: list[str] | None) -> list[Target]:
    """Collect what to run: the models of study.toml that are named, or all.

    Raises
    ------
    ConfigError
        If study.toml names no model, or not this one; if the prompt cannot be filled in.
    """
    from harness.llm import Target, make_spec

    if not study.models:
        raise ConfigError("study.toml names no model; add a [models.NAME] section")
    template, system, words = template_of(study), system_of(study), study.prompt.max_words
    settings = {name: study.model(name) for name in dict.fromkeys(names or study.models)}
    return [Target(make_spec(name, s, template, words, system), s) for name, s in settings.items()]


def _dry_run(
    args: argparse.Namespace, store: Store, ids: list[str], targets: list[Target], prices: PriceTable
) -> int:
    from harness.llm import forecast

    found = [forecast(store, ids, t, prices, retry_failed=args.retry_errors) for t in targets]
    emit(args, {"forecast": found}, "\n".join(str(f) for f in found))
    return 0


def _batch(
    args: argparse.Namespace, store: Store, ids: list[str], targets: list[Target], prices: PriceTable
) -> int:
    from harness.llm import cancel_batches, run_batches

    if args.budget_usd is not None or args.budget_tokens is not None:
        raise ConfigError("--batch cannot keep a budget: nothing can be stopped once it is handed over")
    if args.batch == "cancel":
        n = cancel_batches(store, targets)
        emit(args, {"cancelled": n}, f"{n} batches given up; what they had answered is stored")
        return 0
    waiting = run_batches(
        store, ids, targets, prices=prices, wait=args.batch == "wait", retry_failed=args.retry_errors
    )
    results = {t.spec.name: summary(store, t, 0) | {"under_way": n} for t, n in waiting}
    emit(args, {"models": results}, "\n".join(lines(name, r) for name, r in results.items()))
    return 1 if any(result["failed"] for result in results.values()) else 0


def summary(store: Store, target: Target, asked: int) -> dict[str, Any]:
    """Count what a run has so far, by status and kind."""
    from harness.llm import dollars

    by_status: Counter[PredictionStatus] = Counter()
    by_kind: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    sent = received = 0
    for p in store.runs.read_samples(target.spec.id):
        by_status[p.status] += 1
        sent, received = sent + p.input_tokens, received + p.output_tokens
        if p.reason:
            by_kind[f"{p.status}: {p.kind}"] += 1
            if p.reason in reasons or len(reasons) < 100:
                reasons[f"{p.status}: {p.reason}"] += 1
    price = target.price
    return {
        "run": target.spec.id,
        "model": target.spec.model,
        "predictions": by_status.total(),
        "asked_now": asked,
        "ok": by_status[PredictionStatus.OK],
        "unreadable": by_status[PredictionStatus.UNREADABLE],
        "truncated": by_status[PredictionStatus.TRUNCATED],
        "failed": by_status[PredictionStatus.FAILED],
        "kinds": dict(by_kind.most_common()),
        "reasons": dict(reasons.most_common(10)),
        "input_tokens": sent,
        "output_tokens": received,
        "usd": None if price is None else dollars(price, store.runs.sum_usage(target.spec.id)),
    }


def lines(name: str, result: dict[str, Any]) -> str:
    """Say what `summary` counted."""
    said = [
        f"{name}: {result['predictions']} answers, {result['asked_now']} asked now; {result['ok']} readable, "
        f"{result['unreadable']} unreadable, {result['truncated']} truncated, {result['failed']} failed"
    ]
    cost = "price unknown" if result["usd"] is None else f"${result['usd']:.4f}"
    said.append(f"    {result['input_tokens']:,} + {result['output_tokens']:,} tokens, {cost}")
    said += [f"    {count} × {kind}" for kind, count in result["kinds"].items()]
    if result["failed"]:
        last = next(r for r in result["reasons"] if r.startswith("failed"))
        said += [f"    for example {last}", "    try these again with: oversight run --retry-errors"]
    if result.get("under_way"):
        said.append(f"    {result['under_way']} requests are in batches under way")
    return "\n".join(said)
