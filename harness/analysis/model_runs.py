"""Asking the models of a study: run, forecast, batches, and what a run has so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from harness.analysis.costs import study_prices
from harness.analysis.inputs import stream_items, system_of, template_of
from harness.config import Study
from harness.errors import ConfigError
from harness.llm import (
    DEFAULT_PATIENCE,
    BudgetCaps,
    Forecast,
    PriceTable,
    Target,
    Wanted,
    cancel_batches,
    dollars,
    forecast,
    make_spec,
    run_batches,
    run_targets,
)
from harness.store import Store
from harness.types import PredictionStatus


def run_study(
    study: Study,
    names: Sequence[str] | None = None,
    *,
    caps: BudgetCaps,
    patience: float = DEFAULT_PATIENCE,
    retry_failed: bool = False,
) -> dict[str, dict[str, Any]]:
    """Ask the models about every item that is not answered yet; name → `summarise_run`.

    Raises
    ------
    ConfigError
        If study.toml names no model, or not this one; if the prompt cannot be filled in.
    BudgetSpent
        If the next call might cost more than is left; what was answered is stored.
    """
    with _opened(study, names, retry_failed=retry_failed) as (wanted, targets, prices):
        done = run_targets(wanted, targets, prices=prices, limits=caps, patience=patience)
        return {r.target.spec.name: summarise_run(wanted.store, r.target, r.asked) for r in done}


def forecast_study(
    study: Study, names: Sequence[str] | None = None, *, retry_failed: bool = False
) -> list[Forecast]:
    """What `run_study` would send, in calls, tokens and dollars; nothing is sent."""
    with _opened(study, names, retry_failed=retry_failed) as (wanted, targets, prices):
        return [forecast(wanted, target, prices) for target in targets]


def batch_study(
    study: Study, names: Sequence[str] | None = None, *, wait: bool, retry_failed: bool = False
) -> dict[str, dict[str, Any]]:
    """`run_study` by the Batch API; ``under_way`` counts what is still there."""
    with _opened(study, names, retry_failed=retry_failed) as (wanted, targets, prices):
        waiting = run_batches(wanted, targets, prices=prices, wait=wait)
        return {t.spec.name: summarise_run(wanted.store, t, 0) | {"under_way": n} for t, n in waiting}


def give_up_batches(study: Study, names: Sequence[str] | None = None) -> int:
    """Cancel the batches under way and store what they had answered; how many there were."""
    with _opened(study, names) as (wanted, targets, _):
        return cancel_batches(wanted.store, targets)


@contextmanager
def _opened(
    study: Study, names: Sequence[str] | None, *, retry_failed: bool = False
) -> Iterator[tuple[Wanted, list[Target], PriceTable]]:
    """The study's items, stored now, the models to ask about them, and prices."""
    if not study.models:
        raise ConfigError("study.toml names no model; add a [models.NAME] section")
    template, system, words = template_of(study), system_of(study), study.prompt.max_words
    settings = {name: study.model(name) for name in dict.fromkeys(names or study.models)}
    targets = [Target(make_spec(name, s, template, words, system), s) for name, s in settings.items()]
    prices = study_prices(study)
    with Store(study.store_url) as store:
        yield Wanted(store, store.content.add_items(stream_items(study)), retry_failed), targets, prices


def summarise_run(store: Store, target: Target, asked: int) -> dict[str, Any]:
    """Count what a run has so far, by status and kind; `asked` is how many were asked just now."""
    by_status: Counter[PredictionStatus] = Counter()
    by_kind: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    usage = store.runs.sum_usage(target.spec.id)
    guessed = 0
    for p in store.runs.read_samples(target.spec.id):
        by_status[p.status] += 1
        guessed += p.guessed > 0
        if p.reason:
            by_kind[f"{p.status}: {p.kind}"] += 1
            if p.reason in reasons or len(reasons) < 100:
                reasons[f"{p.status}: {p.reason}"] += 1
    return {
        "run": target.spec.id,
        "model": target.spec.model,
        "predictions": by_status.total(),
        "asked_now": asked,
        **{status.value: by_status[status] for status in PredictionStatus},
        "kinds": dict(by_kind.most_common()),
        "reasons": dict(reasons.most_common(10)),
        "input_tokens": sum(u.input_tokens for u in usage),
        "output_tokens": sum(u.output_tokens for u in usage),
        "guessed": guessed,
        "unfinished": store.reservations.read_charge(target.spec.id).answers,
        "usd": None if target.price is None else dollars(target.price, usage),
    }
