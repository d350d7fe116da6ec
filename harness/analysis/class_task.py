"""Estimate and compare a study's models by class, and read the costs of misclassification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from oversight.harness.analysis.opened_study import FIRST_ONLY, EstimateOptions, OpenStudy, refuse_panel
from oversight.harness.columns import NO, LabelColumns, PredictionColumns, keep_drawn
from oversight.harness.config import Study
from oversight.harness.datasets import Row, read_rows
from oversight.harness.errors import BadInput, DataError, EstimateError
from oversight.harness.estimate import (
    UNREADABLE_COLUMN,
    ClassComparison,
    ClassEstimates,
    CostTable,
    Strata,
    check_metrics,
    classification_report,
    compare_classes,
    find_reason,
)
from oversight.harness.output import did_you_mean
from oversight.harness.store import Store


def read_costs(path: Path, classes: Sequence[str]) -> CostTable:
    """Read a table with the cost of every pair of true and predicted class.

    Parameters
    ----------
    path
        The table. Its first column names the true class. Every other column is named by a predicted class and
        contains numbers. A column ``unreadable`` has the cost of an answer without a class.
    classes
        The study's classes; each must have a row and a column.

    Raises
    ------
    DataError
        If a class is missing, unknown or repeated, or a cost is not a number; the message names line and
        column.
    """
    rows = dict[str, Row]()
    columns: Sequence[str] = ()
    for row in read_rows(path):
        first, *columns = row.fields
        name = row.text(first)
        if name not in classes:
            told = f"{name!r} is none of the study's classes{did_you_mean(name, classes)}"
            raise row.error(first, told)
        if name in rows:
            raise row.error(first, f"the class {name!r} occurs twice")
        for column in columns:
            if column not in classes and column != UNREADABLE_COLUMN:
                told = f"{column!r} is none of the study's classes{did_you_mean(column, classes)}"
                raise row.error(column, told)
            if row.number(column) is None:
                raise row.error(column, "must be a number, is empty")
        rows[name] = row
    for missing in (name for name in classes if name not in rows):
        raise DataError(f"no row for the class {missing!r}", file=path)
    for missing in (name for name in classes if name not in columns):
        raise DataError(f"no column for the class {missing!r}", file=path, line=1)

    def column_of(name: str) -> list[float]:
        return [float(rows[true].number(name) or 0.0) for true in classes]

    costs = np.array([column_of(name) for name in classes]).T
    has = UNREADABLE_COLUMN in columns
    return CostTable(costs=costs, unreadable=np.array(column_of(UNREADABLE_COLUMN)) if has else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassTask:
    """Settings for results by class: classes, metrics and costs.

    Attributes
    ----------
    errors
        Remark that results by class do not correct experts' errors; empty if no errors are known.
    level
        Confidence level at this interim analysis.
    second
        Labels of second questions, if the results use them.
    """

    classes: tuple[str, ...]
    metrics: tuple[str, ...]
    costs: CostTable | None
    errors: str
    level: float = 0.95
    second: LabelColumns | None = None

    def report(self, predictions: PredictionColumns, labels: LabelColumns, strata: Strata) -> ClassEstimates:
        """Estimate one model's results by class; if the estimation fails, every result is undefined."""
        try:
            found = classification_report(
                predictions,
                labels,
                self.classes,
                metrics=self.metrics,
                costs=self.costs,
                level=self.level,
                strata=strata,
                second=self.second,
            )
        except EstimateError as error:
            return ClassEstimates(
                {}, dict.fromkeys((*self.metrics, *["cost"] * (self.costs is not None)), str(error))
            )
        estimates = {name: replace(e, why=e.why or self.errors) for name, e in found.items()}
        return ClassEstimates(estimates, found.undefined)


def plan_class_task(opened: OpenStudy, options: EstimateOptions, strata: Strata) -> ClassTask:
    """Return the settings for results by class, and refuse estimate options that do not apply to them.

    Raises
    ------
    BadInput
        If items have different options, a metric is unknown, the table of costs is wrong, or `options` sets
        something that has no effect on results by class.
    """
    task = _make_task(opened, options)
    if ignored := [name for name in options.given if name != "look"]:
        raise BadInput(
            f"{', '.join(ignored)}: not possible together with results by class (metrics, costs); leave out "
            "one or the other"
        )
    return replace(task, level=options.level_now, second=_find_second(opened, strata))


def _find_second(opened: OpenStudy, strata: Strata) -> LabelColumns | None:
    """Return the labels of second questions if they make results by class more precise, or None.

    In simulations, they do so if at least half of the items whose first answer was no have a second question.
    """
    second, labels = opened.second_labels, opened.labels
    features = {"second questions", *(["strata"] if strata is not None else [])}
    if second is None or find_reason("metrics", labels.conditions | features):
        return None
    return second if len(second.drawn or ()) >= np.count_nonzero(labels.kind == NO) / 2 else None


def _make_task(opened: OpenStudy, options: EstimateOptions) -> ClassTask:
    classes = opened.store.columns.read_classes()
    if not classes:
        raise BadInput(
            "metrics, costs: results by class need the same classes for every item ([items] classes in "
            "study.toml), but here items have their own options"
        )
    return ClassTask(
        classes=classes,
        metrics=check_metrics(options.metrics, some=options.costs is None),
        costs=None if options.costs is None else read_costs(options.costs, classes),
        errors=opened.doubt,
    )


def compare_study_classes(study: Study, names: Sequence[str] | None = None) -> ClassComparison:
    """Run `oversight.compare_classes` on the models' newest runs, with the settings of study.toml.

    `names` selects models; None compares all except judges.

    Raises
    ------
    BadInput
        If fewer than two models were run, there are no answers, or results by class are not possible.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> study = read_study("study.toml", {"estimate.metrics": ["recall"]})
    >>> found = compare_study_classes(study)
    >>> sorted(found.results)[0]
    'recall[dermatology]'
    """
    refuse_panel(study, "metrics")
    with Store(study.store_url) as store:
        opened = OpenStudy(study, store)
        chosen, labels = opened.choose(names), opened.labels
        task = _make_task(opened, EstimateOptions.of_study(study))
        models = {name: keep_drawn(found, labels) for name, found in opened.predict(chosen).items()}
        if len(models) > 1:
            opened.expect_answers()
        found = compare_classes(
            models,
            labels,
            task.classes,
            metrics=task.metrics,
            costs=task.costs,
            level=study.estimate.level,
        )
        why = task.errors or opened.repeated
        unused = opened.tell_unused(FIRST_ONLY)
    results = {
        name: tuple(replace(pair, why=pair.why or why) for pair in pairs)
        for name, pairs in found.results.items()
    }
    return replace(found, results=results, left_out=(*chosen.remarks, *filter(None, [unused])))
