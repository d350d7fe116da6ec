"""Means over items, from the judged units of one model's answers.

Unit j of item i is *good* if it has positive points and is met, or negative points and is not; else it is
bad. With weights w_ij = |points| / (sum of the item's positive points) the score of an item is one minus its
loss,

    s_i = Σ_met points / Σ positive points = 1 − Σ_j w_ij bad_ij,

which is linear in the judgements. With recorded chances π the sums over judged units

    D_i = Σ w bad/π,   T_i = Σ w/π,   W_i = Σ_all w

have E D_i = loss and E T_i = W_i (Horvitz & Thompson 1952, J. Am. Stat. Assoc. 47). The loss ℓ solves
Σ_i (D_i − ℓ (1 + (T_i − W_i)/W̄)) = 0, that is ℓ = W̄ ΣD/ΣT, a ratio of two unbiased sums (Hájek 1971, in:
Foundations of Statistical Inference). Items are independent; units of one item may go together in any way.

* "met" is the share of units met: w = 1, bad = met, over all units alike.
* A judge's probabilities q of bad, calibrated on judgements of other items, are a control variate: D_i is
  Σ_all w q + Σ w (bad − q)/π, with the same expectation whatever q is (Cassel, Särndal & Wretman 1976,
  Biometrika 63). The judge is never taken as the truth.
* A difference is of the items that both models answered, item by item.
* "no_error" is the share of answers of which no unit is bad. It is known to be 0 from the first bad unit on,
  and to be 1 once all units are judged; an answer in between may be either.
* Of a field, units and positive points are those of the field. If fields become known only when an expert
  accepts a unit, the score is one minus the field's ΣD over the same sum of its positive units.
* Clipping every item's score is not linear: that mean needs all units of all items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import FEWEST_EFFECTIVE, count_effective
from oversight.harness.open_answers.intervals import betting_sequence, bootstrap_interval
from oversight.harness.open_answers.reading import BAD, GOOD, MISSING, UNASKED, ModelUnits

_FOLDS = 5
_FEWEST = 20
"""Judged units, and a quarter as many of the rarer outcome, from which anything is learned of a judge."""
_PRIOR = np.array([0.01, 1.0])
_ROUNDS = 25


def calibrate(
    probability: FloatArray, bad: BoolArray, judged: BoolArray, weight: FloatArray, item: IntArray
) -> FloatArray:
    """Probabilities of bad units, shape (U,), each made from judgements of other items.

    A logistic curve of the judge's log-odds, fitted to the judged units of four in five items. With few
    judgements, or of a unit that the judge says nothing of, it is the mean of the other items' judgements.

    Parameters
    ----------
    probability
        Shape (U,): the judge's probability that the unit is bad, NaN where it says nothing.
    bad, judged
        Shape (U,): what experts said, and whether they did.
    weight, item
        Shape (U,): weight of a judged unit in the mean, and number of its item.
    """
    known = ~np.isnan(probability)
    x = logit(np.clip(np.where(known, probability, 0.5), 1e-4, 1 - 1e-4))
    names = np.unique(item)
    fold = (np.random.default_rng(0).permutation(len(names)) % _FOLDS)[np.searchsorted(names, item)]
    found = np.empty(len(item))
    for part in range(_FOLDS):
        here, rows = fold == part, judged & (fold != part)
        mean = float(weight[rows] @ bad[rows] / weight[rows].sum()) if rows.any() else 0.0
        found[here] = mean
        rows &= known
        rarer = min(bad[rows].sum(), (~bad[rows]).sum())
        if rows.sum() >= _FEWEST and rarer >= _FEWEST // 4:
            level, slope = _fit(x[rows], bad[rows])
            here &= known
            found[here] = expit(level + slope * x[here])
    return found


def _fit(x: FloatArray, bad: BoolArray) -> tuple[float, float]:
    """Level and slope of a logistic curve, with a normal prior around 0; Newton's method."""
    design = np.column_stack([np.ones(len(x)), x])
    theta: FloatArray = np.zeros(2)
    for _ in range(_ROUNDS):
        p = expit(design @ theta)
        gradient = design.T @ (bad - p) - _PRIOR * theta
        step = np.linalg.solve((design.T * (p * (1 - p))) @ design + np.diag(_PRIOR), gradient)
        theta = theta + step
        if np.abs(step).max() < 1e-8:
            break
    return float(theta[0]), float(theta[1])


