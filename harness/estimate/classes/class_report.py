"""Recall, precision and F1 of every class, and their means over the classes, from experts' yes and no.

Each class's result is made of shares that are accuracies of constant answers (`class_parts`), put together by
`ratios`; nothing is smoothed on the way, and every part has the interval of an accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence

from oversight.harness.columns import AnyLabels, AnyPredictions, align
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.classes.class_names import USUAL, check_classes, check_metrics, name_results
from oversight.harness.estimate.classes.class_parts import ClassEvidence
from oversight.harness.estimate.classes.cost_table import CostTable
from oversight.harness.estimate.classes.model_by_class import ClassEstimates, ClassResults
from oversight.harness.estimate.core import check_level
from oversight.harness.estimate.data import Strata


def classification_report(
    predictions: AnyPredictions,
    labels: AnyLabels,
    classes: Sequence[str],
    *,
    metrics: Sequence[str] = USUAL,
    costs: CostTable | None = None,
    level: float = 0.95,
    strata: Strata = None,
) -> ClassEstimates:
    """Results by class of one model, and what its answers cost on average.

    Parameters
    ----------
    predictions, labels, strata
        As in `oversight.harness.accuracy`. An unreadable prediction is one of no class.
    classes
        Names of the options, the same for every item.
    metrics
        Names of `METRICS`: ``precision``, P(y = c | ŷ = c); ``recall``, P(ŷ = c | y = c); ``f1``;
        ``prevalence``, P(y = c); and the means ``macro_precision``, ``macro_recall``, ``macro_f1``.
    costs
        What every truth and prediction costs, for the mean ``cost``.
    level
        Confidence level of each.

    Returns
    -------
    ClassEstimates
        Named ``recall[cardiology]``, ``macro_f1``, ``cost``; `undefined` has those withheld, with the reason.

    Raises
    ------
    BadInput
        If a metric is not known, items have other options than the classes, or strata have no effect.
    EstimateError
        If the labels contradict themselves.
    """
    metrics = check_metrics(metrics, some=costs is None)
    number = check_classes(classes, costs)
    check_level(level)
    one, said = align(predictions, labels)
    try:
        evidence = ClassEvidence.ready(one, said, number, strata, level)
    except NotIdentified as error:
        names = [name for name, _, _ in name_results(metrics, classes, costs)]
        return ClassEstimates({}, dict.fromkeys(names, str(error)))
    return ClassResults(evidence, classes, costs).report(metrics)
