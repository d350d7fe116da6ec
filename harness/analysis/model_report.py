"""One run of one model as a report shows it: estimates, checks, and what it cost."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.costs import cost_per_correct
from harness.analysis.options import ESTIMATOR_NAMES, EstimateOptions
from harness.errors import EstimateError
from harness.estimate import (
    Check,
    Estimates,
    Strata,
    accuracies,
    accuracy,
    find_strata,
    growing_parts,
    joint_level,
    keep_predicted,
    main_estimator,
    mark_joint,
    run_checks,
)
from harness.types import (
    Answer,
    Estimate,
    Item,
    Label,
    LabelKind,
    Labels,
    Prediction,
    PredictionStatus,
    Verdict,
)

_CURVE_POINTS = 24
_EXAMPLES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class RefutedPrediction:
    """A prediction that an expert's answer contradicts."""

    item_id: str
    text: str
    predicted: str
    expert: str
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemCounts:
    """What became of the study's items with one model.

    Attributes
    ----------
    of
        Items of the study: predicted, failed and unpredicted ones together.
    predicted
        Items that the model answered, readable or not.
    unreadable
        Those among them whose answer named no option.
    failed
        Items on which every try failed.
    unpredicted
        Items that the model was not asked yet.
    labelled
        Predicted items that an expert answered with yes or no.
    abstained
        Predicted items of which experts said only that they cannot tell.
    unlabelled
        Predicted items whose questions are all open.
    unasked
        Predicted items without a question.
    """

    of: int
    predicted: int
    unreadable: int
    failed: int
    unpredicted: int
    labelled: int
    abstained: int
    unlabelled: int
    unasked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """One run of one model.

    Attributes
    ----------
    estimates
        Estimator name → estimate; those undefined for the data are in `undefined` with the reason.
    unusable
        Why nothing can be estimated from the model's data; empty where something can.
    curve
        (number of answers, estimate from them), the answers taken in the order of the draw.
    unreadable, failed
        Kind of reason → number of predictions.
    usd
        What the run cost; None if the price is unknown.
    usd_per_correct
        Dollars per right answer and the ends of its interval (None: no upper end); None without a cost.
    truth
        Accuracy by the sealed key, where it was opened.
    """

    name: str
    run_id: str
    spec: Mapping[str, Any]
    created: str
    predictions: int
    items: ItemCounts
    estimates: Mapping[str, Estimate]
    undefined: Mapping[str, str]
    unusable: str
    curve: tuple[tuple[int, Estimate], ...]
    checks: tuple[Check, ...]
    unreadable: Mapping[str, int]
    failed: Mapping[str, int]
    refuted: tuple[RefutedPrediction, ...]
    refuted_total: int
    input_tokens: int
    output_tokens: int
    truth: float | None = None
    usd: float | None = None
    usd_per_correct: tuple[float, float, float | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """Everything that the models of a study share.

    Attributes
    ----------
    truth
        The opened key, to show the true accuracy beside each estimate; None if it stays sealed.
    curve
        Whether to estimate also at smaller numbers of answers.
    asked
        Ids of the items that have a question.
    level
        Confidence level at this look.
    joint
        Number of models whose intervals are to hold together; 0 if each is to hold by itself.
    """

    items: Sequence[Item]
    answers: Sequence[Answer]
    labels: Labels
    strata: Strata
    options: EstimateOptions
    level: float
    truth: Mapping[str, int] | None
    curve: bool
    asked: Collection[str]
    joint: int = 0


def report_model(
    run: Mapping[str, Any], predictions: Sequence[Prediction], usd: float | None, data: Collected
) -> ModelReport:
    """Estimate one run, whose cost is known or None."""
    labels, options = keep_predicted(data.labels, predictions), data.options
    strata = find_strata(predictions, labels, data.strata)
    unusable = ""
    try:
        estimates = accuracies(
            predictions,
            labels,
            interval=options.interval,
            level=joint_level(data.level, data.joint),
            strata=strata,
            published=options.published,
            gold=options.gold,
            anytime=options.level if options.anytime else None,
        )
    except EstimateError as error:
        unusable = str(error)
        estimates = Estimates({}, {main_estimator(labels): unusable})
    if data.joint:
        estimates = mark_joint(estimates, data.level, data.joint)
    refuted = _refuted(predictions, data.items, data.answers)
    return ModelReport(
        name=run["name"],
        run_id=run["id"],
        spec=run["spec"],
        created=run["created"],
        predictions=len(predictions),
        items=_count_items(data.items, predictions, labels, data.asked),
        estimates={name: estimates[name] for name in ESTIMATOR_NAMES if name in estimates},
        undefined=dict(estimates.undefined),
        unusable=unusable,
        curve=_curve(predictions, labels, strata, options.interval, data.level) if data.curve else (),
        checks=run_checks(predictions, labels, strata=strata),
        unreadable=_reasons(p for p in predictions if p.status.no_option),
        failed=_reasons(p for p in predictions if p.status is PredictionStatus.FAILED),
        refuted=tuple(refuted[:_EXAMPLES]),
        refuted_total=len(refuted),
        input_tokens=sum(p.input_tokens for p in predictions),
        output_tokens=sum(p.output_tokens for p in predictions),
        usd=usd,
        usd_per_correct=cost_per_correct(usd, predictions, estimates),
        truth=None if data.truth is None else true_accuracy(predictions, data.truth),
    )


def _curve(
    predictions: Sequence[Prediction],
    labels: Sequence[Label],
    strata: Mapping[str, str] | None,
    interval: str | None,
    level: float,
) -> tuple[tuple[int, Estimate], ...]:
    """Estimates from the first so many labels drawn; the earliest may be undefined and are left out."""
    points = []
    for part in growing_parts(labels, _CURVE_POINTS):
        with contextlib.suppress(EstimateError):
            estimate = accuracy(predictions, part, interval=interval, level=level, strata=strata)
            points.append((len(part), estimate))
    return tuple(points)


def _count_items(
    items: Sequence[Item], predictions: Sequence[Prediction], labels: Sequence[Label], asked: Collection[str]
) -> ItemCounts:
    failed = {p.item_id for p in predictions if p.status is PredictionStatus.FAILED}
    predicted = {p.item_id for p in predictions} - failed
    said = {x.item_id for x in labels if x.kind is not LabelKind.ABSTAINED} & predicted
    silent = ({x.item_id for x in labels} & predicted) - said
    put = predicted & set(asked)
    return ItemCounts(
        of=len(items),
        predicted=len(predicted),
        unreadable=sum(p.status.no_option for p in predictions),
        failed=len(failed),
        unpredicted=len(items) - len(predicted) - len(failed),
        labelled=len(said),
        abstained=len(silent),
        unlabelled=len(put - said - silent),
        unasked=len(predicted - put - said - silent),
    )


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
        found.append(
            RefutedPrediction(
                item_id=item.id, text=text, predicted=item.options[option], expert=answer.expert, said=said
            )
        )
    order = {item.id: j for j, item in enumerate(items)}
    return sorted(found, key=lambda r: order[r.item_id])
