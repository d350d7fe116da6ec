"""Recall, precision and F1 of every class, and their means over the classes, from experts' yes and no.

Each class's result is made of shares that are accuracies of constant answers (`class_parts`), put together by
`parts`; nothing is smoothed on the way, and every part has the interval of an accuracy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import AnyLabels, AnyPredictions, align
from oversight.harness.errors import BadInput, EstimateError, NotIdentified
from oversight.harness.estimate.classes.class_parts import LEAST, ClassEvidence, ItemTruths
from oversight.harness.estimate.classes.mean_costs import COST, CostTable, mean_cost
from oversight.harness.estimate.classes.parts import (
    METHOD,
    Part,
    f1_weights,
    ratio_part,
    recall_weights,
    sum_part,
)
from oversight.harness.estimate.core import check_level
from oversight.harness.estimate.data import Estimates, Strata
from oversight.harness.expected import check_names
from oversight.harness.types import Estimate, HtmlTable, estimate_table

BY_CLASS = ("precision", "recall", "f1", "prevalence")
"""Results of one class."""
MACRO = ("macro_precision", "macro_recall", "macro_f1")
"""Their plain means over all classes; `macro_recall` is balanced accuracy."""
METRICS = (*BY_CLASS, *MACRO)
USUAL = ("precision", "recall", "f1", "macro_f1")
"""What is shown where nobody says what to show."""


def check_metrics(metrics: Iterable[str], *, some: bool = True) -> tuple[str, ...]:
    """The metrics, each once.

    Raises
    ------
    BadInput
        If one is not known, or there is none though some are needed.
    """
    check_names("metrics", metrics, "['recall', 'macro_f1']")
    found = tuple(dict.fromkeys(metrics))
    for name in found:
        if name not in METRICS:
            raise BadInput(f"metrics: must be of {', '.join(METRICS)}; {name!r} is none")
    if some and not found:
        raise BadInput(f"metrics: give at least one of {', '.join(METRICS)}")
    return found


def check_classes(classes: Sequence[str], costs: CostTable | None) -> int:
    """Number of the classes, which must be at least 2, differ, and be those of the table of costs."""
    check_names("classes", classes)
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise BadInput(f"classes: there must be at least 2, each once, are {', '.join(map(repr, classes))}")
    if costs is not None and len(costs.costs) != len(classes):
        raise BadInput(f"costs: there are {len(classes)} classes, and the table has {len(costs.costs)}")
    return len(classes)


def name_results(
    metrics: Iterable[str], classes: Sequence[str], costs: CostTable | None
) -> list[tuple[str, str, int]]:
    """Every result as its name, such as ``recall[cardiology]``, its metric, and its class, −1 for all."""
    found = list[tuple[str, str, int]]()
    for metric in metrics:
        each = enumerate(classes) if metric in BY_CLASS else ()
        found += [(f"{metric}[{name}]", metric, k) for k, name in each] or [(metric, metric, -1)]
    return found + [(COST, COST, -1)] * (costs is not None)


class ClassEstimates(Estimates):
    """Results by class, by their names; `undefined` says why one is not among them."""

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """What a notebook shows."""
        return (estimate_table(self, self.undefined, "Results by class", column="result"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassResult:
    """A result of a class, and how the truth of items of the class enters it.

    Attributes
    ----------
    inside, outside
        Weight of 1{y = c} near the estimate where the model predicts the class, and elsewhere.
    known
        What a prediction of the class adds by itself.
    """

    estimate: Estimate
    option: int
    inside: float = 1.0
    outside: float = 0.0
    known: float = 0.0

    @property
    def part(self) -> Part:
        """Its value and limits."""
        return Part.within(self.estimate.value, self.estimate.low, self.estimate.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A result as differences need it; `influence` is what every item adds, None where unknown."""

    part: Part
    influence: FloatArray | None
    why: str


