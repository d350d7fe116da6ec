"""Means over items, from the judged units of one model's answers.

Unit j of item i is *good* if it has positive points and is met, or has negative points and is not met;
otherwise it is *bad*. With weights w_ij = |points| / (sum of the item's positive points), the score of an
item is one minus its loss,

    s_i = Σ_met points / Σ positive points = 1 − Σ_j w_ij bad_ij,

which is linear in the judgements. With recorded probabilities π, the sums

    D_i = Σ_judged w bad/π,   T_i = Σ_judged w/π,   W_i = Σ_all w

have E D_i = loss and E T_i = W_i (Horvitz & Thompson 1952, J. Am. Stat. Assoc. 47). The mean loss ℓ solves
Σ_i (D_i − ℓ (1 + (T_i − W_i)/W̄)) = 0, that is ℓ = W̄ ΣD/ΣT, a ratio of two unbiased sums (Hájek 1971, in:
Foundations of Statistical Inference). Items, or clusters of items, are independent; units of one item may
depend on each other.

* "met" is the share of units that are met: w is 1 for every unit, and met units are counted, not bad ones.
* A judge's probabilities q of bad, calibrated on judgements of other items, are a control variate: D_i is
  Σ_all w q + Σ_judged w (bad − q)/π, with the same expectation for every q (Cassel, Särndal & Wretman 1976,
  Biometrika 63). The judge is never taken as the truth.
* A difference of two models is computed item by item, on the items that both answered.
* "no_error" is the share of answers without a bad unit. An answer counts as 0 if one of its units is judged
  bad, and as 1 if all are judged good; otherwise it is undecided.
* The mean of a field counts only the field's units and their positive points. If fields become known only
  when an expert accepts a unit, the score is one minus the field's ΣD divided by ΣT of its positive units.
* The mean of scores clipped per item is not linear in the judgements, so it needs all units of all items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.estimate import FEWEST_EFFECTIVE, count_effective
from oversight.harness.open_answers.intervals import betting_sequence, bootstrap_interval
from oversight.harness.open_answers.reading import BAD, GOOD, MISSING, UNASKED, ModelUnits

_FOLDS = 5
_FEWEST = 20
"""Smallest number of judged units to calibrate a judge; at least 5 of them must have the rarer outcome."""
_PRIOR = np.array([0.01, 1.0])
_ROUNDS = 25


def calibrate(
    probability: FloatArray, bad: BoolArray, judged: BoolArray, weight: FloatArray, item: IntArray
) -> FloatArray:
    """Calibrate a judge by cross-fitting: return probabilities that units are bad, shape (U,).

    Items are divided into five folds. For the units of a fold, a logistic regression on
    the judge's log-odds is fitted to the judged units of the other four folds. With few
    judgements, or for a unit without a probability of the judge, the result is the
    weighted mean of the other folds' judgements.

    Parameters
    ----------
    probability
        Shape (U,): the judge's probability that the unit is bad; NaN if it gave none.
    bad, judged
        Shape (U,): whether experts judged the unit bad, and whether they judged it.
    weight, item
        Shape (U,): weight of each judged unit in the mean, and index of each unit's item.
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
    """Fit intercept and slope of a logistic regression, with normal priors around 0, by Newton's method."""
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
"""How missing judgements count: not at all, or so that the mean is lowest, or highest."""


_LOST, _MOSTLY, _SKEWED = 0.8, 0.5, 0.03
"""Limits of `_doubt_weights`: mean loss as a share of W, share of the variance due to W, and skewness of W
divided by √N. The last limit is low, because a sample that misses the few items with a large W has a small
skewness."""
_ROUNDING = 1e-9


class Withheld(Exception):
    """Raised with the reason why an estimate is withheld."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemMean:
    """A mean θ over items, which solves Σ (a − θ norm) = 0.

    Attributes
    ----------
    item, a, norm
        Shape (N,): indices of the items, in ascending order, and each item's terms a and norm.
    ends
        Smallest and largest value that θ can have.
    limits
        Smallest and largest value of an item whose weight is typical; None if these values equal `ends`.
    open
        Number of items whose value is unknown because judgements are missing; it is one of the two `ends`.
    doubt
        Reason why intervals may not be valid; empty if none exists.
    negative
        Mean over items of the absolute sum of negative points divided by the sum of
        positive points; 0 if the mean is not a score.
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
        """The mean θ."""
        return float(self.a.sum() / self.norm.sum())

    def interval(
        self, level: float, *, anytime: bool, cluster: IntArray | None = None
    ) -> tuple[float, float]:
        """Return an interval of θ. With `anytime`, the interval stays valid if it is inspected repeatedly.

        Parameters
        ----------
        cluster
            Cluster number of every item, by the item's index. Both terms are summed over
            the items of a cluster, because only clusters are independent. None if items
            are independent.

        Raises
        ------
        Withheld
            If there are too few items, or too few clusters.
        """
        a, norm, kind = self.a, self.norm, "items"
        if cluster is not None:
            code, kind = np.unique(cluster[self.item], return_inverse=True)[1], "clusters of items"
            a, norm = (np.bincount(code, term).astype(np.float64) for term in (a, norm))
        effective = count_effective(np.maximum(norm, 0.0))
        if effective < FEWEST_EFFECTIVE:
            raise Withheld(
                f"the judged {kind} count as {effective:.1f} {kind} of equal weight; an interval needs at "
                f"least {FEWEST_EFFECTIVE:g}"
            )
        if anytime:
            return betting_sequence(a, norm, self.ends, level)
        return bootstrap_interval(a, norm, self.ends, level, limits=self.limits)

    def minus(self, other: ItemMean) -> ItemMean:
        """Return the difference self − other on their common items."""
        mine, theirs = (self.take(other.item), other.take(self.item))
        # Both means are ratios Σa/Σnorm. They are linearised around their values, so that their difference is
        # also a ratio Σa/Σnorm.
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
        """Return the mean over the given items."""
        rows = np.flatnonzero(np.isin(self.item, items))
        if not rows.size:
            raise Withheld("no item has judged units of both models")
        return replace(self, item=self.item[rows], a=self.a[rows], norm=self.norm[rows])