SEEN, LOW, HIGH = "seen", "low", "high"
"""How missing judgements count: not at all, or so that the number is lowest, or highest."""


_LOST, _MOSTLY, _SKEWED = 0.8, 0.5, 0.03
"""From which share lost, or from which share of the variance and skewness over √N, the weights of items are
doubted. Samples that miss the heavy items look little skewed: of those below .2, intervals hold .7."""
_ROUNDING = 1e-9


class Withheld(Exception):
    """Why there is no number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemMean:
    """A mean over items: θ solves Σ (a − θ norm) = 0.

    Attributes
    ----------
    item, a, norm
        Shape (N,), items in ascending order.
    ends
        Smallest and largest value that θ can have.
    limits
        Worst and best values of an item of typical weight; None if they are the ends.
    open
        Items whose value may be either end because judgements are missing.
    doubt
        Why intervals may not hold; else empty.
    negative
        Mean sum of negative points over that of positive ones; 0 if the mean is not of points.
    """

    item: IntArray
    a: FloatArray
    norm: FloatArray
    ends: tuple[float, float]
    limits: tuple[float, float] | None = None
    open: int = 0
    doubt: str = ""
    negative: float = 0.0

    @property
    def value(self) -> float:
        """θ."""
        return float(self.a.sum() / self.norm.sum())

    def interval(self, level: float, *, anytime: bool) -> tuple[float, float]:
        """Interval of θ.

        Raises
        ------
        Withheld
            If the items are too few.
        """
        effective = count_effective(np.maximum(self.norm, 0.0))
        if effective < FEWEST_EFFECTIVE:
            raise Withheld(
                f"judged items count as {effective:.1f} of equal weight; "
                f"an interval needs {FEWEST_EFFECTIVE:g}"
            )
        if anytime:
            return betting_sequence(self.a, self.norm, self.ends, level)
        return bootstrap_interval(self.a, self.norm, self.ends, level, limits=self.limits)

    def minus(self, other: ItemMean) -> ItemMean:
        """The difference on the items that both have, in the same items' order."""
        mine, theirs = (self.take(other.item), other.take(self.item))
        # values of the items around both means, which a common norm then weighs
        norm = (mine.norm + theirs.norm) / 2
        difference = mine.value - theirs.value
        one, two = (mean.a - mean.value * (mean.norm - 1) for mean in (mine, theirs))
        return ItemMean(
            item=mine.item,
            a=one - two + difference * (norm - 1),
            norm=norm,
            ends=_difference(mine.ends, theirs.ends),
            limits=_difference(mine.limits or mine.ends, theirs.limits or theirs.ends),
            open=mine.open + theirs.open,
        )

    def take(self, items: IntArray) -> ItemMean:
        """The mean of some items."""
        rows = np.flatnonzero(np.isin(self.item, items))
        if not rows.size:
            raise Withheld("no item has judged units of both models")
        return replace(self, item=self.item[rows], a=self.a[rows], norm=self.norm[rows])


def mean_score(units: ModelUnits, fill: str, field: str | None, names: list[Any]) -> ItemMean:
    """The mean score of the module; `names` are the items' for messages."""
    units = _first_asked(units)
    if field is None or units.fields_known:
        units = units.of_field(field)
        positive = np.bincount(units.item, np.maximum(units.points, 0.0))
        if field is None:
            for item in np.unique(units.item)[positive[np.unique(units.item)] <= 0][:1]:
                raise EstimateError(f"item {names[item]!r} has no positive points, so that it has no score")
        units = units.take(np.flatnonzero(positive[units.item] > 0))
        return _known_score(_fill(units, fill, BAD if fill == LOW else GOOD))
    positive = np.bincount(units.item, np.maximum(units.points, 0.0))
    weight = np.abs(units.points) / np.maximum(positive[units.item], 1e-300)
    rows = units.rows_of_field(field)
    units, weight = units.take(rows), weight[rows]
    units = _fill(units, fill, BAD if fill == LOW else GOOD)
    loss, whole, _ = _sums(units, weight, units.state == BAD)
    gain = _sums(units, np.where(units.points > 0, weight, 0.0), units.state == BAD)[1]
    mean = _per_item(gain.mean())
    return ItemMean(
        item=np.unique(units.item),
        a=(gain - loss) / mean,
        norm=gain / mean,
        ends=(1 - float(whole.max()) / mean, 1.0),
        limits=(1 - _typical(whole) / mean, 1.0),
        negative=float(whole.sum()) / float(gain.sum()) - 1,
    )


