"""From what a study has stored to what a table or a page shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from harness.analysis.contents import (
    ESTIMATOR_NAMES,
    ExpertReport,
    ModelReport,
    RefutedPrediction,
    StudyReport,
)
from harness.analysis.costs import cost_per_correct, run_cost, study_prices
from harness.analysis.options import EstimateOptions
from harness.config import Study
from harness.datasets import read_ratings
from harness.decoding import decode
from harness.errors import BadInput, EstimateError
from harness.estimate import CONFIDENCE, Strata, accuracies, accuracy, find_strata, keep_predicted, run_checks
from harness.panel import make_panel, stratify_by_certainty
from harness.types import Answer, Estimate, Item, Label, Prediction, PredictionStatus, Question, Verdict

if TYPE_CHECKING:
    from harness.store import Store

_CURVE_POINTS = 24
_EXAMPLES = 12
_PACKAGES = ("oversight", "numpy", "scipy", "openai", "sqlmodel")


def summarise(
    store: Store,
    study: Study,
    *,
    runs: Sequence[str] | None = None,
    truth: Mapping[str, int] | None = None,
    options: EstimateOptions | None = None,
    curve: bool = False,
) -> StudyReport:
    """Estimate every stored run of a study.

    Parameters
    ----------
    runs
        Names of models; None takes the newest run of each.
    truth
        The opened key, to show the true accuracy beside each estimate.
    options
        How to estimate; None takes the study's settings.
    curve
        Whether to estimate also at earlier numbers of answers.

    Raises
    ------
    BadInput
        If there are no answers or no predictions yet.
    """
    if study.experts.is_panel:
        raise BadInput("this study is a panel; see: oversight agree, certify and parity --help")
    items, questions, answers = (
        store.content.read_items(),
        store.content.read_questions(),
        store.content.read_answers(),
    )
    if not answers:
        raise BadInput("there are no answers yet; see: oversight label --help")
    chosen = find_newest_runs(store.runs.read_runs(), runs)
    data = _Collected(
        items=items,
        answers=answers,
        labels=decode(answers, questions),
        strata=_strata(items, study),
        options=options or EstimateOptions(interval=study.estimate.interval, level=study.estimate.level),
    )
    costs = [run_cost(store, run, study_prices(study)) for run in chosen]
    models = tuple(
        _model(run, store.runs.read_predictions(run["id"]), data, truth, usd, curve=curve)
        for run, usd in zip(chosen, costs, strict=True)
    )
    return StudyReport(
        name=study.study.name,
        seed=study.study.seed,
        protocol=", ".join(sorted({q.protocol for q in questions})),
        n_items=len(items),
        n_questions=len(questions),
        n_answers=len(answers),
        options=dict(sorted(Counter(len(item.options) for item in items).items())),
        models=models,
        experts=_experts(questions, answers),
        assumptions=_assumptions(models),
        versions={name: version(name) for name in _PACKAGES},
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


@dataclass(frozen=True, slots=True)
class _Collected:
    """What all models of a study share."""

    items: Sequence[Item]
    answers: Sequence[Answer]
    labels: Sequence[Label]
    strata: Strata
    options: EstimateOptions


def find_newest_runs(runs: Sequence[dict[str, Any]], names: Sequence[str] | None) -> list[dict[str, Any]]:
    """The newest run of every model, or of those named.

    Raises
    ------
    BadInput
        If a model was not run, or none was.
    """
    newest = {run["name"]: run for run in runs}
    if not newest:
        raise BadInput("no model was run yet; see: oversight run --help")
    for name in names or ():
        if name not in newest:
            raise BadInput(f"the model {name!r} was not run; there are: {', '.join(newest)}")
    return [newest[name] for name in names or newest]


def _model(
    run: dict[str, Any],
    predictions: Sequence[Prediction],
    data: _Collected,
    truth: Mapping[str, int] | None,
    usd: float | None,
    *,
    curve: bool,
) -> ModelReport:
    labels, options = keep_predicted(data.labels, predictions), data.options
    strata = find_strata(predictions, labels, data.strata)
    estimates = accuracies(
        predictions,
        labels,
        interval=options.interval,
        level=options.level_now,
        strata=strata,
        published=options.published,
        gold=options.gold,
        anytime=options.level if options.anytime else None,
    )
    refuted = _refuted(predictions, data.items, data.answers)
    return ModelReport(
        name=run["name"],
        run_id=run["id"],
        spec=run["spec"],
        created=run["created"],
        predictions=len(predictions),
        estimates={name: estimates[name] for name in ESTIMATOR_NAMES if name in estimates},
        undefined=dict(estimates.undefined),
        curve=_curve(predictions, labels, strata, options) if curve else (),
        checks=run_checks(predictions, labels, strata=strata),
        unreadable=_reasons(p for p in predictions if p.status.no_option),
        failed=_reasons(p for p in predictions if p.status is PredictionStatus.FAILED),
        refuted=tuple(refuted[:_EXAMPLES]),
        refuted_total=len(refuted),
        input_tokens=sum(p.input_tokens for p in predictions),
        output_tokens=sum(p.output_tokens for p in predictions),
        usd=usd,
        usd_per_correct=cost_per_correct(usd, predictions, estimates),
        truth=None if truth is None else true_accuracy(predictions, truth),
    )


def _strata(items: Sequence[Item], study: Study) -> Strata:
    """By a column, by a panel, or by the model's confidence unless the items have a column of that name."""
    column = study.estimate.strata
    if study.estimate.panel is not None:
        path = study.path(study.estimate.panel)
        certain = stratify_by_certainty(make_panel(read_ratings(path)))
        if not certain.keys() & {item.id for item in items}:
            raise BadInput(f"{path}: rates none of the study's items; the column item must hold their ids")
        return {item.id: certain.get(item.id, "no vote") for item in items}
    if column is None:
        return None
    if column == CONFIDENCE and CONFIDENCE not in items[0].meta:
        return CONFIDENCE
    missing = [item.id for item in items if column not in item.meta]
    if missing:
        raise BadInput(
            f"estimate.strata: the item {missing[0]!r} has no column {column!r}; name it in [items] meta"
        )
    return {item.id: item.meta[column] for item in items}