def mean_score(units: ModelUnits, fill: str, field: str | None) -> ItemMean:
    """Return a model's mean score, defined in the module's docstring.

    Missing judgements count as bad if `fill` is LOW, and as good if it is HIGH; SEEN leaves them out.
    """
    units = _first_asked(units)
    if field is None or units.fields_known:
        units = units.of_field(field)
        positive = np.bincount(units.item, np.maximum(units.points, 0.0))
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


def share_met(units: ModelUnits, fill: str, field: str | None) -> ItemMean:
    """Return the share of met units among all units of the answers; the units' points do not matter.

    Missing judgements count as not met if `fill` is LOW, and as met if it is HIGH; SEEN leaves them out.
    """
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


def without_error(units: ModelUnits, fill: str, field: str | None) -> ItemMean:
    """Return the share of answers without an error.

    Undecided answers count as free of errors if `fill` is HIGH, otherwise as answers with an error.
    """
    if field is not None and not units.fields_known:
        raise Withheld(
            "the fields of some units are unknown, so the share of answers without an error cannot be "
            "estimated"
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


def clipped_score(units: ModelUnits, fill: str, field: str | None) -> ItemMean:
    """Return the mean of item scores clipped to [0, 1].

    Units that are not judged count as bad if `fill` is LOW, otherwise as good.
    """
    if field is not None and not units.fields_known:
        raise Withheld("the fields of some units are unknown, so scores per field are unknown")
    units = units.of_field(field)
    unseen = units.state > BAD
    open_items = len(np.unique(units.item[unseen]))
    state = np.where(unseen, BAD if fill == LOW else GOOD, units.state)
    whole = replace(units, state=state, propensity=np.ones(len(state)), order=np.zeros_like(units.order))
    score = mean_score(replace(whole, judge=np.full(len(state), np.nan)), SEEN, None)
    return replace(
        score, a=np.clip(score.a, 0.0, 1.0), norm=np.ones(len(score.a)), ends=(0.0, 1.0), open=open_items
    )


def _first_asked(units: ModelUnits) -> ModelUnits:
    """If units were asked about in order, mark all except the first unit of each answer as not asked.

    Later units are ignored because the replies about earlier units decided whether later
    ones were asked about.
    """
    ordered = units.order > 0
    if (ordered & (units.propensity == 0)).any():
        raise Withheld(
            "units were asked about in a judge's order, so the answers do not represent the units further "
            "down that order"
        )
    return replace(units, state=np.where(units.order > 1, UNASKED, units.state))


def _fill(units: ModelUnits, fill: str, state: Any) -> ModelUnits:
    """Set the state of units with missing judgements to `state`, or to UNASKED if `fill` is SEEN."""
    put = UNASKED if fill == SEEN else state
    return replace(units, state=np.where(units.state == MISSING, put, units.state))


def _sums(
    units: ModelUnits, weight: FloatArray, counted: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the sums D, T and W of every item, shape (N,), defined in the module's docstring.

    `counted` says which units are bad. For shares of met units, it says which units are met.
    """
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
    """Return the sum D of every item with a judge as control variate; the module's docstring defines D.

    `probability` is the judge's probability that a unit is `counted`; NaN if it gave none.
    """
    judged = units.state <= BAD
    inverse: FloatArray = np.where(judged, weight / np.where(judged, units.propensity, 1.0), 0.0)
    q = calibrate(probability, counted, judged, inverse, units.item)
    number = np.unique(units.item, return_inverse=True)[1]
    value: FloatArray = weight * q + inverse * (np.where(counted, 1.0, 0.0) - q)
    return np.bincount(number, value).astype(np.float64)


def _doubt_weights(whole: FloatArray, share: float, residual: FloatArray) -> str:
    """Return a reason for doubt if a few items with large negative points decide a mean; otherwise empty.

    An item can lose at most W, the sum of its weights. If most items lose most of their
    W, the mean depends mainly on the few items with a large W. The error of a normal
    approximation is measured by the skewness of W over the N items, divided by √N.
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
        "a few items determine the mean: their negative points are up to "
        f"{times:.1f} times their positive points"
    )


def _difference(one: tuple[float, float], two: tuple[float, float]) -> tuple[float, float]:
    return one[0] - two[1], one[1] - two[0]


def _typical(values: FloatArray) -> float:
    """Return the mean of values, each weighted by its own size: Σv² / Σv."""
    return float((values**2).sum() / values.sum())


def _per_item(mean: float) -> float:
    if mean <= 0:
        raise Withheld("no unit is judged")
    return mean
