"""Estimates of models on open answers, from judgements of some of their units.

The estimated means are defined in `oversight.harness.open_answers.means`, the intervals in `…intervals`. A
judgement is missing if the unit was asked about but has no yes or no. Estimates leave missing judgements out.
The interval from `worst_low` to `worst_high` is valid whatever the missing judgements are. It is reported if
it is hardly wider than the interval that ignores missing judgements. If it is much wider, the interval that
ignores them is reported, and `why` says that this interval may not be valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import check_level
from oversight.harness.open_answers.experts import ErrorRates, ExpertReplies, find_rates, measure_experts
from oversight.harness.open_answers.means import (
    HIGH,
    LOW,
    SEEN,
    ItemMean,
    Withheld,
    clipped_score,
    mean_score,
    share_met,
    without_error,
)
from oversight.harness.open_answers.reading import BAD, MISSING, ModelUnits, read_units
from oversight.harness.open_answers.units import Judgements, check_points, number_values, object_column
from oversight.harness.output import join_reasons

SCORE, BY_ITEM, MET, NO_ERROR = "score", "score_by_item", "met", "no_error"
METRICS = (SCORE, MET, NO_ERROR)
CLIPS = ("mean", "item", "none")
_CLUSTERED = "cluster bootstrap"
_MEANS: dict[str, Callable[[ModelUnits, str, str | None], ItemMean]] = {
    SCORE: mean_score,
    BY_ITEM: clipped_score,
    MET: share_met,
    NO_ERROR: without_error,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenEstimate:
    """Estimate of one metric for a model, or for the difference of two models, with its interval.

    Attributes
    ----------
    metric
        "score": mean over items of the points of met units divided by the sum of positive points.
        "score_by_item": mean of the items' scores after each is clipped to [0, 1]. "met": share of units that
        are met. "no_error": share of answers without an error.
    model, other
        The model, and the model it is compared with (the estimate is model − other); `other` is None for an
        estimate of one model.
    field
        Field of the units; None for all fields together.
    value, low, high
        Estimate and ends of the interval; None if withheld.
    worst_low, worst_high
        Ends of an interval that is valid whatever the missing judgements are; None if there are too few
        items.
    level
        Confidence level.
    items, judged, missing
        Number of items with a judged unit; number of judged units; number of units that were asked about but
        have no yes or no. For "no_error", `missing` is the number of answers that missing judgements leave
        undecided.
    method
        Name of the method of the interval.
    corrected, corrected_low, corrected_high
        "score" or "met" corrected for experts' errors on control questions
        (`oversight.harness.open_answers.experts.ErrorRates`), with an interval that allows for uncertain
        error rates and for missing judgements. The squared margins for these two causes are added (Zou &
        Donner 2008, Stat. Med. 27). None without control questions, and if these are too few or show too many
        errors. If the correction moves the estimate by a negligible amount, `low`, `high`, `worst_low` and
        `worst_high` are the ends of this interval.
    why
        Reason why the interval may not be valid; empty if it is.
    withheld
        Reason why there is no estimate; empty if there is one.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judgements
    >>> judged = example_judgements()
    >>> [found] = estimate_open(judged, experts={"ann": "law"}, metrics=["met"], by_field=False).estimates
    >>> found.metric, found.value, found.holds
    ('met', 0.75, True)
    """

    metric: str
    model: str
    other: str | None = None
    field: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    worst_low: float | None = None
    worst_high: float | None = None
    level: float
    items: int
    judged: int
    missing: int
    method: str
    corrected: float | None = None
    corrected_low: float | None = None
    corrected_high: float | None = None
    why: str = ""
    withheld: str = ""

    @property
    def holds(self) -> bool:
        """Whether there is an estimate whose interval has its nominal coverage."""
        return not self.why and not self.withheld


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenResult:
    """All estimates of a study of open answers, and the experts' error and agreement rates.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judgements
    >>> judged = example_judgements()
    >>> estimate_open(judged, experts={"ann": "law"}, by_field=False).find_estimate("met", "m").value
    0.75
    """

    estimates: tuple[OpenEstimate, ...]
    experts: tuple[ExpertReplies, ...]
    level: float

    def find_estimate(
        self, metric: str, model: str, *, other: str | None = None, field: str | None = None
    ) -> OpenEstimate:
        """Return the estimate of a metric in a field, for `model` or for the difference `model` − `other`.

        Raises
        ------
        KeyError
            If there is no such estimate.
        """
        wanted = (metric, model, other, field)
        for estimate in self.estimates:
            if (estimate.metric, estimate.model, estimate.other, estimate.field) == wanted:
                return estimate
        raise KeyError(wanted)


def estimate_open(
    judgements: Judgements,
    *,
    experts: Mapping[str, str],
    level: float = 0.95,
    metrics: Sequence[str] = METRICS,
    by_field: bool = True,
    differences: bool = True,
    judge: FloatArray | None = None,
    cluster: Mapping[Any, Any] | None = None,
    clip: str = "mean",
    anytime: bool = False,
    widest: float = 1.25,
    doubt: str = "",
) -> OpenResult:
    """Estimate the metrics of every model, and the differences of every two models.

    Items without any question asked so far are left out. This is valid if questions are asked in random
    order. If only some drawn questions of an item were asked, judgements on the item's other drawn questions
    count as missing.

    Parameters
    ----------
    judgements
        Experts' judgements of all units of all answers.
    experts
        Expert → field.
    level
        Confidence level.
    metrics
        Some of `METRICS`.
    by_field, differences
        Whether to add estimates for every field, and whether to add differences between models.
    judge
        Shape (R,): a judge's probability that the reply is "yes", NaN if unknown. It is used as a control
        variate for "score" and "met", but not with `anytime`.
    cluster
        Item → cluster of items that may depend on each other, such as a patient. None or empty if all items
        are independent.
    clip
        "mean" clips the mean score to [0, 1]; "item" clips every item's score, which gives the metric
        "score_by_item" and needs completely judged items; "none" clips nothing.
    anytime
        Whether to compute intervals that stay valid if the results are inspected repeatedly.
    widest
        Largest ratio between the widths of two intervals: one that allows for missing judgements, and one
        that leaves them out. Above this ratio, the interval that leaves them out is reported, and
        `OpenEstimate.why` says that it may not be valid.
    doubt
        Reason why no interval may be valid, added to every `OpenEstimate.why`; empty if none is known.

    Raises
    ------
    EstimateError
        If there are no judgements, the level, a metric or `clip` is unknown, an expert has no field, an item
        has no positive points, or an item has no cluster although others have one.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judgements
    >>> judged = example_judgements()
    >>> found = estimate_open(judged, experts={"ann": "law"}, metrics=["met"], by_field=False)
    >>> print(found.estimates[0].value)
    0.75
    """
    _check(level, metrics, clip, judge, len(judgements))
    counted = np.flatnonzero(~judgements.is_control)
    units = judgements.take(counted)
    if SCORE in metrics:
        check_points(units)
    models, items = read_units(units, experts, None if anytime or judge is None else judge[counted])
    fields = sorted({field for units in models.values() for field in units.field if field is not None})
    names = [BY_ITEM if metric == SCORE and clip == "item" else metric for metric in metrics]
    people = measure_experts(judgements, level=level, anytime=anytime)
    rates = find_rates(people)
    maker = _Maker(
        models=models,
        cluster=_number_clusters(items, cluster) if cluster else None,
        level=level,
        anytime=anytime,
        clips=clip == "mean",
        rates=rates,
        widest=widest,
        doubt=doubt,
    )
    pairs = list(combinations(models, 2)) if differences else []
    estimates = [
        maker.make(metric, model, other, field)
        for field in [None, *(fields if by_field else [])]
        for metric in names
        for model, other in [*((model, None) for model in models), *pairs]
    ]
    return OpenResult(estimates=tuple(estimates), experts=people, level=level)


def _number_clusters(items: Sequence[Any], cluster: Mapping[Any, Any]) -> IntArray:
    """Return the cluster number of every item, shape (N,)."""
    for item in items:
        if item not in cluster:
            raise EstimateError(f"item {item!r} has no cluster")
    return number_values(object_column(cluster[item] for item in items))[0]


def _check(level: float, metrics: Sequence[str], clip: str, judge: FloatArray | None, rows: int) -> None:
    check_level(level)
    if not rows:
        raise EstimateError("there are no judgements")
    for metric in metrics:
        if metric not in METRICS:
            raise EstimateError(f"metrics must be among {', '.join(METRICS)}, has {metric!r}")
    if clip not in CLIPS:
        raise EstimateError(f"clip must be one of {', '.join(CLIPS)}, is {clip!r}")
    if judge is not None and judge.shape != (rows,):
        raise EstimateError(f"judge must have {rows} rows, has the shape {judge.shape}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Maker:
    """Computes estimates from the units of all models, with options that are fixed when it is created."""

    models: Mapping[Any, ModelUnits]
    cluster: IntArray | None
    level: float
    anytime: bool
    clips: bool
    rates: tuple[ErrorRates, ...]
    widest: float
    doubt: str

    @property
    def erring(self) -> list[ErrorRates]:
        """Error rates that can put estimates in doubt: the first rates, and others with a wrong reply."""
        return [rates for place, rates in enumerate(self.rates) if rates.wrong or not place]

    def make(self, metric: str, model: str, other: str | None, field: str | None) -> OpenEstimate:
        """Estimate a metric of a model, or the difference of two models.

        If the estimate is withheld, its `withheld` gives the reason.
        """
        sides = [self.models[name] for name in (model, other) if name is not None]
        common = reduce(np.intersect1d, [units.item for units in sides])
        sides = [units.take(np.flatnonzero(np.isin(units.item, common))) for units in sides]
        nothing = self._count(metric, field, sides, model, other)
        if not common.size:
            return replace(nothing, withheld="no item was answered by both models")
        try:
            return self._fill(nothing, sides)
        except Withheld as error:
            return replace(nothing, withheld=str(error))

    def _count(
        self, metric: str, field: str | None, sides: list[ModelUnits], model: str, other: str | None
    ) -> OpenEstimate:
        """Return an estimate without values: its names, and the counts of items and judgements."""
        rows = [units.of_field(field) for units in sides]
        if metric in (SCORE, MET):
            rows = [units.take(np.flatnonzero(units.order <= 1)) for units in rows]
        state = np.concatenate([units.state for units in rows])
        item = np.concatenate([units.item for units in rows])
        return OpenEstimate(
            metric=metric,
            model=model,
            other=other,
            field=field,
            level=self.level,
            items=len(np.unique(item[state <= BAD])),
            judged=int((state <= BAD).sum()),
            missing=int((state == MISSING).sum()),
            method="anytime" if self.anytime else "item bootstrap" if self.cluster is None else _CLUSTERED,
        )

    def _fill(self, nothing: OpenEstimate, sides: list[ModelUnits]) -> OpenEstimate:
        """Add a value and an interval to an estimate (`nothing`) that has only names and counts."""
        least, negatives = self._combine(nothing, sides, LOW, HIGH)
        is_bounded = nothing.metric in (NO_ERROR, BY_ITEM)
        is_known = not (least.open if is_bounded else nothing.missing)
        most = least if is_known else self._combine(nothing, sides, HIGH, LOW)[0]
        low, high = self._ends(nothing, least)
        worst_low, worst_high = low, high if is_known else self._ends(nothing, most)[1]
        why = join_reasons(self.doubt, least.doubt)
        found = replace(nothing, worst_low=worst_low, worst_high=worst_high, why=why)
        if is_bounded:
            found = replace(found, why=join_reasons(found.why, *(rates.doubt for rates in self.erring)))
            return _between(found, least, most, len(sides))
        mean = least
        if not is_known:
            mean = self._combine(nothing, sides, SEEN, SEEN)[0]
            low, high = self._ends(nothing, mean)
        found = replace(found, value=self._clip(nothing, mean.value), low=low, high=high)
        if not is_known:
            found = _allow_for_missing(found, is_near=worst_high - worst_low <= self.widest * (high - low))
        return self._correct(found, [least, mean, most], negatives, high - low)

    def _combine(
        self, named: OpenEstimate, sides: list[ModelUnits], *fills: str
    ) -> tuple[ItemMean, list[float]]:
        """Return a mean over items, and `ItemMean.negative` of each model.

        The mean is that of one model or, if `sides` has two models, the difference of their means. `fills`
        says for each model how its missing judgements count.
        """
        means = [
            _MEANS[named.metric](units, fill, named.field) for units, fill in zip(sides, fills, strict=False)
        ]
        negatives = [mean.negative for mean in means]
        return (means[0] if len(means) == 1 else means[0].minus(means[1])), negatives

    def _ends(self, named: OpenEstimate, mean: ItemMean) -> tuple[float, float]:
        low, high = self._ends_of(mean)
        return self._clip(named, low), self._clip(named, high)

    def _ends_of(self, mean: ItemMean) -> tuple[float, float]:
        return mean.interval(self.level, anytime=self.anytime, cluster=self.cluster)

    def _correct(
        self, found: OpenEstimate, means: Sequence[ItemMean], negatives: Sequence[float], width: float
    ) -> OpenEstimate:
        """Add the value corrected for experts' errors; add a reason for doubt if a correction changes much.

        The correction uses the first of the error rates, but the other rates can also be a reason for doubt.
        If the correction is negligible, its interval is reported as the interval of the estimate.

        Parameters
        ----------
        means
            Three means, in which missing judgements count as the worst possible, are left out, or count as
            the best possible.
        negatives
            Each model's `ItemMean.negative`.
        width
            Width of the interval without missing judgements.
        """
        if not self.rates:
            return found
        moving = [rates for rates in self.erring if rates.moves(means[1].value, negatives, width)]
        found = replace(found, why=join_reasons(found.why, *(rates.doubt for rates in moving)))
        rates = self.rates[0]
        if not rates.is_useful:
            return found
        found = self._correct_by(rates, found, means, negatives)
        if rates.moves(means[1].value, negatives, width):
            return found
        low, high = found.corrected_low, found.corrected_high
        method = f"{found.method}+control-questions"
        return replace(found, low=low, high=high, worst_low=low, worst_high=high, method=method)

    def _correct_by(
        self, rates: ErrorRates, found: OpenEstimate, means: Sequence[ItemMean], negatives: Sequence[float]
    ) -> OpenEstimate:
        low, high = self._ends_of(means[0])[0], self._ends_of(means[2])[1]
        least, value, most = rates.correct(means[1].value, negatives)
        low, high = (rates.correct(end, negatives)[1] for end in (low, high))
        below, above = math.hypot(value - low, value - least), math.hypot(high - value, most - value)
        lowest, highest = means[0].ends[0], means[2].ends[1]
        return replace(
            found,
            corrected=self._clip(found, min(highest, max(lowest, value))),
            corrected_low=self._clip(found, min(highest, max(lowest, value - below))),
            corrected_high=self._clip(found, min(highest, max(lowest, value + above))),
        )

    def _clip(self, named: OpenEstimate, value: float) -> float:
        if not self.clips or named.metric != SCORE or named.other is not None:
            return value
        return min(1.0, max(0.0, value))


def _allow_for_missing(found: OpenEstimate, *, is_near: bool) -> OpenEstimate:
    """Report the worst-case interval, or keep the estimate's interval and add a reason to `why`.

    The worst-case interval is reported if `is_near`: it is hardly wider than the estimate's interval.
    """
    if is_near:
        method = f"{found.method}+worst-case"
        return replace(found, low=found.worst_low, high=found.worst_high, method=method)
    asked = found.missing + found.judged
    why = (
        f"{found.missing} of {asked} questions have no yes or no, and their answers could move the estimate "
        "too far"
    )
    return replace(found, why=join_reasons(why, found.why))


def _between(found: OpenEstimate, least: ItemMean, most: ItemMean, models: int) -> OpenEstimate:
    """Return the estimate midway between the smallest and the largest value that undecided answers allow.

    An answer is undecided if its value depends on missing judgements. The estimate is withheld if too many
    answers are undecided.
    """
    answers = models * len(least.item)
    found = replace(found, missing=least.open)
    if found.metric == BY_ITEM and least.open:
        why = (
            f"{least.open} of {answers} items are not judged completely, and a clipped score needs all "
            "units of an item"
        )
        return replace(found, withheld=why)
    if 2 * least.open > answers:
        why = f"{least.open} of {answers} answers are open: they may or may not have an error"
        return replace(found, withheld=why)
    value = (least.value + most.value) / 2
    method = f"{found.method}+worst-case" if least.open else found.method
    return replace(found, value=value, low=found.worst_low, high=found.worst_high, method=method)
