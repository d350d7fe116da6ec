"""Checks of routing that followed predictions: what was asked about, against the recorded propensities.

A question is evidence of the draw whether it was answered or not, so these look at the questions where
they are known. A model's own prediction ŷ must have been asked about as often as its propensities say.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import variance
from typing import NamedTuple

from scipy.stats import binomtest

from harness.estimate.checks.check import Check
from harness.estimate.core import two_sided, z_of_sum
from harness.types import Label, Labels, Prediction, PredictionStatus, Question

_NEAR = 1e-6
_NOTHING = "no item has one question whose option was drawn with unequal chances"


class DrawnOption(NamedTuple):
    """The one option of an item that was drawn, and what the model predicts there; None: unreadable.

    `propensities` is empty where only that of the option asked about was recorded, `propensity`.
    """

    option: int
    predicted: int | None
    n_options: int
    propensity: float
    propensities: tuple[float, ...]


def find_drawn(predictions: Sequence[Prediction], labels: Sequence[Label]) -> list[DrawnOption]:
    """The single question of every item that has one and a prediction that did not fail."""
    drawn: Sequence[Label | Question] = labels
    if isinstance(labels, Labels) and labels.design.drawn:
        drawn = labels.design.drawn
    number = Counter(x.item_id for x in drawn)
    predicted = {p.item_id: p.option for p in predictions if p.status is not PredictionStatus.FAILED}
    return [
        DrawnOption(x.option, predicted[x.item_id], x.n_options, x.propensity, x.propensities)
        for x in drawn
        if number[x.item_id] == 1 and x.item_id in predicted
    ]


def propensities(drawn: Sequence[DrawnOption], alpha: float) -> Check:
    """Recorded propensities against what was drawn, in two ways, each at `alpha` / 2.

    Σ (1{asked = ŷ} − π_ŷ) has mean 0 and variance Σ π_ŷ (1 − π_ŷ); 1/(K π) of what was asked has the mean
    (options that could be asked)/K. Fails if the propensities are not those of the draw.
    """
    name = "propensities"
    impossible = sum(d.propensities[d.option] <= 0 for d in drawn if d.propensities)
    if impossible:
        text = f"{impossible} questions ask about options whose recorded propensity is 0"
        return Check(name=name, passed=False, statistic=math.inf, p_value=0.0, message=text)
    if not any(d.propensities for d in drawn):
        return _weights_alone(name, drawn, alpha)
    chance = [d for d in drawn if d.propensities and _NEAR < _spread(d.propensities) < 1 - _NEAR]
    if len(chance) < 2:
        return Check.not_made(name, _NOTHING)
    own = [(d.option == d.predicted, d.propensities[d.predicted]) for d in chance if d.predicted is not None]
    hits, expected = sum(hit for hit, _ in own), math.fsum(pi for _, pi in own)
    z = z_of_sum(hits, expected, math.fsum(pi * (1 - pi) for _, pi in own)) if own else 0.0
    weight, mean, spread = 0.0, 0.0, 0.0
    for d in chance:
        k, able = d.n_options, [pi for pi in d.propensities if pi > 0]
        weight += 1 / (k * d.propensities[d.option])
        mean += len(able) / k
        spread += math.fsum(1 / pi for pi in able) / k**2 - (len(able) / k) ** 2
    z_weight = z_of_sum(weight, mean, spread) if spread > _NEAR else 0.0
    worst = max(z, z_weight, key=abs)
    p = min(1.0, 2 * two_sided(worst))
    text = (
        f"the predicted option was asked about {hits} times, expected {expected:.1f}; mean of 1/(K π) is "
        f"{weight / len(chance):.3f}, expected {mean / len(chance):.3f}"
    )
    return _judge(name, worst, p, alpha, text)


def _weights_alone(name: str, drawn: Sequence[DrawnOption], alpha: float) -> Check:
    """E[1/(K π)] = 1 where only the propensity of what was asked is known, its variance as observed."""
    pi = [d.propensity for d in drawn if abs(d.propensity * d.n_options - 1) >= _NEAR]
    weight = [1 / (d.n_options * d.propensity) for d in drawn if abs(d.propensity * d.n_options - 1) >= _NEAR]
    if len(pi) < 2 or min(pi) >= 1 - _NEAR:
        return Check.not_made(name, _NOTHING)
    z = z_of_sum(math.fsum(weight) / len(pi), 1.0, variance(weight) / len(pi))
    text = f"mean of 1/(K π) over what was asked is {math.fsum(weight) / len(pi):.3f}, expected 1"
    return _judge(name, z, two_sided(z), alpha, text)


def _judge(name: str, z: float, p: float, alpha: float, text: str) -> Check:
    odd = "; the recorded propensities are not those of the draw, or some options had none"
    return Check(
        name=name, passed=p >= alpha, statistic=z, p_value=p, message=text + (odd if p < alpha else "")
    )


def routed_for(drawn: Sequence[DrawnOption]) -> Check:
    """The questions were drawn with this model's predictions in view.

    An option that no model predicted has the least propensity ε/K, which every item with such an option
    shows. A model whose predictions stand there was not looked at: its few answers weigh much.
    """
    name = "routed_for"
    readable = [(d.propensities, d.predicted) for d in drawn if d.predicted is not None and d.propensities]
    if not readable:
        return Check.not_made(name, "no readable prediction has a question")
    floor = min(len(pi) * min(pi) for pi, _ in readable)
    at_floor = sum(
        len(pi) * pi[predicted] <= floor + _NEAR and pi[predicted] < max(pi) - _NEAR
        for pi, predicted in readable
    )
    share = at_floor / len(readable)
    text = f"{at_floor} of {len(readable)} predictions ({share:.0%}) had the least propensity of all options"
    if at_floor:
        text += ": the questions were drawn for other models, and say less of this one"
    return Check(name=name, passed=at_floor == 0, statistic=share, p_value=None, message=text)


def coin(drawn: Sequence[DrawnOption], alpha: float) -> Check:
    """Which of two models' predictions was asked about, against ½: exact binomial test."""
    name = "coin"
    tossed = [
        d.option == d.predicted
        for d in drawn
        if d.predicted is not None and d.propensities and abs(d.propensities[d.predicted] - 0.5) < _NEAR
    ]
    if not tossed:
        return Check.not_made(name, "no item was asked about one of two predictions by a coin")
    heads = sum(tossed)
    p = float(binomtest(heads, len(tossed)).pvalue)
    expected = f"{len(tossed) / 2:g}"
    text = f"this model's prediction was asked about {heads} of {len(tossed)} times, expected {expected}"
    if p < alpha:
        text += "; the coin was not fair, or the predictions are not those that were drawn from"
    return Check(name=name, passed=p >= alpha, statistic=float(heads), p_value=p, message=text)


def _spread(pi: Sequence[float]) -> float:
    return max(pi) - min(pi)
