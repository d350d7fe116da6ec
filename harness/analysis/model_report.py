"""One run of one model as a report shows it: estimates, checks, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from oversight.harness.analysis.class_task import ClassTask
from oversight.harness.analysis.controls import Correction, GoldOnItems
from oversight.harness.analysis.costs import cost_per_correct
from oversight.harness.analysis.options import EstimateOptions
from oversight.harness.arrays import BoolArray, IntArray
from oversight.harness.columns import (
    NO,
    YES,
    ItemIndex,
    LabelColumns,
    PredictionColumns,
    keep_drawn,
    keep_predicted,
    mark,
)
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import (
    Check,
    ClassEstimates,
    Estimates,
    Strata,
    collected_part,
    find_strata,
    gold_errors,
    growing_accuracy,
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
class StudyEvidence:
    """What the reports of all models of a study share.

    Attributes
    ----------
    labels
        What was asked and answered, with the predictions of all reported models to hold checks against.
    strata, options
        How estimates are made.
    level
        Confidence level at this look.
    truth
        Shape (items,): true option by the opened key, to show the true accuracy beside each estimate; None
        if it stays sealed.
    curve
        Whether to estimate also at smaller numbers of answers.
    correction
        What is known of experts' errors; None if nothing is.
    by_class
        Which results by class are wanted; None without any.
    gold
        Answers to gold about the study's items; None if no estimate is corrected by gold.
    """

    labels: LabelColumns
    strata: Strata
    options: EstimateOptions
    level: float
    truth: IntArray | None
    curve: bool
    correction: Correction | None
    by_class: ClassTask | None
    gold: GoldOnItems | None


def report_model(
    run: Mapping[str, Any],
    answered: RunColumns,
    made: Estimates,
    usd: float | None,
    evidence: StudyEvidence,
    *,
    unusable: str = "",
) -> ModelReport:
    """Report one run with its estimates; `usd` is its cost, None if that is not known."""
    every, options = answered.predictions, evidence.options
    predictions = keep_drawn(every, evidence.labels)
    labels = keep_predicted(evidence.labels, predictions)
    strata = find_strata(predictions, labels, evidence.strata)
    gold = _check_gold(predictions, evidence)
    estimates = _order_estimates(_doubt_correction(made, gold), evidence.correction)
    curve: tuple[tuple[int, Estimate], ...] = ()
    if evidence.curve:
        curve = growing_accuracy(
            predictions, labels, _CURVE_POINTS, interval=options.interval, level=evidence.level, strata=strata
        )
    by_class = evidence.by_class
    return ModelReport(
        name=run["name"],
        run_id=run["id"],
        spec=run["spec"],
        created=run["created"],
        predictions=len(every),
        items=_count_items(every, predictions.ran, labels, evidence.labels.asked),
        estimates=estimates,
        undefined=dict(made.undefined),
        unusable=unusable,
        curve=curve,
        checks=(*_run_checks(predictions, labels, strata), *gold),
        unreadable=answered.unreadable,
        failed=answered.failed,
        steps=answered.steps,
        refuted=_count_refuted(predictions, evidence.labels),
        input_tokens=sum(u.input_tokens for u in answered.usage),
        output_tokens=sum(u.output_tokens for u in answered.usage),
        usd=usd,
        usd_per_correct=cost_per_correct(usd, int(np.count_nonzero(every.ran)), main_estimate(estimates)),
        truth=None if evidence.truth is None else _share_right(every, evidence.truth),
        classes=None if by_class is None else by_class.report(predictions, labels, strata, evidence.level),
    )


def _order_estimates(made: Estimates, correction: Correction | None) -> dict[str, Estimate]:
    """Estimates in the order in which they are shown; side information of other packages comes last."""
    known = [name for name in ESTIMATOR_NAMES if name in made]
    in_order = {name: made[name] for name in dict.fromkeys([*known, *made])}
    return in_order if correction is None else correction.put_first(in_order)


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


def _check_gold(predictions: PredictionColumns, evidence: StudyEvidence) -> tuple[Check, ...]:
    """The check of gold answers by agreement with the model; none if nothing is corrected by gold."""
    if evidence.gold is None:
        return ()
    return (gold_errors(evidence.gold.answers_for(predictions), len(evidence.labels.models)),)


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
