"""Ask models about every item. After an interruption, run the same command again to continue.

example: oversight run --model small --dry-run
         oversight run --on auto --budget-usd 40     on every node of a Ray cluster
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oversight.harness.cli.conventions import (
    add_models,
    add_shared_terms,
    add_study,
    add_verbose,
    emit,
    read_workers,
    study_of,
)
from oversight.harness.errors import ConfigError
from oversight.harness.output import counted, say
from oversight.harness.registry import load_module
from oversight.harness.types import reading_lines

if TYPE_CHECKING:
    from oversight.harness.config import Study
    from oversight.harness.llm import RunTerms, Workers


_REASONS = {
    "none": "names none of the options",
    "several": "names several options, or contradicts itself",
    "denied": "only says what the answer is not",
    "doubted": "names an option only with doubt, under a condition or in a question",
    "mentioned": "names an option without saying that it is the answer",
    "pattern": "does not match the pattern",
    "": "no reason given",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight run``."""
    add = parser.add_argument
    add_study(parser)
    add_models(parser, "name of a model under [models] in study.toml; may be repeated (default: all models)")
    add(
        "--workflow",
        metavar="NAME",
        help="run a workflow instead of single calls: the name of one in oversight's library, a .py file, a "
        "prompt in a .txt or .md file, or an exported .json file",
    )
    add("--sample", type=int, metavar="N", help="ask only about N randomly drawn items (default: all items)")
    add(
        "--retry-errors",
        action="store_true",
        help="repeat all failed calls (without this option, only calls that the endpoint refused, for "
        "example with HTTP 404, are repeated)",
    )
    add(
        "--dry-run",
        action="store_true",
        help="print the expected calls, tokens and cost without sending requests",
    )
    add("--budget-usd", type=float, metavar="X", help="stop before the total cost exceeds X dollars")
    add("--budget-tokens", type=int, metavar="N", help="stop before the total use exceeds N tokens")
    add("--budget-requests", type=int, metavar="N", help="stop before the total number of calls exceeds N")
    add_verbose(parser)
    add_shared_terms(parser)
    told = "use the Batch API: wait for all answers, check once, or cancel unfinished batches (default: wait)"
    add("--batch", nargs="?", const="wait", choices=["wait", "once", "cancel"], help=told)


def run(args: argparse.Namespace) -> int:
    """Run every requested model. Returns 1 if a model was stopped or an item failed."""
    study = study_of(args)
    if args.sample is not None and args.sample < 1:
        raise ConfigError(f"--sample: give a number of items ≥ 1, not {args.sample}")
    if args.workflow:
        if study.is_open:
            raise ConfigError("--workflow does not apply to open answers: a workflow chooses an option")
        # The module is loaded by name, because this package must not import packages that use it.
        results, text = load_module("oversight.agents.cli.workflow_run").run(args, study)
        emit(args, {"workflows": results}, text)
        return 1 if any(result["failed"] for result in results.values()) else 0
    return _ask(args, study)


def _ask(args: argparse.Namespace, study: Study) -> int:
    from oversight.harness.analysis import Asking, batch_study, forecast_study, give_up_batches, run_study

    asking = Asking(names=args.model, retry_failed=args.retry_errors, sample=args.sample)
    if args.dry_run:
        found = forecast_study(study, asking)
        emit(args, {"forecast": found}, "\n".join(str(f) for f in found))
        return 0
    if args.batch:
        _refuse_with_batch(args)
    if args.batch == "cancel":
        n = give_up_batches(study, args.model, uncertain=args.uncertain, take_over=args.take_over)
        emit(args, {"cancelled": n}, f"{n} batches cancelled; answers that had arrived are stored")
        return 0
    if args.batch:
        results = batch_study(
            study,
            asking,
            wait=args.batch == "wait",
            wait_for_lock=args.wait,
            take_over=args.take_over,
            uncertain=args.uncertain,
        )
    else:
        models = [study.model(name) for name in args.model or study.models]
        with read_workers(args, models) as workers:
            results = run_study(study, asking, terms=_read_terms(args, workers))
    told = [describe_run(name, result) for name, result in results.items()]
    text = "\n".join([head_of_runs(results), *told, tail_of_runs(results)]).rstrip()
    emit(args, {"models": results}, text)
    for name, result in results.items():
        if "stopped" in result:
            say(f"oversight: {name}: {result['stopped']}")
    return 1 if any(result["failed"] or "stopped" in result for result in results.values()) else 0


