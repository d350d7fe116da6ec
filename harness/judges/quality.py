"""Measure one judge: calibration, area under the ROC curve, sensitivity and specificity by class.

Every measure is a mean over the questions in the scope of `oversight.harness.judges.questions`, weighted by
the inverse of their propensities.

Calibration is measured on the questions about the judge's first choice, the option with its highest
probability; if options tie, there is no first choice. If the questions about all options were used,
overconfidence would hardly show, because most options have a low probability. The calibration error is Σ_b
s_b |θ_b| over bins b of the stated probability, where s_b is the share of first choices in a bin and θ_b
their mean of answer − probability (Naeini et al. 2015, AAAI). With estimates ŝ and θ̂, |Σ ŝ|θ̂| − Σ s|θ|| is
at most Σ ŝ_b |θ̂_b − θ_b| + |Σ (ŝ_b − s_b) |θ_b||. The quantile of this sum for independent normal errors
gives an interval that is valid although the estimate is biased upwards.

The interval of the area inverts its score equation (Newcombe 2006, Statistics in Medicine 25, method 5) with
effective numbers of answers, widened by the design effect of the placement values (DeLong et al. 1988).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import stdtrit

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate import effective_clusters, find_root, t_quantile
from oversight.harness.judges.probabilities import JudgeProbabilities
from oversight.harness.judges.questions import JudgedQuestions
from oversight.harness.judges.shares import (
    Measure,
    deviation_of_mean,
    weighted_share,
)

LEAST_EACH = 5
"""Smallest number of yes answers, and of no answers, for the area under the curve."""
LEAST_IN_BIN = 20
_BINS = 10
_DRAWS = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """First choices whose stated probabilities lie between `start` and `end`.

    Attributes
    ----------
    stated
        Mean stated probability.
    share
        Share of all first choices that are in the bin.
    yes
        Share of the bin's first choices that experts confirm.
    """

    start: float
    end: float
    stated: float
    share: float
    yes: Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassQuality:
    """A judge's sensitivity and specificity for a class."""

    name: str
    sensitivity: Measure
    specificity: Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuality:
    """Quality of one judge.

    Attributes
    ----------
    name
        Name of the judge.
    n
        Number of answered questions about items that the judge judged.
    silent
        Number of answered questions about items that the judge did not judge.
    bias
        Mean of stated probability − answer over first choices (each item's most likely option); positive if
        the judge is overconfident.
    error
        Calibration error of first choices: weighted mean of the absolute gaps in the bins of `curve`.
    curve
        Bins of the calibration curve of first choices; empty if `error` is withheld.
    area
        Area under the ROC curve: probability that a true option has a higher probability than a false one.
    agreement
        Share of questions on which the judge's yes or no equals the expert's.
    classes
        Sensitivity and specificity by class; empty if items have different options.
    why
        Reason why the intervals may not hold; empty if none is known.
    """

    name: str
    n: int
    silent: int
    bias: Measure
    error: Measure
    curve: Sequence[CalibrationBin]
    area: Measure
    agreement: Measure
    classes: Sequence[ClassQuality]
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether the intervals have their nominal coverage."""
        return not self.why


def judge_quality(
    name: str,
    judge: JudgeProbabilities,
    questions: JudgedQuestions,
    *,
    classes: Sequence[str] = (),
    level: float = 0.95,
) -> JudgeQuality:
    """Measure one judge on the answered questions.

    Parameters
    ----------
    judge
        The judge's probabilities for all items of the study.
    classes
        Names of the options if all items have the same options.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judge
    >>> p, judge, asked = example_judge()
    >>> round(judge_quality("judge", judge, asked).area.value, 2)
    0.88
    """
    speaks = judge.speaks[questions.item]
    mine = questions.take(speaks)
    p = judge.p[mine.item, mine.option]
    says = judge.named[mine.item] == mine.option
    silent = int((~speaks).sum())
    curve: tuple[CalibrationBin, ...] = ()
    error = bias = Measure.withheld("the judge states no probabilities", len(mine))
    if judge.stated:
        curve, error = calibration(p[says], mine.take(says), level)
        bias = _bias(p[says], mine.take(says), level)
    return JudgeQuality(
        name=name,
        n=len(mine),
        silent=silent,
        bias=bias,
        error=error,
        curve=curve,
        area=area_under_curve(p, mine, level),
        agreement=weighted_share((says == mine.answer).astype(np.float64), mine.weight, mine.cluster, level),
        classes=_by_class(says, mine, classes, level),
    )


def calibration(
    p: FloatArray, questions: JudgedQuestions, level: float = 0.95
) -> tuple[tuple[CalibrationBin, ...], Measure]:
    """Return the calibration curve and the calibration error of stated probabilities `p`, shape (R,).

    Bins of width 0.1 are joined, from the lowest upwards, until each has 20 answers. The error is computed
    from the joined bins, so gaps of opposite sign within a joined bin cancel.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judge
    >>> p, judge, asked = example_judge()
    >>> bins, error = calibration(p, asked)
    >>> len(bins), round(error.value, 2)
    (4, 0.15)
    """
    n = len(questions)
    if n < LEAST_IN_BIN:
        return (), Measure.withheld(_few(n), n)
    edges = _edges(p)
    total, bins = float(questions.weight.sum()), list[CalibrationBin]()
    gap, spread = np.zeros(n), list[float]()
    for j, (start, end) in enumerate(pairwise(edges)):
        inside = (p >= start) & ((p < end) | (j == len(edges) - 2))
        here, stated = questions.take(inside), p[inside]
        share = float(here.weight.sum() / total)
        bins.append(
            CalibrationBin(
                start=start,
                end=end,
                stated=float(np.average(stated, weights=here.weight)),
                share=share,
                yes=weighted_share(here.answer, here.weight, here.cluster, level),
            )
        )
        gap[inside] = abs(float(np.average(here.answer - stated, weights=here.weight)))
        spread.append(share * deviation_of_mean(here.answer - stated, here.weight, here.cluster))
    if len(bins) > 1:  # add the error of the bins' estimated shares
        spread.append(deviation_of_mean(gap, questions.weight, questions.cluster))
    value = float(np.average(gap, weights=questions.weight))
    errors = np.abs(np.random.default_rng(0).standard_normal((_DRAWS, len(spread)))) @ np.array(spread)
    most = float(np.quantile(errors, level))
    return tuple(bins), Measure(value=value, low=max(0.0, value - most), high=min(1.0, value + most), n=n)


def _edges(p: FloatArray) -> list[float]:
    """Return edges of bins, chosen so that each bin contains enough answers."""
    edges, held = [0.0], 0
    inner = np.arange(1, _BINS) / _BINS
    number = np.bincount(np.searchsorted(inner, p, side="right"), minlength=_BINS)
    for j, count in enumerate(number.tolist(), start=1):
        held += count
        if held >= LEAST_IN_BIN:
            edges.append(j / _BINS)
            held = 0
    edges[-1] = 1.0
    return edges


def _few(n: int) -> str:
    return f"{n} answers about its first choices, at least {LEAST_IN_BIN} are needed"


def _bias(p: FloatArray, questions: JudgedQuestions, level: float) -> Measure:
    n = len(questions)
    if n < LEAST_IN_BIN:
        return Measure.withheld(_few(n), n)
    gap = p - questions.answer
    value = float(np.average(gap, weights=questions.weight))
    freedom = max(1.0, effective_clusters(questions.cluster, questions.weight) - 1)
    half = deviation_of_mean(gap, questions.weight, questions.cluster) * float(
        stdtrit(freedom, 0.5 + level / 2)
    )
    return Measure(value=value, low=max(-1.0, value - half), high=min(1.0, value + half), n=n)


def area_under_curve(p: FloatArray, questions: JudgedQuestions, level: float = 0.95) -> Measure:
    """Return the area under the ROC curve of the probabilities `p`, which have the shape (R,).

    It is the probability that `p` is larger for a "yes" than for a "no"; a tie counts as one half.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judge
    >>> p, judge, asked = example_judge()
    >>> found = area_under_curve(p, asked)
    >>> print(f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]")
    0.88 [0.81, 0.92]
    """
    yes, n = questions.answer > 0, len(questions)
    number = int(yes.sum()), int((~yes).sum())
    if min(number) < LEAST_EACH:
        told = f"{number[0]} yes and {number[1]} no, at least {LEAST_EACH} of each are needed"
        return Measure.withheld(told, n)
    weight = questions.weight
    up, down = weight[yes] / weight[yes].sum(), weight[~yes] / weight[~yes].sum()
    placed_yes = _share_below(p[yes], p[~yes], down)
    placed_no = 1 - _share_below(p[~yes], p[yes], up)
    area = min(1.0, float(up @ placed_yes))
    influence = np.zeros(n)
    influence[yes], influence[~yes] = up * (placed_yes - area), down * (placed_no - area)
    observed = float((np.bincount(questions.cluster, influence) ** 2).sum())
    sizes = tuple(1 / float((share**2).sum()) for share in (up, down))
    excess = max(1.0, observed / _area_variance(area, *sizes)) if 0 < area < 1 else 1.0
    low, high = (_area_end(area, sizes, excess, level, side) for side in (-1, 1))
    return Measure(value=area, low=low, high=high, n=n)


def _share_below(values: FloatArray, others: FloatArray, share: FloatArray) -> FloatArray:
    """Return, per value, the sum of `share` over all smaller `others`; equal `others` count by half."""
    order = np.argsort(others, kind="stable")
    total = np.concatenate([[0.0], np.cumsum(share[order])])
    below = total[np.searchsorted(others[order], values, side="left")]
    up_to = total[np.searchsorted(others[order], values, side="right")]
    found: FloatArray = (below + up_to) / 2
    return found


def _area_variance(area: float, m: float, n: float) -> float:
    middle = (m + n) / 2 - 1
    shape = 1 + middle * (1 - area) / (2 - area) + middle * area / (1 + area)
    return area * (1 - area) * shape / (m * n)


def _area_end(area: float, sizes: Sequence[float], excess: float, level: float, side: int) -> float:
    """Return one end of an area's interval: the lower end if `side` is −1, the upper end if it is 1."""
    z, limit = t_quantile(level, max(1.0, min(sizes) - 1)), 1e-9 if side < 0 else 1 - 1e-9

    def outside(value: float) -> float:
        return (value - area) ** 2 - z**2 * excess * _area_variance(value, *sizes)

    inner = min(max(area, 1e-9), 1 - 1e-9)
    if outside(limit) <= 0:
        return round(limit)
    if side < 0:
        return find_root(outside, limit, inner)
    return find_root(lambda value: -outside(value), inner, limit)


def _by_class(
    says: IntArray, questions: JudgedQuestions, classes: Sequence[str], level: float
) -> tuple[ClassQuality, ...]:
    found = []
    for number, name in enumerate(classes):
        shares = []
        for kind in (1, 0):
            rows = (questions.option == number) & (questions.answer == kind)
            here = questions.take(rows)
            shares.append(
                weighted_share((says[rows] == kind).astype(np.float64), here.weight, here.cluster, level)
            )
        found.append(ClassQuality(name=name, sensitivity=shares[0], specificity=shares[1]))
    return tuple(found)
