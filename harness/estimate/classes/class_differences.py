"""Which of two models has the better recall, precision, F1 or mean cost, on the same items and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtr

from oversight.harness.columns import ABSENT, AnyLabels, AnyPredictions, align_models
from oversight.harness.errors import BadInput, EstimateError, NotIdentified
from oversight.harness.estimate.classes.class_parts import ClassEvidence
from oversight.harness.estimate.classes.class_report import (
    ClassResults,
    check_classes,
    check_metrics,
    name_results,
)
from oversight.harness.estimate.classes.mean_costs import COST, CostTable, mean_cost
from oversight.harness.estimate.classes.parts import METHOD, Part, cautious_correlation, difference_part
from oversight.harness.estimate.comparison import TIED, Comparison, pairs_table
from oversight.harness.estimate.core import check_level, z_value
from oversight.harness.estimate.model_comparison import why_unfinished
from oversight.harness.expected import check_mapping
from oversight.harness.types import HtmlTable, Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class CostComparison(Comparison):
    """The difference in mean cost of two models; the better one costs less."""

    @property
    def verdict(self) -> str:
        """Name of the cheaper model, or ``"tie"``."""
        if self.p_value > 1 - self.level or self.difference == 0:
            return TIED
        return self.second if self.difference > 0 else self.first


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassComparison(Shown):
    """Differences of results by class between models.

    Attributes
    ----------
    results
        Name of a result, such as ``recall[cardiology]``, → every pair of models.
    undefined
        Name of a result that is withheld of a pair → why.
    left_out
        What is said of models that have no answers yet, and of judges.
    """

    results: Mapping[str, tuple[Comparison, ...]]
    undefined: Mapping[str, str]
    left_out: Sequence[str] = ()

    def records(self) -> list[dict[str, Any]]:
        """A row a result and pair."""
        return [
            {"result": n} | row for n, pairs in self.results.items() for p in pairs for row in p.records()
        ]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """What a notebook shows: a table a result."""
        shown = (replace(pairs_table(pairs), title=f"Difference in {n}") for n, pairs in self.results.items())
        return (*shown, HtmlTable(notes=[f"{n}: {why}" for n, why in self.undefined.items()]))


def compare_classes(
    models: Mapping[str, AnyPredictions],
    labels: AnyLabels,
    classes: Sequence[str],
    *,
    metrics: Sequence[str] = ("macro_f1",),
    costs: CostTable | None = None,
    level: float = 0.95,
) -> ClassComparison:
    """Differences of models' results by class, on the items that all of them answered.

    Parameters
    ----------
    models
        Name → predictions, of at least two models.
    labels, classes, metrics, costs
        As in `classification_report`; the prevalence of a class is no result of a model.
    level
        Confidence level of all pairs of a result together (Bonferroni).

    Raises
    ------
    BadInput
        If there are fewer than two models, a metric is not known, or items have other options.
    EstimateError
        If the labels contradict themselves.
    """
    check_mapping("models", models, "name to predictions")
    metrics, number = check_metrics(metrics, some=costs is None), check_classes(classes, costs)
    if len(models) < 2:
        raise BadInput(f"a comparison needs at least 2 models, there are {len(models)}")
    if "prevalence" in metrics:
        raise BadInput("metrics: prevalence is of the items, not of a model; leave it out of a comparison")
    check_level(level)
    columns, said = align_models(list(models.values()), labels)
    everywhere = np.logical_and.reduce([m.ran for m in columns])
    kept = [replace(m, option=np.where(everywhere, m.option, ABSENT), confidence=None) for m in columns]
    pairs = list(combinations(range(len(kept)), 2))
    each = 1 - (1 - level) / len(pairs)
    names = [name for name, _, _ in name_results(metrics, classes, costs)]
    try:
        made = [ClassResults(ClassEvidence.ready(m, said, number, None, each), classes, costs) for m in kept]
    except NotIdentified as error:
        return ClassComparison(results={}, undefined=dict.fromkeys(names, str(error)))
    unfinished = why_unfinished(said.asked_items, np.logical_and.reduce([m.is_there for m in columns]))
    found, undefined = dict[str, tuple[Comparison, ...]](), dict[str, str]()
    for name, metric, option in name_results(metrics, classes, costs):
        try:
            parts = [_subtract(made[i], made[j], metric, option, unfinished) for i, j in pairs]
        except EstimateError as error:
            undefined[name] = str(error)
            continue
        kind = CostComparison if metric == COST else Comparison
        found[name] = tuple(
            _compare(
                kind, difference, made[i].evidence, (list(models)[i], list(models)[j]), len(pairs), level
            )
            for difference, (i, j) in zip(parts, pairs, strict=True)
        )
    return ClassComparison(results=found, undefined=undefined)


def _subtract(
    first: ClassResults, second: ClassResults, metric: str, option: int, unfinished: str
) -> tuple[Part, str]:
    """One result of one model less that of another, at the level of the evidence, and why it may not hold.

    Raises
    ------
    EstimateError
        If it is withheld of one of them.
    """
    if metric == COST and first.costs is not None:
        both = [first.evidence.predictions, second.evidence.predictions]
        made = mean_cost(first.evidence, both, (1, -1), first.costs)
        return Part.within(made.value, made.low, made.high), made.why or unfinished
    one, other = (results.reading(metric, option) for results in (first, second))
    rho = -1.0
    if one.influence is not None and other.influence is not None:
        rho = cautious_correlation(one.influence, other.influence, first.truths.cluster)
    return difference_part(one.part, other.part, rho), one.why or other.why or unfinished


def _compare(
    kind: type[Comparison],
    difference: tuple[Part, str],
    evidence: ClassEvidence,
    names: tuple[str, str],
    pairs: int,
    level: float,
) -> Comparison:
    """A difference as a comparison; its p-value is where a normal error of the width towards 0 puts it."""
    (part, why), labels = difference, evidence.labels
    half = part.value - part.low if part.value > 0 else part.high - part.value
    deviations = abs(part.value) / half * z_value(evidence.level) if half > 0 else 0.0
    return kind(
        first=names[0],
        second=names[1],
        difference=part.value,
        low=part.low,
        high=part.high,
        p_value=min(1.0, pairs * 2 * float(ndtr(-deviations))),
        level=level,
        method=METHOD,
        items=int(np.count_nonzero(evidence.population)),
        questions=int(np.count_nonzero(evidence.population[labels.item] & (labels.kind >= 0))),
        adjusted="bonferroni" if pairs > 1 else "none",
        assumptions=labels.statement.assumptions if labels.statements else (),
        notes=evidence.notes,
        why=why,
    )
