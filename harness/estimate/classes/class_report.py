"""Results by class, mean costs, and their differences between models.

The mean cost of a model's answers, or its utility: a number for every truth and prediction.

An accuracy is the mean of 1 where both are the same and of 0 elsewhere; where a missed infarction is worse
than a false alarm, a mean cost says which model does less harm.

Items of which models predict the same are a row. In a row j every truth k costs C_jk; b_j is the commonest
of these values, and the others are C_jk = b_j + w. So the mean cost is Σ_j P_j b_j + Σ_w w A_w, with A_w
the share of items of which an option that costs w more than its row's b is true. Of each row that is one
option (or A_w has several parts), so that A_w is an accuracy of answers that depend on the row, and has the
interval of one. For costs of 0 and 1 it is the accuracy itself, however many classes there are.

Recall, precision and F1 of every class, and their means over the classes, from experts' yes and no.

Each class's result is made of shares that are accuracies of constant answers (`ClassEvidence`), put together
by `ratio_part`; nothing is smoothed on the way, and every part has the interval of an accuracy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtr

from oversight.harness.arrays import AnyIntArray, FloatArray, IntArray
from oversight.harness.columns import (
    ABSENT,
    AnyLabels,
    AnyPredictions,
    PredictionColumns,
    align,
    align_models,
)
from oversight.harness.errors import BadInput, EstimateError, NotIdentified
from oversight.harness.estimate.classes.class_parts import (
    LEAST,
    METHOD,
    ClassEvidence,
    ItemTruths,
    Part,
    cautious_correlation,
    difference_part,
    f1_weights,
    ratio_part,
    recall_weights,
    sum_part,
)
from oversight.harness.estimate.core import check_level, z_value
from oversight.harness.estimate.data import Estimates, Strata
from oversight.harness.estimate.intervals import scale_by_share, share_interval
from oversight.harness.estimate.model_comparison import why_unfinished
from oversight.harness.estimate.paired import TIED, Comparison, pairs_table
from oversight.harness.estimate.routed import ROUTED_ASSUMPTIONS
from oversight.harness.expected import check_mapping, check_names
from oversight.harness.types import Estimate, HtmlTable, Shown, estimate_table

COST = "cost"
"""Name of the mean cost among results."""
UNREADABLE_COLUMN = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostTable:
    """What predictions cost.

    Attributes
    ----------
    costs
        Shape (K, K): by true class (row) and predicted class (column).
    unreadable
        Shape (K,): of a prediction that names no class, by true class; None if the table does not say.
    """

    costs: FloatArray
    unreadable: FloatArray | None = None

    def __post_init__(self) -> None:
        square = np.asarray(self.costs, dtype=np.float64)
        if square.ndim != 2 or square.shape[0] != square.shape[1]:
            raise BadInput(f"costs: must be a square table, has shape {square.shape}")
        rest = None if self.unreadable is None else np.asarray(self.unreadable, dtype=np.float64)
        if rest is not None and rest.shape != square.shape[:1]:
            raise BadInput(f"costs: {UNREADABLE_COLUMN!r} must have {len(square)} numbers, has {rest.size}")
        if not (np.isfinite(square).all() and (rest is None or np.isfinite(rest).all())):
            raise BadInput("costs: every cost must be a finite number")
        object.__setattr__(self, "costs", square)
        object.__setattr__(self, "unreadable", rest)

    def of_prediction(self, option: int) -> FloatArray:
        """Cost of each truth where this option is predicted, −1 for an unreadable answer; shape (K,).

        Raises
        ------
        EstimateError
            If the answer is unreadable and the table does not say what that costs.
        """
        if option >= 0:
            return self.costs[:, option]
        if self.unreadable is None:
            raise EstimateError(
                "costs: some answers are unreadable, and the table does not say what they cost: give it a "
                f"column {UNREADABLE_COLUMN!r}"
            )
        return self.unreadable


@dataclass(frozen=True, kw_only=True, eq=False)
class CostForm:
    """Costs of N items as what is known of them and what their truth adds.

    Attributes
    ----------
    base
        b of every item, shape (N,).
    weights
        Every w, each with the option of every item that adds it, −1 without one; shape (N,).
    low, high
        The least and most that an item of these predictions can cost.
    """

    base: FloatArray
    weights: Sequence[tuple[float, IntArray]]
    low: float
    high: float

    @classmethod
    def of(cls, costs: CostTable, predicted: AnyIntArray, signs: Sequence[int]) -> CostForm:
        """Of predictions of shape (N, M) by models whose costs are added up with these signs."""
        rows, number = np.unique(predicted, axis=0, return_inverse=True)
        number = number.reshape(-1)
        # differences of equal costs are equal, whatever rounding makes of them
        table = np.round(
            [
                np.sum([s * costs.of_prediction(int(o)) for s, o in zip(signs, row, strict=True)], axis=0)
                for row in rows
            ],
            12,
        )
        base = np.array([_commonest(line.tolist()) for line in table])
        found = list[tuple[float, IntArray]]()
        for weight, options in _group(table - base[:, None]):
            found.append((weight, options[number]))
        return cls(base=base[number], weights=found, low=float(table.min()), high=float(table.max()))


def _commonest(costs: list[float]) -> float:
    """Of values that are equally common the largest, so that rows of two options are about the same one."""
    number = Counter(costs)
    return max(number, key=lambda cost: (number[cost], cost))


def _group(more: FloatArray) -> Iterator[tuple[float, IntArray]]:
    """Every w that differs from 0 with an option of every row that adds it, as often as it takes."""
    for weight in np.unique(more[more != 0]):
        has = more == weight
        for turn in range(int(has.sum(axis=1).max())):
            place = np.cumsum(has, axis=1) == turn + 1
            chosen = has & place
            yield float(weight), np.where(chosen.any(axis=1), chosen.argmax(axis=1), -1)


Entry = tuple[float, Part, IntArray, FloatArray]
"""Weight, part, and by item the option whose truth it is of (−1: none) and what is known without (0, 1)."""


def mean_cost(
    evidence: ClassEvidence, models: Sequence[PredictionColumns], signs: Sequence[int], costs: CostTable
) -> Estimate:
    """Mean of the models' costs, each times its sign: (1,) for one model, (1, −1) for one less another.

    Parameters
    ----------
    evidence
        Of predictions of the items that all models answered.

    Raises
    ------
    EstimateError
        If answers do not tell it.
    """
    places = np.flatnonzero(evidence.population)
    predicted = np.stack([m.option[places] for m in models], axis=1)
    form = CostForm.of(costs, np.maximum(predicted, -1), signs)
    least = float(form.base.min(initial=np.inf))
    if not form.weights and form.low == form.high:
        return _all_alike(evidence, form.low, costs, signs, len(places))
    entries = [*_known(evidence, form, places), *_unknown(evidence, form, places)]
    whys = [why for _, why in entries if why]
    parts = [entry for entry, _ in entries]
    rho: FloatArray = np.ones((len(parts), len(parts)))
    if len(parts) > 1:
        truths = ItemTruths.gather(models, evidence.labels, evidence.classes, evidence.strata)
        forms = [(option, np.full(option.size, weight), weight * known) for weight, _, option, known in parts]
        rho = truths.correlate(forms)
    total = sum_part([(weight, part) for weight, part, _, _ in parts], rho)
    spread = form.high - form.low
    if spread > 0 and len(parts) > 1:
        low, value, high = ((least + end - form.low) / spread for end in (total.low, total.value, total.high))
        wide = Part(value=value, low=max(0.0, low), high=min(1.0, high)).widen(evidence.level)
        total = Part(
            value=total.value,
            low=form.low + spread * wide.low - least,
            high=form.low + spread * wide.high - least,
        )
    ends = max(form.low, least + total.low), min(form.high, least + total.high)
    return _estimate_cost(evidence, least + total.value, *ends, next(iter(whys), ""))


def _estimate_cost(evidence: ClassEvidence, cost: float, low: float, high: float, why: str = "") -> Estimate:
    return Estimate(
        value=cost,
        low=low,
        high=high,
        se=None,
        level=evidence.level,
        estimator=COST,
        method=METHOD,
        assumptions=ROUTED_ASSUMPTIONS,
        why=why,
    )


def _all_alike(
    evidence: ClassEvidence, cost: float, costs: CostTable, signs: Sequence[int], n: int
) -> Estimate:
    """Where each of n items costs the same whatever is true; others, which were not seen, may cost more."""
    table = costs.costs if costs.unreadable is None else np.append(costs.costs.ravel(), costs.unreadable)
    most, least = float(table.max()), float(table.min())
    if len(signs) > 1:
        most, least = most - least, least - most
    unseen = share_interval(0, n, evidence.level)[1]
    return _estimate_cost(evidence, cost, cost - unseen * (cost - least), cost + unseen * (most - cost))


def _known(evidence: ClassEvidence, form: CostForm, places: IntArray) -> list[tuple[Entry, str]]:
    """What predictions cost whatever is true, as shares of items that cost more than the cheapest."""
    found = list[tuple[Entry, str]]()
    values = np.unique(form.base)
    for value in values[1:]:
        items = np.zeros(len(evidence.population), np.bool_)
        items[places[form.base == value]] = True
        none = np.full(items.size, -1, dtype=np.int64)
        found.append(((float(value - values[0]), evidence.share(items), none, items.astype(np.float64)), ""))
    return found


def _unknown(evidence: ClassEvidence, form: CostForm, places: IntArray) -> list[tuple[Entry, str]]:
    """What truths add: shares of items, each with the interval of an accuracy."""
    found = list[tuple[Entry, str]]()
    for weight, column in form.weights:
        option = np.full(len(evidence.population), -1)
        option[places] = column
        items = option >= 0
        inner = evidence.find(items, option)
        part = Part.within(inner.clipped, inner.low, inner.high)
        share = evidence.share(items)
        if share.value < 1:
            size, ends = len(places), (part.value, part.low, part.high)
            part = Part.within(*scale_by_share(share.value, size, *ends, evidence.level))
        found.append(((weight, part, option, np.zeros(items.size)), inner.why))
    return found


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
        estimate = _combine(hit, found, metric, why)
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
        return _combine(results[0].estimate, found, metric, why)

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
                self._estimates[key] = self._combine(what, option)
            except EstimateError as error:
                self._estimates[key] = error
        found = self._estimates[key]
        if isinstance(found, EstimateError):
            raise found
        return found

    def _combine(self, what: str, option: int) -> Estimate:
        e = self.evidence
        predicted = e.predicted(option)
        if what == "hit":
            return e.estimate(predicted, option)
        return e.find(e.population & ~predicted if what == "missed" else e.population, option)


def _part(estimate: Estimate) -> Part:
    return Part.within(estimate.clipped, estimate.low, estimate.high)


def _combine(like: Estimate, found: Part, metric: str, why: str) -> Estimate:
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
