"""Checks of routing that followed predictions: what was asked about, against the recorded propensities.

A question is evidence of the draw whether it was answered or not, so these look at the questions where
they are known. A model's own prediction ŷ must have been asked about as often as its propensities say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import variance

import numpy as np

from oversight.harness.arrays import AnyIntArray, BoolArray, FloatArray, IntArray
from oversight.harness.columns import LabelColumns, PredictionColumns, QuestionColumns
from oversight.harness.estimate.checks.check import Check
from oversight.harness.estimate.core import sign_p_value, two_sided, z_of_sum

_NEAR = 1e-6
_ODD = "; the recorded propensities are not those of the draw, or some options had none"
_NOTHING = "no item has one question whose option was drawn with unequal chances"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnOptions:
    """The one option of each of n items that was drawn, and what the model predicts there.

    Attributes
    ----------
    asked
        The question about each item.
    predicted
        Shape (n,): the prediction, −1 for unreadable.
    """

    asked: QuestionColumns
    predicted: IntArray

    def take(self, rows: AnyIntArray) -> DrawnOptions:
        """Some of the items."""
        return DrawnOptions(asked=self.asked.take(rows), predicted=self.predicted[rows])

    @property
    def is_hit(self) -> BoolArray:
        """Whether the question is about the prediction, shape (n,)."""
        return np.asarray(self.asked.option == self.predicted)

    @property
    def own(self) -> FloatArray:
        """The propensity of every prediction, all `readable`; shape (n,)."""
        return self.asked.offered.of_option(self.predicted)

    def __len__(self) -> int:
        return len(self.asked)

    @property
    def recorded(self) -> BoolArray:
        """Whether the propensities of all options are, shape (n,)."""
        return np.asarray(self.asked.offered.number > 0)

    @property
    def readable(self) -> BoolArray:
        """Whether all propensities are recorded and the prediction names an option, shape (n,)."""
        return self.recorded & (self.predicted >= 0)


def find_drawn(predictions: PredictionColumns, labels: LabelColumns) -> DrawnOptions:
    """The single question of every item that has one and a prediction that did not fail."""
    drawn = labels.questions if labels.drawn is None else labels.drawn
    number = np.bincount(drawn.item, minlength=labels.index.size)
    rows = np.flatnonzero((number[drawn.item] == 1) & predictions.ran[drawn.item])
    predicted = predictions.option[drawn.item[rows]].astype(np.int64)
    return DrawnOptions(asked=drawn.take(rows), predicted=predicted)


def propensities(drawn: DrawnOptions, alpha: float) -> Check:
    """Recorded propensities against what was drawn, in two ways, each at `alpha` / 2.

    Σ (1{asked = ŷ} − π_ŷ) has mean 0 and variance Σ π_ŷ (1 − π_ŷ); 1/(K π) of what was asked has the mean
    (options that could be asked)/K. Fails if the propensities are not those of the draw.
    """
    name, recorded = "propensities", drawn.take(np.flatnonzero(drawn.recorded))
    impossible = int(np.count_nonzero(recorded.asked.offered.of_option(recorded.asked.option) <= 0))
    if impossible:
        text = f"{impossible} questions ask about options whose recorded propensity is 0"
        return Check(name=name, passed=False, statistic=math.inf, p_value=0.0, message=text)
    if not len(recorded):
        return _weights_alone(name, drawn, alpha)
    spread = recorded.asked.offered.greatest - recorded.asked.offered.least
    chance = recorded.take(np.flatnonzero((spread > _NEAR) & (spread < 1 - _NEAR)))
    n = len(chance)
    if n < 2:
        return Check.not_made(name, _NOTHING)
    told = chance.take(np.flatnonzero(chance.readable))
    pi = told.own
    hits, expected = int(np.count_nonzero(told.is_hit)), math.fsum(pi.tolist())
    z = z_of_sum(hits, expected, math.fsum((pi * (1 - pi)).tolist())) if pi.size else 0.0
    weight, mean, variance_of_weight = _sum_weights(chance.asked)
    z_weight = z_of_sum(weight, mean, variance_of_weight) if variance_of_weight > _NEAR else 0.0
    worst = max(z, z_weight, key=abs)
    p = min(1.0, 2 * two_sided(worst))
    text = (
        f"the predicted option was asked about {hits} times, expected {expected:.1f}; mean of 1/(K π) is "
        f"{weight / n:.3f}, expected {mean / n:.3f}"
    )
    return Check.of_test(name, worst, p, alpha, text, _ODD)


def _sum_weights(chance: QuestionColumns) -> tuple[float, float, float]:
    """Σ 1/(K π) over what was asked, with its mean and variance under the draw."""
    k, values, start = chance.n_options, chance.offered.values, chance.offered.start[:-1]
    able = np.add.reduceat((values > 0).astype(np.int64), start)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
    # in a longer format, as the terms of one question differ by orders of magnitude
    each = np.add.reduceat(inverse.astype(np.longdouble), start).astype(np.float64)
    spread = each / k**2 - (able / k) ** 2
    weight = 1 / (k * chance.offered.of_option(chance.option))
    return _add(weight), _add(able / k), _add(spread)


def _add(values: FloatArray) -> float:
    """The sum, one by one from the first."""
    return float(np.cumsum(values)[-1])


def _weights_alone(name: str, drawn: DrawnOptions, alpha: float) -> Check:
    """E[1/(K π)] = 1 where only the propensity of what was asked is known, its variance as observed."""
    uneven = np.abs(drawn.asked.propensity * drawn.asked.n_options - 1) >= _NEAR
    pi = drawn.asked.propensity[uneven]
    if pi.size < 2 or pi.min() >= 1 - _NEAR:
        return Check.not_made(name, _NOTHING)
    weight = (1 / (drawn.asked.n_options[uneven] * pi)).tolist()
    mean = math.fsum(weight) / pi.size
    z = z_of_sum(mean, 1.0, variance(weight) / pi.size)
    text = f"mean of 1/(K π) over what was asked is {mean:.3f}, expected 1"
    return Check.of_test(name, z, two_sided(z), alpha, text, _ODD)


def routed_for(drawn: DrawnOptions) -> Check:
    """The questions were drawn with this model's predictions in view.

    An option that no model predicted has the least propensity ε/K, which every item with such an option
    shows. A model whose predictions stand there was not looked at: its few answers weigh much.
    """
    name, readable = "routed_for", drawn.take(np.flatnonzero(drawn.readable))
    n, offered = len(readable), readable.asked.offered
    if not n:
        return Check.not_made(name, "no readable prediction has a question")
    own, floor = readable.own, float((offered.number * offered.least).min())
    is_least = (offered.number * own <= floor + _NEAR) & (own < offered.greatest - _NEAR)
    at_floor = int(np.count_nonzero(is_least))
    share = at_floor / n
    text = f"{at_floor} of {n} predictions ({share:.0%}) had the least propensity of all options"
    if at_floor:
        text += ": the questions were drawn for other models, and say less of this one"
    return Check(name=name, passed=at_floor == 0, statistic=share, p_value=None, message=text)


def coin(drawn: DrawnOptions, alpha: float) -> Check:
    """Which of two models' predictions was asked about, against ½: exact binomial test."""
    name, readable = "coin", drawn.take(np.flatnonzero(drawn.readable))
    tossed = readable.take(np.flatnonzero(np.abs(readable.own - 0.5) < _NEAR))
    n = len(tossed)
    if not n:
        return Check.not_made(name, "no item was asked about one of two predictions by a coin")
    heads = int(np.count_nonzero(tossed.is_hit))
    p = sign_p_value(heads, n - heads)
    text = f"this model's prediction was asked about {heads} of {n} times, expected {n / 2:g}"
    odd = "; the coin was not fair, or the predictions are not those that were drawn from"
    return Check.of_test(name, float(heads), p, alpha, text, odd)
