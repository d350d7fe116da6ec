"""Run the models of a study: calls, forecasts, batches, summaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any

from oversight.harness.analysis.costs import study_prices
from oversight.harness.analysis.inputs import read_new_items, store_items, system_of, template_of
from oversight.harness.config import Study
from oversight.harness.errors import ConfigError
from oversight.harness.llm import (
    DEFAULT_TERMS,
    Forecast,
    PriceTable,
    RandomPart,
    RequestedItems,
    RunResult,
    RunTerms,
    Target,
    dollars,
    draw_sample,
    forecast,
    make_spec,
    request_probabilities,
    run_alone,
)
from oversight.harness.store import Store, Uncertain, refuse_mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Selects the models of a run, and the items about which they are asked.

    Attributes
    ----------
    names
        Names of models; None for all.
    retry_failed
        Whether items on which calls failed are asked again.
    sample
        Number of items to ask about, drawn at random with the study's seed; None for all.
    """

    names: Sequence[str] | None = None
    retry_failed: bool = False
    sample: int | None = None


def run_study(study: Study, asking: Asking, *, terms: RunTerms = DEFAULT_TERMS) -> dict[str, dict[str, Any]]:
    """Ask models about every item that they have not answered. Returns name → result of `summarise_run`.

    If an error stops a model early, the model's result contains the error as ``stopped``; other models
    continue.

    Raises
    ------
    ConfigError
        If study.toml has no model or lacks a named one, or the prompt cannot be filled in.
    ModelError
        If no model can be asked.
    RunHeld
        If another process runs the same model.
    """
    with _opened(study, asking) as (wanted, targets, prices):
        done = run_alone(wanted, targets, prices=prices, terms=terms)
        wanted.store.run_columns.keep([r.target.spec.id for r in done])
        return {
            r.target.spec.name: _describe_result(wanted.store, r) | _describe_sample(wanted) for r in done
        }


def _describe_result(store: Store, result: RunResult) -> dict[str, Any]:
    stopped = {} if result.error is None else {"stopped": str(result.error)}
    return summarise_run(store, result.target, result.asked) | stopped


def forecast_study(study: Study, asking: Asking) -> list[Forecast]:
    """Return the calls, tokens and dollars that `run_study` would need; sends nothing."""
    with _opened(study, asking, sends=False) as (wanted, targets, prices):
        return [forecast(wanted, target, prices) for target in targets]


def batch_study(
    study: Study,
    asking: Asking,
    *,
    wait: bool,
    wait_for_lock: bool,
    take_over: bool = False,
    uncertain: Uncertain | None = None,
) -> dict[str, dict[str, Any]]:
    """Ask models as `run_study` does, but with the Batch API (`run_batches`).

    The result of every model contains the number of its pending requests as ``under_way``.
    """
    from oversight.harness.llm import (
        run_batches,  # imported here because it imports the SDK, which is slow
    )

    with _opened(study, asking) as (wanted, targets, prices):
        waiting = run_batches(
            wanted,
            targets,
            prices=prices,
            wait=wait,
            wait_for_lock=wait_for_lock,
            take_over=take_over,
            uncertain=uncertain,
        )
        sample = _describe_sample(wanted)
        return {
            t.spec.name: summarise_run(wanted.store, t, 0) | sample | {"under_way": n} for t, n in waiting
        }


def give_up_batches(
    study: Study,
    names: Sequence[str] | None = None,
    *,
    uncertain: Uncertain | None = None,
    take_over: bool = False,
) -> int:
    """Cancel the pending batches and store the answers they have. Returns the number of batches."""
    from oversight.harness.llm import cancel_batches

    with _opened(study, Asking(names=names)) as (wanted, targets, _):
        return cancel_batches(wanted.store, targets, uncertain=uncertain, take_over=take_over)


@contextmanager
def _opened(
    study: Study, asking: Asking, *, sends: bool = True
) -> Iterator[tuple[RequestedItems, list[Target], PriceTable]]:
    """Store the study's items; yield the items to ask about, the models to ask, and the prices."""
    if sends:
        refuse_mark(study.store_url)
    names = asking.names or [name for name in study.models if name not in study.helpers]
    if not names:
        raise ConfigError("study.toml names no model; add a [models.NAME] section")
    template, system = template_of(study), system_of(study)
    targets = [_make_target(study, name, template, system) for name in dict.fromkeys(names)]
    prices, seed = study_prices(study), study.study.seed
    ahead = read_new_items(study)
    with (
        Store(study.store_url) as store,
        nullcontext() if sends or not store.read_only else store.rehearsing(),
    ):
        ids: Sequence[str] = store_items(study, store, ahead)
        part = None
        if asking.sample is not None:
            ids, part = take_sample(ids, asking.sample, seed)
        yield RequestedItems(store, ids, asking.retry_failed, part, study.judges), targets, prices


def _make_target(study: Study, name: str, template: str, system: str) -> Target:
    settings, answer, pattern = study.model(name), study.form_of(name), study.prompt.pattern
    if study.is_open:
        answer, pattern = "free", None
        settings = settings.model_copy(update={"structured": "never"})
    if answer == "schema":
        settings = settings.model_copy(update={"structured": "always"})
    if answer == "probabilities":
        template = request_probabilities(template)
    spec = make_spec(name, settings, template, study.prompt.max_words, system, answer, pattern)
    return Target(spec, settings)


def take_sample(ids: Sequence[str], number: int, seed: int) -> tuple[Sequence[str], RandomPart]:
    """Draw a random sample of items. Returns their ids, and size and seed of the sample.

    Examples
    --------
    >>> ids, part = take_sample(["a", "b", "c", "d"], 2, seed=1)
    >>> len(ids)
    2
    """
    drawn = draw_sample(ids, number, seed)
    return drawn, RandomPart(items=len(drawn), of=len(ids), seed=seed)


def _describe_sample(wanted: RequestedItems) -> dict[str, Any]:
    return {} if wanted.sample is None else {"sample": asdict(wanted.sample)}


def summarise_run(store: Store, target: Target, asked: int) -> dict[str, Any]:
    """Summarise a run: its answers by status and reason, tokens and cost.

    `asked` is the number of answers that this command added.
    """
    runs, run = store.runs, target.spec.id
    usage, by_status = runs.sum_usage(run), runs.count_samples(run)
    limit = target.spec.max_tokens
    by_kind, reasons = Counter[str](), Counter[str]()
    for status, reason, n in runs.count_reasons(run):
        by_kind[f"{status}: {reason.partition(':')[0]}"] += n
        reasons[f"{status}: {reason}"] += n
    return {
        "run": target.spec.id,
        "model": target.spec.model,
        "predictions": sum(by_status.values()),
        "asked_now": asked,
        **{status.value: n for status, n in by_status.items()},
        "read_by": runs.count_steps(run),
        "over_limit": 0 if limit is None else runs.count_over_limit(run, limit),
        "kinds": dict(by_kind.most_common()),
        "reasons": dict(reasons.most_common(10)),
        "input_tokens": sum(u.input_tokens for u in usage),
        "output_tokens": sum(u.output_tokens for u in usage),
        "guessed": runs.count_guessed(run),
        "unfinished": store.calls.read_charge(target.spec.id).answers,
        "late": 0,  # always 0, because only one process makes a run; kept for programs that read the output
        "usd": dollars(target.price, usage, runs.read_prices(run)),
        **({"confidences": False} if target.settings.logprobs and not target.spec.logprobs else {}),
    }