def _known_score(units: ModelUnits) -> ItemMean:
    positive = np.bincount(units.item, np.maximum(units.points, 0.0))
    weight = np.abs(units.points) / positive[units.item]
    loss, total, known = _sums(units, weight, units.state == BAD)
    mean = _per_item(float(known.mean()))
    if not total.any():
        raise Withheld("no unit is judged")
    norm = 1 + (total - known) / mean
    if not np.isnan(units.judge).all():
        found = _with_judge(units, weight, units.state == BAD, units.judge_bad)
        loss = found + found.mean() * (norm - 1)
    share = float(np.clip(loss.sum() / norm.sum() / mean, 0.0, 1.0))
    worst = max(_typical(known), share * float(known.max()))
    return ItemMean(
        item=np.unique(units.item),
        a=norm - loss,
        norm=norm,
        ends=(1 - float(known.max()), 1.0),
        limits=(1 - worst, 1.0),
        negative=mean - 1,
        doubt=_doubt_weights(known, share, loss - loss.sum() / norm.sum() * norm),
    )


def share_met(units: ModelUnits, fill: str, field: str | None, names: list[Any]) -> ItemMean:
    """The share of units met."""
    del names
    units = _first_asked(units)
    units = units.take(units.rows_of_field(field))
    lowest = np.where(units.points < 0, GOOD, BAD)
    units = _fill(units, fill, lowest if fill == LOW else GOOD + BAD - lowest)
    met = (units.state == GOOD) == (units.points >= 0)
    ones = np.ones(len(units.item))
    sums, total, known = _sums(units, ones, met)
    if not total.any():
        raise Withheld("no unit is judged")
    mean = _per_item(float(total.mean()))
    a, norm = sums / mean, total / mean
    if units.fields_known and not np.isnan(units.judge).all():
        share = _with_judge(units, ones, met, units.judge) - float(a.mean()) * (known - known.mean())
        a = share / _per_item(float(known.mean()))
        a = a + a.mean() * (norm - 1)
    return ItemMean(item=np.unique(units.item), a=a, norm=norm, ends=(0.0, 1.0))


def without_error(units: ModelUnits, fill: str, field: str | None, names: list[Any]) -> ItemMean:
    """Share of answers without an error; `fill` says how answers that are not fully judged count."""
    del names
    if field is not None and not units.fields_known:
        raise Withheld(
            "fields of some units are not known, so that no answer is known to be without an error"
        )
    ordered = units.order > 0
    if ordered.any():
        units = units.take(np.flatnonzero(np.isin(units.item, np.unique(units.item[ordered]))))
    chance = np.bincount(units.item, np.where(units.order > 0, units.propensity, 0.0))
    units = units.of_field(field)
    units = units.take(np.flatnonzero(units.points != 0))
    items, number = np.unique(units.item, return_inverse=True)
    if not items.size:
        raise Withheld("no unit is judged")
    has_error = np.bincount(number, units.state == BAD) > 0
    is_open = ~has_error & (np.bincount(number, units.state > BAD) > 0)
    clean = ~has_error & (~is_open | (fill == HIGH))
    weight = np.where(chance[items] > 0, 1 / np.maximum(chance[items], 1e-300), 1.0)
    mean = float(weight.mean())
    return ItemMean(
        item=items, a=weight * clean / mean, norm=weight / mean, ends=(0.0, 1.0), open=int(is_open.sum())
    )


