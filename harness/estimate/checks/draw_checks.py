"""Checks of what was asked, against what the protocol promises.

Checks of routing that followed predictions: what was asked about, against the recorded propensities.

A question is evidence of the draw whether it was answered or not, so these look at the questions where
they are known. A model's own prediction ŷ must have been asked about as often as its propensities say.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from statistics import variance

import numpy as np

from oversight.harness.arrays import AnyIntArray, BoolArray, FloatArray, IntArray
from oversight.harness.columns import ABSTAINED, YES, LabelColumns, PredictionColumns, QuestionColumns
from oversight.harness.estimate.core import chi2_tail, sign_p_value, two_sided, z_of_sum
from oversight.harness.estimate.data import LabelledArrays

NEGLIGIBLE = 0.1
"""Part of an interval's half-width by which missing data may move its estimate, so that it still covers."""


def is_negligible(least: float, value: float, most: float, width: float) -> bool:
    """Whether missing data that move a value to between `least` and `most` leave its interval's coverage.

    Parameters
    ----------
    width
        Of the interval. A shift by a tenth of its half lowers a coverage of 95 % to 94.6 %.

    Examples
    --------
    >>> is_negligible(0.718, 0.72, 0.722, 0.1), is_negligible(0.70, 0.72, 0.74, 0.1)
    (True, False)
    """
    return max(value - least, most - value) <= NEGLIGIBLE * width / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Outcome of one check.

    Attributes
    ----------
    name
        What was checked.
    passed
        False if the data speak against an assumption of the estimates; None if there was nothing to
        look at, so that the check was not made.
    statistic, p_value
        Those of the test; None where there is none.
    message
        What was seen and what it means, or why nothing was looked at, in a line.
    """

    name: str
    passed: bool | None
    statistic: float | None
    p_value: float | None
    message: str

    @property
    def state(self) -> str:
        """``"passed"``, ``"failed"`` or ``"not made"``."""
        return "not made" if self.passed is None else "passed" if self.passed else "failed"

    @classmethod
    def of_test(
        cls, name: str, statistic: float | None, p_value: float, alpha: float, text: str, odd: str = ""
    ) -> Check:
        """Report a test, which fails if its p-value is below `alpha`; `odd` is then added to the text."""
        passed = p_value >= alpha
        message = text if passed else text + odd
        return cls(name=name, passed=passed, statistic=statistic, p_value=p_value, message=message)

    @classmethod
    def not_made(cls, name: str, why: str) -> Check:
        """Report a check that has nothing to look at."""
        return cls(name=name, passed=None, statistic=None, p_value=None, message=why)


UNIFORM_CHECKS = (
    "asked_predicted",
    "yes_rate",
    "hausman",
    "asked_options",
    "yes_rate_by_expert",
    "agreement",
    "seen_answers",
    "abstention",
    "readability",
    "small_strata",
)
"""Checks of options drawn uniformly."""


OF_STUDY = ("yes_rate", "yes_rate_by_expert", "agreement")
"""Tests whose outcome is the same for every model of a study."""
OF_MODEL = ("asked_predicted", "hausman", "propensities", "coin", "seen_answers", "readability")
"""Tests that are made again for every model."""
OPTIONS_ALPHA = 1e-3
"""Level of `asked_options`, whose χ² approximation is rough."""
GOLD_ALPHA = 0.01
"""Level of `gold_errors` for all models of a study together."""
_STUDY_ALPHA, _MODEL_ALPHA = 0.019, 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyLevels:
    """Levels of the tests of one kind of study; with `asked_options` and gold they sum to 5 %.

    Attributes
    ----------
    of_study
        Level of each test in `OF_STUDY`.
    of_model
        Level of each test in `OF_MODEL` for one model.
    """

    of_study: float
    of_model: float


def split_levels(names: Collection[str], n_models: int) -> FamilyLevels:
    """Share the level of the whole family among the tests of a study (Bonferroni).

    Parameters
    ----------
    names
        Checks that the protocol of the study states.
    n_models
        Number of models whose checks are read together, at least 1.

    Examples
    --------
    >>> split_levels(("coin", "yes_rate", "abstention"), n_models=2)
    FamilyLevels(of_study=0.019, of_model=0.01)
    """
    study, model = (max(1, sum(name in names for name in group)) for group in (OF_STUDY, OF_MODEL))
    return FamilyLevels(of_study=_STUDY_ALPHA / study, of_model=_MODEL_ALPHA / (model * n_models))


_NEAR = 1e-6


def uniform_single(a: LabelledArrays) -> BoolArray:
    """Labels that are the only question of their item, asked with propensity 1/K."""
    alone = np.bincount(a.item, minlength=a.n_options.size)[a.item] == 1
    chosen: BoolArray = alone & (np.abs(a.asked_with * a.n_options[a.item] - 1) < _NEAR)
    return chosen


def asked_predicted(a: LabelledArrays, alpha: float) -> Check:
    """P(k = ŷ) = 1/K under uniform routing; fails if somebody asked what the model had said.

    Counts every question put, answered or not. z-test on the sum; power .98 for a rate 10 points
    too high at 300 questions.
    """
    text = "the predicted option was asked about {hits} times, expected {expected:.1f}"
    usable = a.y_hat[a.item] >= 0
    return _one_in_k("asked_predicted", a, usable, a.y_hat[a.item] == a.option, alpha, text)


def yes_rate(a: LabelledArrays, alpha: float) -> Check:
    """P(yes) = 1/K under uniform routing; fails if yes is missed or given falsely on balance."""
    text = "{hits} yes among {n} answers, expected {expected:.1f}"
    odd = "; too few: truths were missed, too many: false yes (which ruins ord and ml)"
    return _one_in_k("yes_rate", a, a.kind != ABSTAINED, a.kind == YES, alpha, text, odd)


def _one_in_k(
    name: str, a: LabelledArrays, usable: BoolArray, hit: BoolArray, alpha: float, text: str, odd: str = ""
) -> Check:
    """z-test that usable single questions hit with probability 1/K; `odd` is added where it fails."""
    mine = uniform_single(a) & usable
    if not mine.any():
        return Check.not_made(name, "no item with one uniformly drawn question")
    share = 1 / a.n_options[a.item[mine]]
    hits, expected = int(np.count_nonzero(hit[mine])), float(share.sum())
    z = z_of_sum(hits, expected, float((share * (1 - share)).sum()))
    text = text.format(hits=hits, n=share.size, expected=expected)
    return Check.of_test(name, z, two_sided(z), alpha, text, odd)


def asked_options(a: LabelledArrays) -> Check:
    """Each option (so each expert) asked equally often under uniform routing: χ² with Σ(K − 1) df.

    Blind to questions chosen by difficulty; `asked_predicted` sees those.
    """
    name = "asked_options"
    mine = uniform_single(a)
    statistic, df = 0.0, 0
    for K in np.unique(a.n_options).tolist():
        counts = np.bincount(a.option[mine & (a.n_options[a.item] == K)], minlength=K)
        expected = counts.sum() / K
        if expected >= 5:
            statistic += float(((counts - expected) ** 2).sum() / expected)
            df += K - 1
    if df == 0:
        return Check.not_made(name, "fewer than 5 uniformly drawn questions per option")
    text = f"options asked about: χ² = {statistic:.1f} on {df} df"
    return Check.of_test(name, statistic, chi2_tail(statistic, df), OPTIONS_ALPHA, text)


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
