"""Results by class of a study's models: what they need of the study, and their differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from oversight.harness.analysis.opened_study import FIRST_ONLY, OpenStudy
from oversight.harness.analysis.options import EstimateOptions, refuse_panel
from oversight.harness.columns import LabelColumns, PredictionColumns, keep_drawn
from oversight.harness.config import Study
from oversight.harness.datasets import read_costs
from oversight.harness.errors import BadInput, EstimateError
from oversight.harness.estimate import (
    ClassComparison,
    ClassEstimates,
    CostTable,
    Strata,
    check_metrics,
    classification_report,
    compare_classes,
)
from oversight.harness.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassTask:
    """Which results by class are wanted, of which classes, with what costs.

    Attributes
    ----------
    errors
        What is known of experts' errors, which results by class do not allow for; empty where nothing is.
    """

    classes: tuple[str, ...]
    metrics: tuple[str, ...]
    costs: CostTable | None
    errors: str

    def report(
        self, predictions: PredictionColumns, labels: LabelColumns, strata: Strata, level: float
    ) -> ClassEstimates:
        """Those of one model; all withheld where its labels contradict themselves."""
        try:
            found = classification_report(
                predictions,
                labels,
                self.classes,
                metrics=self.metrics,
                costs=self.costs,
                level=level,
                strata=strata,
            )
        except EstimateError as error:
            return ClassEstimates(
                {}, dict.fromkeys((*self.metrics, *["cost"] * (self.costs is not None)), str(error))
            )
        estimates = {name: replace(e, why=e.why or self.errors) for name, e in found.items()}
        return ClassEstimates(estimates, found.undefined)


def plan_class_task(opened: OpenStudy, options: EstimateOptions) -> ClassTask | None:
    """What results by class need of a study; None where none are wanted.

    Raises
    ------
    BadInput
        If items bring options of their own, a metric is not known, the table of costs is wrong, or another
        option has no effect on results by class.
    """
    if not options.by_class:
        return None
    task = _make_task(opened, options.metrics, options.costs)
    if ignored := options.find_given("gold", "interval", "published", "anytime", "joint"):
        raise BadInput(
            f"{', '.join(ignored)}: not possible together with results by class (metrics, costs); leave out "
            "one or the other"
        )
    return task


def _make_task(opened: OpenStudy, metrics: Sequence[str], costs: Path | None) -> ClassTask:
    classes = opened.store.columns.read_classes()
    if not classes:
        raise BadInput(
            "metrics, costs: results by class need the same classes of every item ([items] classes in "
            "study.toml), and here items bring options of their own"
        )
    return ClassTask(
        classes=classes,
        metrics=check_metrics(metrics, some=costs is None),
        costs=None if costs is None else read_costs(costs, classes),
        errors=opened.doubt,
    )


def compare_study_classes(
    study: Study,
    names: Sequence[str] | None = None,
    *,
    metrics: Sequence[str],
    costs: Path | None = None,
    level: float | None = None,
) -> ClassComparison:
    """`oversight.harness.compare_classes` of the newest runs, or of those named; at the study's level.

    Raises
    ------
    BadInput
        If fewer than two models were run, there are no answers, or results by class are not possible.
    """
    refuse_panel(study, "metrics")
    with Store(study.store_url) as store:
        opened = OpenStudy(study, store)
        chosen, labels = opened.choose(names), opened.labels
        task = _make_task(opened, metrics, costs)
        models = {name: keep_drawn(found, labels) for name, found in opened.predict(chosen).items()}
        if len(models) > 1:
            opened.expect_answers()
        found = compare_classes(
            models,
            labels,
            task.classes,
            metrics=task.metrics,
            costs=task.costs,
            level=level or study.estimate.level,
        )
        why = task.errors or opened.repeated
        unused = opened.tell_unused(FIRST_ONLY)
    results = {
        name: tuple(replace(pair, why=pair.why or why) for pair in pairs)
        for name, pairs in found.results.items()
    }
    return replace(found, results=results, left_out=(*chosen.remarks, *filter(None, [unused])))
