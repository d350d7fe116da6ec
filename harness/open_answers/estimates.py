"""Estimates of models on open answers, from judgements of some of their units.

`oversight.harness.open_answers.means` says what is estimated, `…intervals` how sure it is. Missing judgements
(asked about, no yes or no) are left out of the number. `worst_low` and `worst_high` hold whatever they would
be. If these ends are hardly wider, they are the interval; if not, `why` says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from oversight.harness.arrays import FloatArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import check_level, is_negligible
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
from oversight.harness.open_answers.units import Judgements

SCORE, BY_ITEM, MET, NO_ERROR = "score", "score_by_item", "met", "no_error"
METRICS = (SCORE, MET, NO_ERROR)
CLIPS = ("mean", "item", "none")
_MEANS: dict[str, Callable[[ModelUnits, str, str | None, list[Any]], ItemMean]] = {
    SCORE: mean_score,
    BY_ITEM: clipped_score,
    MET: share_met,
    NO_ERROR: without_error,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenEstimate:
    """One number of a model, or of the difference of two, with its interval.

    Attributes
    ----------
    metric
        "score" (mean over items of points of what is met by the sum of positive points), "score_by_item"
        (the same with every item's score clipped to [0, 1]), "met" (share of units met), or "no_error"
        (share of answers without an error).
    model, other
        The model; the model that it is compared with (model − other), else None.
    field
        None for all fields.
    value, low, high
        Estimate and interval from the units that were judged; None if withheld.
    worst_low, worst_high
        Ends of an interval that holds whatever missing judgements would be; None if withheld for few items.
    corrected, corrected_low, corrected_high
        "score" and "met" with experts' errors taken into account, as control questions show them
        (`oversight.harness.open_answers.experts.ErrorRates`), and an interval that allows for what is not
        known of the errors and for missing judgements: the distances of both from the number, squared and
        added (Zou & Donner 2008, Stat. Med. 27). None unless experts gave wrong replies to control questions.
    items, judged, missing
        Items with a judged unit; units judged; units asked about without a yes or no ("no_error": answers
        that may have an error or not).
    method
        How the interval was made.
    why
        Why the interval may not hold; empty if it does.
    withheld
        Why there is no number; empty if there is one.

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
    value: float | None
    low: float | None
    high: float | None
    worst_low: float | None
    worst_high: float | None
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
        """Whether the interval covers the truth as often as its level says."""
        return not self.why and not self.withheld


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenResult:
    """All estimates of a study of open answers, and what is known of its experts.

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
        """One estimate by its names.

        Raises
        ------
        KeyError
            If there is none.
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
    clip: str = "mean",
    anytime: bool = False,
    widest: float = 1.25,
) -> OpenResult:
    """Estimate every model's numbers, and the differences of every two models.

    Items none of whose questions were put yet are left out, which needs that questions are put in random
    order; of an item that was begun, questions that were not put count as missing.

    Parameters
    ----------
    judgements
        All units of all answers, and what was said of them.
    experts
        Expert → field.
    metrics
        Some of `METRICS`.
    judge
        Shape (R,): a judge's probability that the reply is "yes", NaN where unknown: a control variate of
        "score" and "met". Not used at any time.
    clip
        "mean": the mean score is clipped to [0, 1]; "item": every item's score is, which gives the metric
        "score_by_item" and needs complete items; "none".
    anytime
        Make intervals that hold however often one looks.
    widest
        How many times as wide an interval may become that allows for missing judgements. Beyond it, the
        interval is that of what was judged, and `OpenEstimate.why` says that it may not hold.

    Raises
    ------
    EstimateError
        If there are no judgements, the level, a metric or `clip` is unknown, an expert has no field, or an
        item has no positive points.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judgements
    >>> judged = example_judgements()
    >>> found = estimate_open(judged, experts={"ann": "law"}, metrics=["met"], by_field=False)
    >>> print(found.estimates[0].value)
    0.75
    """
    _check(level, metrics, clip, judge, len(judgements))
    models, items = read_units(judgements, experts, None if anytime else judge)
    fields = sorted({field for units in models.values() for field in units.field if field is not None})
    names = [BY_ITEM if metric == SCORE and clip == "item" else metric for metric in metrics]
    people = measure_experts(judgements, level=level)
    rates = find_rates(people)
    maker = _Maker(
        models=models,
        items=items,
        level=level,
        anytime=anytime,
        clips=clip == "mean",
        rates=rates,
        widest=widest,
    )
    pairs = list(combinations(models, 2)) if differences else []
    estimates = [
        maker.make(metric, model, other, field)
        for field in [None, *(fields if by_field else [])]
        for metric in names
        for model, other in [*((model, None) for model in models), *pairs]
    ]
    return OpenResult(estimates=tuple(estimates), experts=people, level=level)


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
    """Makes estimates of a study."""

    models: Mapping[Any, ModelUnits]
    items: list[Any]
    level: float
    anytime: bool
    clips: bool
    rates: ErrorRates | None
    widest: float

    def make(self, metric: str, model: str, other: str | None, field: str | None) -> OpenEstimate:
        """One number, of one model or of the difference of two, or why there is none."""
        sides = [self.models[name] for name in (model, other) if name is not None]
        if len(sides) == 2:
            common = np.intersect1d(sides[0].item, sides[1].item)
            sides = [units.take(np.flatnonzero(np.isin(units.item, common))) for units in sides]
            if not common.size:
                nothing = self._count(metric, field, sides, model, other)
                return replace(nothing, withheld="no item was answered by both models")
        nothing = self._count(metric, field, sides, model, other)
        try:
            return self._fill(nothing, sides)
        except Withheld as error:
            return replace(nothing, withheld=str(error))

    def _count(
        self, metric: str, field: str | None, sides: list[ModelUnits], model: str, other: str | None
    ) -> OpenEstimate:
        """An estimate without numbers: its names, and what it rests on."""
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
            value=None,
            low=None,
            high=None,
            worst_low=None,
            worst_high=None,
            level=self.level,
            items=len(np.unique(item[state <= BAD])),
            judged=int((state <= BAD).sum()),
            missing=int((state == MISSING).sum()),
            method="anytime" if self.anytime else "item bootstrap",
        )

    def _fill(self, nothing: OpenEstimate, sides: list[ModelUnits]) -> OpenEstimate:
        """The estimate with its numbers."""
        least, negatives = self._combine(nothing, sides, LOW, HIGH)
        is_bounded = nothing.metric in (NO_ERROR, BY_ITEM)
        is_known = not (least.open if is_bounded else nothing.missing)
        most = least if is_known else self._combine(nothing, sides, HIGH, LOW)[0]
        low, high = self._ends(nothing, least)
        worst_low, worst_high = low, high if is_known else self._ends(nothing, most)[1]
        found = replace(nothing, worst_low=worst_low, worst_high=worst_high, why=least.doubt)
        if is_bounded:
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
        """The mean of the model, or the difference of two; and the negative points of each."""
        means = [
            _MEANS[named.metric](units, fill, named.field, self.items)
            for units, fill in zip(sides, fills, strict=False)
        ]
        negatives = [mean.negative for mean in means]
        return (means[0] if len(means) == 1 else means[0].minus(means[1])), negatives

    def _ends(self, named: OpenEstimate, mean: ItemMean) -> tuple[float, float]:
        low, high = self._ends_of(mean)
        return self._clip(named, low), self._clip(named, high)

    def _ends_of(self, mean: ItemMean) -> tuple[float, float]:
        return mean.interval(self.level, anytime=self.anytime)

    def _correct(
        self, found: OpenEstimate, means: Sequence[ItemMean], negatives: Sequence[float], width: float
    ) -> OpenEstimate:
        """Add the number corrected for experts' errors, and a doubt if they move it.

        Parameters
        ----------
        means
            With missing judgements at their worst, without them, and at their best.
        width
            Of the interval of what was judged.
        """
        rates = self.rates
        if rates is None or not rates.wrong:
            return found
        told = f"experts gave {rates.wrong} of {rates.of} control questions a wrong reply"
        if not rates.is_useful:
            return replace(found, why="; ".join(filter(None, [found.why, told])))
        low, high = self._ends_of(means[0])[0], self._ends_of(means[2])[1]
        least, value, most = rates.correct(means[1].value, negatives)
        low, high = (rates.correct(end, negatives)[1] for end in (low, high))
        below, above = math.hypot(value - low, value - least), math.hypot(high - value, most - value)
        is_moved = not is_negligible(value, means[1].value, value, width)
        return replace(
            found,
            corrected=self._clip(found, value),
            corrected_low=self._clip(found, value - below),
            corrected_high=self._clip(found, value + above),
            why="; ".join(filter(None, [found.why, told if is_moved else ""])),
        )

    def _clip(self, named: OpenEstimate, value: float) -> float:
        if not self.clips or named.metric != SCORE or named.other is not None:
            return value
        return min(1.0, max(0.0, value))


def _allow_for_missing(found: OpenEstimate, *, is_near: bool) -> OpenEstimate:
    """The estimate with ends that hold whatever is missing, if they are near; or with why it may not hold."""
    if is_near:
        method = f"{found.method}+worst-case"
        return replace(found, low=found.worst_low, high=found.worst_high, method=method)
    asked = found.missing + found.judged
    why = f"{found.missing} of {asked} questions have no yes or no, which could move it too far"
    return replace(found, why="; ".join(filter(None, [why, found.why])))


def _between(found: OpenEstimate, least: ItemMean, most: ItemMean, models: int) -> OpenEstimate:
    """The number between those in which every open answer is as bad, and as good, as it can be."""
    answers = models * len(least.item)
    found = replace(found, missing=least.open)
    if found.metric == BY_ITEM and least.open:
        why = f"{least.open} of {answers} items are not judged completely, and clipping is not linear"
        return replace(found, withheld=why)
    if 2 * least.open > answers:
        return replace(found, withheld=f"{least.open} of {answers} answers may have an error or not")
    value = (least.value + most.value) / 2
    method = f"{found.method}+worst-case" if least.open else found.method
    return replace(found, value=value, low=found.worst_low, high=found.worst_high, method=method)