def _curve(
    predictions: Sequence[Prediction],
    labels: Sequence[Label],
    strata: Mapping[str, str] | None,
    options: EstimateOptions,
) -> tuple[tuple[int, Estimate], ...]:
    """Estimates from the first so many labels; the earliest may be undefined and are left out."""
    points = []
    for j in range(1, _CURVE_POINTS + 1):
        n = round(len(labels) * j / _CURVE_POINTS)
        try:
            estimate = accuracy(
                predictions,
                labels[:n],
                interval=options.interval,
                level=options.level_now,
                strata=strata,
            )
        except EstimateError:
            continue
        points.append((n, estimate))
    return tuple(points)


def true_accuracy(predictions: Iterable[Prediction], truth: Mapping[str, int]) -> float | None:
    """Share of right answers by the key, None without any; unreadable are wrong, failed left out."""
    scored = [p.option == truth[p.item_id] for p in predictions if p.status != PredictionStatus.FAILED]
    return sum(scored) / len(scored) if scored else None


def _reasons(predictions: Iterable[Prediction]) -> dict[str, int]:
    return dict(Counter(p.kind for p in predictions).most_common())


def _refuted(
    predictions: Sequence[Prediction], items: Sequence[Item], answers: Sequence[Answer]
) -> list[RefutedPrediction]:
    by_id = {item.id: item for item in items}
    predicted = {p.item_id: p.option for p in predictions if p.option is not None}
    found = []
    for answer in answers:
        question, item = answer.question, by_id[answer.question.item_id]
        option = predicted.get(item.id)
        hit = option == question.option
        if option is None or (answer.verdict, hit) not in ((Verdict.NO, True), (Verdict.YES, False)):
            continue
        said = f"{'not ' if hit else ''}{item.options[question.option]}"
        text = item.text if len(item.text) <= 300 else item.text[:300] + "…"
        found.append(RefutedPrediction(item.id, text, item.options[option], answer.expert, said))
    order = {item.id: j for j, item in enumerate(items)}
    return sorted(found, key=lambda r: order[r.item_id])


def _experts(questions: Sequence[Question], answers: Sequence[Answer]) -> tuple[ExpertReport, ...]:
    said = Counter((a.expert, a.verdict) for a in answers)
    reports = []
    for expert in sorted({q.expert for q in questions}):
        asked = [q for q in questions if q.expert == expert]
        reports.append(
            ExpertReport(
                name=expert,
                asked=len(asked),
                yes=said[expert, Verdict.YES],
                no=said[expert, Verdict.NO],
                abstained=said[expert, Verdict.UNSURE] + said[expert, Verdict.SKIP],
                expected_yes_rate=sum(1 / q.n_options for q in asked) / len(asked),
            )
        )
    return tuple(reports)


def _assumptions(models: Sequence[ModelReport]) -> tuple[str, ...]:
    lines = dict.fromkeys(line for m in models for e in m.estimates.values() for line in e.assumptions)
    return tuple(lines)