def _read_terms(args: argparse.Namespace, workers: Workers) -> RunTerms:
    from oversight.harness.llm import RunTerms

    return RunTerms(
        budget_usd=args.budget_usd,
        budget_tokens=args.budget_tokens,
        budget_requests=args.budget_requests,
        wait=args.wait,
        take_over=args.take_over,
        uncertain=args.uncertain or "retry",
        workers=workers,
    )


def _refuse_with_batch(args: argparse.Namespace) -> None:
    if (args.budget_usd, args.budget_tokens, args.budget_requests) != (None, None, None):
        raise ConfigError("--batch cannot have a budget, because submitted requests cannot be stopped")
    if args.on is not None:
        raise ConfigError("--on cannot be combined with --batch, whose requests are sent from this process")


def _kind_words(kind: str) -> str:
    """Describe the kind of an unreadable or failed answer in words."""
    status, _, reason = kind.partition(": ")
    return f"{status}: {_REASONS.get(reason, reason)}"


def head_of_runs(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the output's first line: that all models have answered or, if one has not, what to do next."""
    stopped = [name for name, result in results.items() if "stopped" in result]
    failed = [f"{name} {result['failed']:,}" for name, result in results.items() if result["failed"]]
    if stopped:
        return f"! Stopped before the end: {', '.join(stopped)}. Run the same command again to continue.\n"
    if failed:
        return f"! Calls failed: {', '.join(failed)}. Try them again:  oversight run --retry-errors\n"
    if any(result.get("under_way") for result in results.values()):
        return "Batches are unfinished. Run the same command again later.\n"
    answers, readable = (sum(result[key] for result in results.values()) for key in ("predictions", "ok"))
    models = "The model has" if len(results) == 1 else f"All {len(results)} models have"
    return f"{models} answered: {readable:,} of {counted(answers, 'answer')} readable.\n"


def tail_of_runs(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a line that names the next step; empty if a run failed or stopped, or a batch is unfinished."""
    ended = (
        result["failed"] or "stopped" in result or result.get("under_way") for result in results.values()
    )
    if any(ended):
        return ""
    if any("sample" in result for result in results.values()):
        return "\nNext: look at the answers (oversight view), then oversight run without --sample"
    return "\nNext: oversight label route, or oversight estimate if experts have answered"


def describe_run(name: str, result: dict[str, Any]) -> str:
    """Describe the counts of `summarise_run` in text."""
    said = [
        f"{name}: {counted(result['predictions'], 'answer')}, {result['asked_now']} asked now; "
        f"{result['ok']} readable, {result['unreadable']} unreadable, {result['truncated']} truncated, "
        f"{result['failed']} failed"
    ]
    if sample := result.get("sample"):
        said.append(f"    asked about {sample['items']:,} of {sample['of']:,} items, drawn at random; ")
        said[-1] += "run the same command without --sample to ask about the other items"
    cost = "price unknown" if result["usd"] is None else f"${result['usd']:.4f}"
    said.append(f"    {result['input_tokens']:,} + {result['output_tokens']:,} tokens, {cost}")
    if result["guessed"]:
        said.append(f"    {result['guessed']} answers without reported usage, charged by an estimate")
    if result["over_limit"]:
        said.append(
            f"    {result['over_limit']} answers are longer than max_tokens: the endpoint ignores the "
            "limit; set limit_as to the field in which it expects the limit"
        )
    if result["unfinished"]:
        said.append(
            f"    {result['unfinished']} answers were unfinished when a command ended; each is charged with "
            "its maximum usage"
        )
    if not result.get("confidences", True):
        said.append("    no confidences: logprobs = true, but the endpoint returned no log-probabilities")
    said += [f"    {line}" for line in reading_lines(result["read_by"])]
    said += [f"    {count} × {_kind_words(kind)}" for kind, count in result["kinds"].items()]
    failed = [reason for reason in result["reasons"] if reason.startswith("failed")]
    said += [f"    for example {reason}" for reason in failed[:1]]
    if result.get("under_way"):
        said.append(f"    {result['under_way']} requests are in unfinished batches")
    return "\n".join(said)