class ClassResults:
    """All results by class of one model, each worked out once."""

    def __init__(
        self, evidence: ClassEvidence, classes: Sequence[str], costs: CostTable | None = None
    ) -> None:
        self.evidence, self.classes, self.costs = evidence, classes, costs
        self._estimates = dict[tuple[str, int], Estimate | EstimateError]()

    @cached_property
    def truths(self) -> ItemTruths:
        """What answers tell of every item."""
        e = self.evidence
        return ItemTruths.gather([e.predictions], e.labels, e.classes, e.strata)

    def report(self, metrics: Sequence[str]) -> ClassEstimates:
        """Those asked for, in their order; withheld ones with the reason."""
        found, undefined = dict[str, Estimate](), dict[str, str]()
        for name, metric, option in name_results(metrics, self.classes, self.costs):
            try:
                found[name] = self.evidence.finish(self.estimate(metric, option))
            except EstimateError as error:
                undefined[name] = str(error)
        return ClassEstimates(found, undefined)

    def estimate(self, metric: str, option: int) -> Estimate:
        """A result of a class, or of all (−1).

        Raises
        ------
        EstimateError
            Why it is withheld.
        """
        if metric == COST:
            return self.cost()
        return self.mean(metric) if option < 0 else self.result(metric, option).estimate

    def reading(self, metric: str, option: int) -> Reading:
        """The same as differences need it."""
        made = self.estimate(metric, option)
        whole = range(len(self.classes)) if option < 0 else (option,)
        try:
            each = [self.influence(self.result(metric.removeprefix("macro_"), k)) for k in whole]
        except NotIdentified:
            each = []
        influence = np.mean(each, axis=0) if each else None
        return Reading(part=Part.within(made.value, made.low, made.high), influence=influence, why=made.why)

    def cost(self) -> Estimate:
        """Mean cost of the model's answers."""
        if self.costs is None:
            raise BadInput("costs: a mean cost needs a table of them")
        return mean_cost(self.evidence, [self.evidence.predictions], (1,), self.costs)

    def result(self, metric: str, option: int) -> ClassResult:
        """One result of one class.

        Raises
        ------
        EstimateError
            Why it is withheld.
        """
        evidence = self.evidence
        if metric == "prevalence":
            everybody = self._share("prevalence", option)
            return ClassResult(estimate=replace(everybody, estimator=metric), option=option, outside=1.0)
        share = evidence.share(evidence.predicted(option))
        if share.value == 0:
            raise EstimateError("no item is predicted to be of this class")
        hit = self._share("hit", option)
        if metric == "precision":
            known = -hit.value / share.value
            made = replace(hit, estimator=metric)
            return ClassResult(estimate=made, option=option, inside=1 / share.value, known=known)
        return self._ratio(metric, option, share, hit)

    def _ratio(self, metric: str, option: int, share: Part, hit: Estimate) -> ClassResult:
        evidence, whole = self.evidence, 1 - share.value
        missed = self._share("missed", option) if whole > 0 else None
        miss = Part(value=1.0, low=0.0, high=1.0) if missed is None else _part(missed)
        of_class = share.value * hit.value + whole * miss.value
        expected = evidence.expect_yes(option, share.value)
        if expected < LEAST:
            raise EstimateError(
                f"about {expected:.1f} yes-answers about this class are to be expected of these questions, "
                f"if it is as frequent as it is predicted; fewer than {LEAST:g} tell nothing"
            )
        weights = recall_weights if metric == "recall" else f1_weights
        together = evidence.labels.cluster is not None
        found = ratio_part(share, _part(hit), miss, weights, together=together).widen(evidence.level)
        size = of_class if metric == "recall" else share.value + of_class
        alpha, beta, gamma = (w / size for w in weights(found.value))
        why = hit.why or (missed.why if missed else "")
        estimate = _estimate(hit, found, metric, why)
        return ClassResult(estimate=estimate, option=option, inside=alpha, outside=-beta, known=-gamma)

    def mean(self, metric: str) -> Estimate:
        """Mean over all classes of a result of each."""
        one, results = metric.removeprefix("macro_"), list[ClassResult]()
        for option, name in enumerate(self.classes):
            try:
                results.append(self.result(one, option))
            except EstimateError as error:
                raise type(error)(f"{one}[{name}] is withheld: {error}") from error
        each = 1 / len(results)
        correlation = self.truths.correlate([self._form(r) for r in results])
        found = sum_part([(each, r.part) for r in results], correlation)
        found = Part(value=found.value, low=max(0.0, found.low), high=min(1.0, found.high))
        found = found.widen(self.evidence.level)
        why = next((r.estimate.why for r in results if r.estimate.why), "")
        return _estimate(results[0].estimate, found, metric, why)

    def influence(self, result: ClassResult) -> FloatArray:
        """What every item adds to a result, shape (N,).

        Raises
        ------
        NotIdentified
            If answers do not tell it.
        """
        return self.truths.influence(*self._form(result))

    def _form(self, result: ClassResult) -> tuple[IntArray, FloatArray, FloatArray]:
        mine = self.evidence.predictions.option == result.option
        option, weight = np.full(mine.size, result.option), np.where(mine, result.inside, result.outside)
        return option, weight, result.known * mine

    def _share(self, what: str, option: int) -> Estimate:
        """Share of a class among all items, those predicted to be of it, or the others; made once."""
        key = what, option
        if key not in self._estimates:
            try:
                self._estimates[key] = self._estimate(what, option)
            except EstimateError as error:
                self._estimates[key] = error
        found = self._estimates[key]
        if isinstance(found, EstimateError):
            raise found
        return found

    def _estimate(self, what: str, option: int) -> Estimate:
        e = self.evidence
        predicted = e.predicted(option)
        if what == "hit":
            return e.estimate(predicted, option)
        return e.find(e.population & ~predicted if what == "missed" else e.population, option)


def _part(estimate: Estimate) -> Part:
    return Part.within(estimate.clipped, estimate.low, estimate.high)


def _estimate(like: Estimate, found: Part, metric: str, why: str) -> Estimate:
    """A result that is combined of parts, with the counts and assumptions of one of them."""
    return replace(
        like,
        value=found.value,
        low=found.low,
        high=found.high,
        se=None,
        estimator=metric,
        method=METHOD,
        steps=(),
        notes=(),
        why=why,
    )


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
