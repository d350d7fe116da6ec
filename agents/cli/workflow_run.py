"""``oversight run --workflow``; `oversight.harness.cli.verbs.run` loads this module by name."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from oversight.agents.programs import load_program, read_workflow_settings
from oversight.agents.runtime import WorkflowPlan, charge_before, rehearse, run_workflow
from oversight.agents.standalone import Workflow
from oversight.harness import ConfigError, DataError
from oversight.harness.analysis import study_items, study_prices, summarise_run, take_sample
from oversight.harness.cli import describe_run, head_of_runs, read_workers, tail_of_runs
from oversight.harness.config import Study
from oversight.harness.llm import Budget, RunTerms
from oversight.harness.output import say
from oversight.harness.store import ERASED, Store, refuse_mark
from oversight.harness.types import Item


def run(args: argparse.Namespace, study: Study) -> tuple[dict[str, Any], str]:
    """Run a workflow with every requested model; the models share one budget.

    Returns
    -------
    dict, str
        The results by run name, and a text that shows them.

    Raises
    ------
    ConfigError
        If the workflow, model or sandbox tier does not exist, or the options contradict each other.
    ProgramRefused
        If the workflow's source is refused. Then nothing is stored or paid for.
    """
    if args.dry_run or args.batch:
        raise ConfigError(
            "--workflow cannot be combined with --dry-run or --batch, because each call depends on the "
            "previous one"
        )
    refuse_mark(study.store_url)
    if not study.models:
        raise ConfigError("study.toml names no model; add a [models.NAME] section")
    prices, items = study_prices(study), study_items(study)
    found = _read_workflow(args.workflow, study, items)
    names = dict.fromkeys(args.model or study.models)
    shape = found.program, found.roles, found.shape, found.tier
    plans = [WorkflowPlan(*shape, name, study.model(name)) for name in names]
    asyncio.run(rehearse(plans[0], sorted({len(item.options) for item in items})))
    targets = [plan.target.priced(prices) for plan in plans]
    first = Budget(args.budget_usd, args.budget_tokens, targets[0].price, requests=args.budget_requests)
    budgets = [first, *(first.at(target.price) for target in targets[1:])]
    results: dict[str, Any] = {}
    runs = {target.spec.id: target.spec.name for target in targets}
    with (
        Store(study.store_url) as store,
        store.locks.hold(runs, wait=args.wait, take_over=args.take_over, tell=say) as lock,
        read_workers(args, [plan.settings for plan in plans]) as workers,
    ):
        _refuse_erased(store, args.workflow, found)
        terms = RunTerms(uncertain=args.uncertain or "retry", workers=workers)
        for target, budget in zip(targets, budgets, strict=True):
            # All runs share one budget, so charge their earlier usage before the first call.
            charge_before(store, target, budget)
        ids: Sequence[str] = store.content.add_items(items)
        part = dict[str, Any]()
        if args.sample is not None:
            ids, drawn = take_sample(ids, args.sample, study.study.seed)
            part["sample"] = asdict(drawn)
        for plan, target, budget in zip(plans, targets, budgets, strict=True):
            asked, spent = run_workflow(
                store,
                ids,
                plan,
                target,
                budget=budget,
                check=lock.check,
                retry_failed=args.retry_errors,
                terms=terms,
            )
            results[target.spec.name] = {
                **summarise_run(store, target, asked),
                **part,
                "workflow": found.program.id,
                "sandbox": plan.tier,
                "calls_paid": spent.calls,
                "calls_cached": spent.cached,
                "answer_tokens": sum(u.tokens for u in store.runs.sum_answers(target.spec.id)),
                "guessed": spent.guessed,
                "over_limit": 0,  # not counted, because tokens are stored per answer, not per call
            }
    return results, _describe_results(results)


def _refuse_erased(store: Store, file: str, found: Workflow) -> None:
    """Raise an error if an exported workflow contains an example that was erased from its search."""
    specs = {search["id"]: search["spec"] for search in store.searches.read_searches()}
    spec = specs.get(found.search, {})
    if ERASED in spec and any(asdict(example) not in spec["shown"] for example in found.shape.examples):
        raise DataError(
            "shows an example whose item was erased from this study; delete the file, and export the "
            f"workflow again: oversight search export NEW.json {found.search}",
            file=file,
            field="shape.examples",
        )


def _describe_results(results: dict[str, Any]) -> str:
    words = [
        f"{describe_run(name, result)}\n    {result['calls_paid']} calls paid for now, "
        f"{result['calls_cached']} found in the cache; sandbox: {result['sandbox']}\n"
        f"    with replies found in the cache, the answers took {result['answer_tokens']:,} tokens"
        for name, result in results.items()
    ]
    return "\n".join([head_of_runs(results), *words, tail_of_runs(results)]).rstrip()


def _read_workflow(name: str, study: Study, items: Sequence[Item]) -> Workflow:
    """Read an exported workflow (.json), or combine a program with the study's prompt format and roles."""
    if name.endswith(".json"):
        found = Workflow.read(name)
        found.check_options(items)
        return found
    shape, roles = read_workflow_settings(study.folder, items)
    return Workflow(program=load_program(name), shape=shape, roles=roles, tier=study.search.tier)
