"""``oversight run --workflow``: called by `harness.cli.run` by name, with its arguments."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from agents.library import load
from agents.run import Plan, run_workflow
from agents.sandbox import DEFAULT_LIMITS
from agents.setting import read_setting
from harness.cli.common import study_items
from harness.errors import ConfigError
from harness.llm.cost import FREE, Budget
from harness.store.repository import Repository
from harness.types import PredictionStatus

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from agents.broker import Spent
    from harness.config import Study
    from harness.types import Prediction


def run(args: argparse.Namespace, study: Study) -> tuple[dict[str, Any], str]:
    """Run a workflow with every model asked for.

    Returns
    -------
    dict, str
        By name of the run what came of it, and the same in words.

    Raises
    ------
    ConfigError
        If there is no such workflow, model or sandbox tier.
    """
    if not study.models:
        raise ConfigError("study.toml names no model; add a [models.NAME] section")
    program = load(args.workflow)
    items = study_items(study)
    shape, roles = read_setting(study.folder, items)
    names = args.model or list(study.models)
    plans = [Plan(program, roles, shape, args.sandbox, name, study.model(name)) for name in names]
    results: dict[str, Any] = {}
    with Repository(study.store_url) as store:
        store.add_items(items)
        for plan in plans:
            asked, spent = run_workflow(
                store,
                items,
                plan,
                DEFAULT_LIMITS,
                budget=Budget(None, None, FREE),
                retry_failed=args.retry_failed,
            )
            results[plan.spec.name] = _summary(plan, store.predictions(plan.spec.id), asked, spent)
    return results, "\n".join(_lines(name, result) for name, result in results.items())


def _summary(plan: Plan, predictions: Sequence[Prediction], asked: int, spent: Spent) -> dict[str, Any]:
    by_status = Counter(p.status for p in predictions)
    reasons = Counter(f"{p.status}: {p.reason}" for p in predictions if p.reason)
    return {
        "run": plan.spec.id,
        "model": plan.settings.model,
        "workflow": plan.program.id,
        "sandbox": plan.tier,
        "predictions": len(predictions),
        "asked_now": asked,
        "ok": by_status[PredictionStatus.OK],
        "unreadable": by_status[PredictionStatus.UNREADABLE],
        "failed": by_status[PredictionStatus.FAILED],
        "reasons": dict(reasons.most_common(10)),
        "calls_paid": spent.calls,
        "calls_cached": spent.cached,
        "input_tokens": sum(p.input_tokens for p in predictions),
        "output_tokens": sum(p.output_tokens for p in predictions),
    }


def _lines(name: str, result: dict[str, Any]) -> str:
    lines = [
        f"{name}: {result['predictions']} answers, {result['asked_now']} asked now "
        f"({result['calls_paid']} calls paid for, {result['calls_cached']} found in the cache; sandbox: "
        f"{result['sandbox']}); {result['ok']} readable, {result['unreadable']} unreadable, "
        f"{result['failed']} failed"
    ]
    lines += [f"    {count} × {reason}" for reason, count in result["reasons"].items()]
    return "\n".join(lines)
