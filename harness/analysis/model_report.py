"""One run of one model as a report shows it: estimates, checks, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from oversight.harness.analysis.by_class import ClassTask
from oversight.harness.analysis.controls import Correction, GoldOnItems
from oversight.harness.analysis.costs import cost_per_correct
from oversight.harness.analysis.options import EstimateOptions
from oversight.harness.arrays import BoolArray, IntArray
from oversight.harness.columns import NO, YES, ItemIndex, LabelColumns, PredictionColumns, keep_drawn, mark
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import (
    Check,
    ClassEstimates,
    Estimates,
    Strata,
    accuracies,
    collected_part,
    find_strata,
    gold_errors,
    growing_accuracy,
    joint_level,
    keep_predicted,
    main_estimator,
    mark_joint,
    run_checks,
)
from oversight.harness.store import RunColumns
from oversight.harness.types import ESTIMATOR_NAMES, Estimate, Prediction, main_estimate

_CURVE_POINTS = 24


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
        Predicted items without a question; of those drawn, where items were drawn from a pool.
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
    refuted
        Items whose prediction an expert's answer contradicts.
    usd
        What the run cost; None if the price is unknown.
    usd_per_correct
        Dollars per right answer and the ends of its interval (None: no upper end); None without a cost.
    truth
        Accuracy by the sealed key, where it was opened.
    classes
        Results by class, where they are wanted.
    steps
        Step that read an answer → number of predictions, see `oversight.harness.llm.reading.Step`.
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
    refuted: int
    input_tokens: int
    output_tokens: int
    truth: float | None = None
    usd: float | None = None
    usd_per_correct: tuple[float, float, float | None] | None = None
    classes: ClassEstimates | None = None
    steps: Mapping[str, int] = field(default_factory=dict)

    @property
    def accuracy(self) -> Estimate | None:
        """The one estimate to show, see `oversight.harness.types.main_estimate`; None if there is none."""
        return main_estimate(self.estimates)

    def doubted(self, why: str) -> ModelReport:
        """The same, with `why` in every estimate that has no reason of its own."""
        classes = self.classes
        if classes is not None:
            classes = ClassEstimates(_doubt(classes, why), classes.undefined)
        return replace(self, estimates=_doubt(self.estimates, why), classes=classes)


def _doubt(estimates: Mapping[str, Estimate], why: str) -> dict[str, Estimate]:
    return {name: replace(estimate, why=estimate.why or why) for name, estimate in estimates.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """Everything that the models of a study share.

    Attributes
    ----------
    truth
        The true option of every item by the opened key, to show the true accuracy beside each estimate; None
        if it stays sealed.
    curve
        Whether to estimate also at smaller numbers of answers.
    level
        Confidence level at this look.
    joint
        Number of models whose intervals are to hold together; 0 if each is to hold by itself.
    correction
        What is known of experts' errors; None if nothing is.
    by_class
        Which results by class are wanted; None: none.
    second
        Second questions about items, which `labels` do not hold; None without any.
    models
        Run → predictions of the items drawn, of all runs reported together; empty for a single one.
    gold
        Answers to gold about the study's items; None if no estimate is corrected by gold.
    """

    labels: LabelColumns
    strata: Strata
    options: EstimateOptions
    level: float
    truth: IntArray | None
    curve: bool
    joint: int = 0
    correction: Correction | None = None
    by_class: ClassTask | None = None
    second: LabelColumns | None = None
    models: Mapping[str, PredictionColumns] = field(default_factory=dict)
    gold: GoldOnItems | None = None


def report_model(
    run: Mapping[str, Any], answered: RunColumns, usd: float | None, data: Collected
) -> ModelReport:
    """Estimate one run, whose cost is known or None."""
    every, options = answered.predictions, data.options
    predictions = data.models.get(run["id"]) or keep_drawn(every, data.labels)
    labels = replace(keep_predicted(data.labels, predictions), models=tuple(data.models.values()))
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
    gold = _check_gold(predictions, data)
    estimates = _doubt_correction(estimates, gold)
    if data.correction and not unusable:
        level = joint_level(data.level, data.joint)
        estimates = data.correction.apply(estimates, predictions, labels, level)
    if data.joint:
        estimates = mark_joint(estimates, data.level, data.joint)
    return ModelReport(
        name=run["name"],
        run_id=run["id"],
        spec=run["spec"],
        created=run["created"],
        predictions=len(every),
        items=_count_items(every, predictions.ran, labels, data.labels.asked),
        estimates={name: estimates[name] for name in ESTIMATOR_NAMES if name in estimates},
        undefined=dict(estimates.undefined),
        unusable=unusable,
        curve=growing_accuracy(
            predictions, labels, _CURVE_POINTS, interval=options.interval, level=data.level, strata=strata
        )
        if data.curve
        else (),
        checks=(*_run_checks(predictions, labels, strata), *gold),
        unreadable=answered.unreadable,
        failed=answered.failed,
        steps=answered.steps,
        refuted=_count_refuted(predictions, data.labels),
        input_tokens=sum(u.input_tokens for u in answered.usage),
        output_tokens=sum(u.output_tokens for u in answered.usage),
        usd=usd,
        usd_per_correct=cost_per_correct(usd, int(np.count_nonzero(every.ran)), main_estimate(estimates)),
        truth=None if data.truth is None else _share_right(every, data.truth),
        classes=None
        if data.by_class is None
        else data.by_class.report(predictions, labels, strata, data.level),
    )


def _run_checks(predictions: PredictionColumns, labels: LabelColumns, strata: Strata) -> tuple[Check, ...]:
    """Run the checks on the labels that estimates are made of.

    While no estimate can be made, since experts have not begun, a check that fails for want of their answers
    says nothing of an assumption: it counts as not made.
    """
    try:
        return run_checks(predictions, collected_part(labels, predictions.is_there)[0], strata=strata)
    except EstimateError as error:
        return tuple(
            Check.not_made(check.name, str(error))
            # a stratum is small by the number of its labels, whoever gave them
            if check.state == "failed" and check.name != "small_strata"
            else check
            for check in run_checks(predictions, labels, strata=strata)
        )


def _check_gold(predictions: PredictionColumns, data: Collected) -> tuple[Check, ...]:
    """The check of gold answers by agreement with the model; none if nothing is corrected by gold."""
    if data.gold is None:
        return ()
    return (gold_errors(data.gold.answers_for(predictions), max(1, len(data.models))),)


def _doubt_correction(estimates: Estimates, gold: tuple[Check, ...]) -> Estimates:
    """The same, with a reason why the estimate corrected by gold may not hold if its check failed."""
    failed = "; ".join(f"check {c.name!r} failed: {c.message}" for c in gold if c.passed is False)
    if not failed or "corrected" not in estimates:
        return estimates
    found = estimates["corrected"]
    doubted = replace(found, why="; ".join(filter(None, [found.why, failed])))
    return Estimates({**estimates, "corrected": doubted}, estimates.undefined)


def _count_items(
    predictions: PredictionColumns, drawn: BoolArray, labels: LabelColumns, asked: BoolArray
) -> ItemCounts:
    """Counts of all items, and of what experts said on the predicted ones that were `drawn`."""
    ran, failed = predictions.ran, predictions.has_failed
    said = labels.answered & drawn
    silent = labels.labelled & drawn & ~said
    put = drawn & asked
    of = predictions.index.size

    def count(items: BoolArray) -> int:
        return int(np.count_nonzero(items))

    return ItemCounts(
        of=of,
        predicted=count(ran),
        unreadable=count(predictions.is_unreadable),
        failed=count(failed),
        unpredicted=of - count(ran) - count(failed),
        labelled=count(said),
        abstained=count(silent),
        unlabelled=count(put & ~said & ~silent),
        unasked=count(drawn & ~put & ~said & ~silent),
    )


def true_accuracy(predictions: Iterable[Prediction], truth: Mapping[str, int]) -> float | None:
    """Share of right answers by the key, None without any; unreadable are wrong, failed left out."""
    rows = list(predictions)
    index = ItemIndex.of([p.item_id for p in rows])
    true_options = np.array([truth[name] for name in index.ids], dtype=np.int64)
    return _share_right(PredictionColumns.of(rows, index), true_options)


def _share_right(predictions: PredictionColumns, truth: IntArray) -> float | None:
    ran = predictions.ran
    right = np.count_nonzero(predictions.option[ran] == truth[ran])
    return int(right) / int(np.count_nonzero(ran)) if ran.any() else None


def _count_refuted(predictions: PredictionColumns, labels: LabelColumns) -> int:
    """Items whose prediction an expert's answer contradicts."""
    option = predictions.option[labels.item]
    hit = option == labels.option
    said = (option >= 0) & np.where(hit, labels.kind == NO, labels.kind == YES)
    return int(np.count_nonzero(mark(labels.item[said], predictions.index.size)))
