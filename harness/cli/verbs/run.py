"""Ask models about every item; run again to go on after an interruption.

example: oversight run --model small --dry-run
"""

from __future__ import annotations

import argparse
from typing import Any

from harness.cli.conventions import add_study, emit, study_of
from harness.errors import ConfigError
from harness.registry import load_module


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight run``."""
    add = parser.add_argument
    add_study(parser)
    add("--model", action="append", help="name in study.toml [models]; may be repeated")
    add("--workflow", metavar="NAME", help="a workflow of the library (or a .py file) as the model")
    add("--sandbox", default="monty", metavar="TIER", help="monty, cpython or bubblewrap")
    add("--retry-errors", action="store_true", help="ask again where calls failed")
    add("--dry-run", action="store_true", help="send nothing: count calls, tokens, dollars")
    add("--budget-usd", type=float, metavar="X", help="stop before the runs cost more")
    add("--budget-tokens", type=int, metavar="N", help="stop before the runs use more")
    told = "use the Batch API: wait for the answers, look once, or give up what is under way"
    add("--batch", nargs="?", const="wait", choices=["wait", "once", "cancel"], help=told)


def run(args: argparse.Namespace) -> int:
    """Run every model asked for; 1 if any item failed."""
    from harness.analysis import batch_study, forecast_study, give_up_batches, run_study
    from harness.llm import BudgetCaps

    study, again = study_of(args), args.retry_errors
    if args.workflow:
        # Named as a string: nothing here imports upwards.
        results, text = load_module("agents.cli.workflow_run").run(args, study)
        emit(args, {"workflows": results}, text)
        return 1 if any(result["failed"] for result in results.values()) else 0
    if args.dry_run:
        found = forecast_study(study, args.model, retry_failed=again)
        emit(args, {"forecast": found}, "\n".join(str(f) for f in found))
        return 0
    if args.batch and (args.budget_usd is not None or args.budget_tokens is not None):
        raise ConfigError("--batch cannot keep a budget: nothing can be stopped once it is handed over")
    if args.batch == "cancel":
        n = give_up_batches(study, args.model)
        emit(args, {"cancelled": n}, f"{n} batches given up; what they had answered is stored")
        return 0
    if args.batch:
        results = batch_study(study, args.model, wait=args.batch == "wait", retry_failed=again)
    else:
        caps = BudgetCaps(args.budget_usd, args.budget_tokens)
        results = run_study(study, args.model, caps=caps, retry_failed=again)
    emit(args, {"models": results}, "\n".join(describe_run(name, r) for name, r in results.items()))
    return 1 if any(result["failed"] for result in results.values()) else 0


def describe_run(name: str, result: dict[str, Any]) -> str:
    """Say what `summarise_run` counted."""
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