def clipped_score(units: ModelUnits, fill: str, field: str | None, names: list[Any]) -> ItemMean:
    """The mean of scores that are each clipped to [0, 1]; units that are not judged as `fill` says."""
    if field is not None and not units.fields_known:
        raise Withheld("fields of some units are not known, so that no item's score is known")
    units = units.of_field(field)
    unseen = units.state > BAD
    open_items = len(np.unique(units.item[unseen]))
    state = np.where(unseen, BAD if fill == LOW else GOOD, units.state)
    whole = replace(units, state=state, propensity=np.ones(len(state)), order=np.zeros_like(units.order))
    score = mean_score(replace(whole, judge=np.full(len(state), np.nan)), SEEN, None, names)
    return replace(
        score, a=np.clip(score.a, 0.0, 1.0), norm=np.ones(len(score.a)), ends=(0.0, 1.0), open=open_items
    )


def _first_asked(units: ModelUnits) -> ModelUnits:
    """Units whose being asked about depends on no other reply, all others as if nobody was asked."""
    ordered = units.order > 0
    if (ordered & (units.propensity == 0)).any():
        raise Withheld(
            "units were asked about in a judge's order, so the answers do not represent the units further "
            "down that order"
        )
    return replace(units, state=np.where(units.order > 1, UNASKED, units.state))


def _fill(units: ModelUnits, fill: str, state: Any) -> ModelUnits:
    """Units with missing judgements put to a state, or left out."""
    put = UNASKED if fill == SEEN else state
    return replace(units, state=np.where(units.state == MISSING, put, units.state))


def _sums(
    units: ModelUnits, weight: FloatArray, counted: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """ΣD, ΣT and ΣW of every item, shape (N,)."""
    number = np.unique(units.item, return_inverse=True)[1]
    judged = units.state <= BAD
    inverse: FloatArray = np.where(judged, weight / np.where(judged, units.propensity, 1.0), 0.0)
    hit: FloatArray = np.where(counted, inverse, 0.0)
    return (
        np.bincount(number, hit).astype(np.float64),
        np.bincount(number, inverse).astype(np.float64),
        np.bincount(number, weight).astype(np.float64),
    )


def _with_judge(
    units: ModelUnits, weight: FloatArray, counted: BoolArray, probability: FloatArray
) -> FloatArray:
    """D of every item with a judge's probabilities that a unit counts as control variate."""
    judged = units.state <= BAD
    inverse: FloatArray = np.where(judged, weight / np.where(judged, units.propensity, 1.0), 0.0)
    q = calibrate(probability, counted, judged, inverse, units.item)
    number = np.unique(units.item, return_inverse=True)[1]
    value: FloatArray = weight * q + inverse * (np.where(counted, 1.0, 0.0) - q)
    return np.bincount(number, value).astype(np.float64)


def _doubt_weights(whole: FloatArray, share: float, residual: FloatArray) -> str:
    """Why a mean may be off that a few items decide, whose negative points are far above their positive ones.

    The loss of an item is up to W. If most of it is lost, the mean is one of W, which few items with a large
    W decide; its skewness over the root of their number says how far off a normal tail is.
    """
    centred = whole - whole.mean()
    spread = float((centred**2).mean())
    if spread < _ROUNDING:
        return ""
    skewness = abs(float((centred**3).mean())) / spread**1.5
    is_skewed = skewness > _SKEWED * math.sqrt(len(whole))
    is_decided = share**2 * spread > _MOSTLY * float((residual**2).mean())
    if share <= _LOST and not (is_decided and is_skewed):
        return ""
    times = float(whole.max()) - 1
    return (
        f"a few items decide the mean: their negative points are up to {times:.1f} times their positive ones"
    )


def _difference(one: tuple[float, float], two: tuple[float, float]) -> tuple[float, float]:
    return one[0] - two[1], one[1] - two[0]


def _typical(values: FloatArray) -> float:
    """Mean of values, each weighted by itself."""
    return float((values**2).sum() / values.sum())


def _per_item(mean: float) -> float:
    if mean <= 0:
        raise Withheld("no unit is judged")
    return mean
