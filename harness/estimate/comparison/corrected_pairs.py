"""The difference of two models where experts err: as `difference_interval`, corrected for what is known.

Experts say yes to a true option with probability s and to a false one with 1 − t, J = s + t − 1. Then

    E Σ_k c_k b_k = J Σ_k c_k 1{y = k} + (1 − t) Σ_k c_k,

and for a difference, c = +1 at one prediction and −1 at the other, the last sum is 0 where both are readable:
an uncorrected difference is J D, whatever s and t are apart. So

* where one question an item was as likely about either prediction, and items are independent of one K, the
  interval of `difference_interval`, in which a yes about the first counts as a no about the second does, is
  valid for J D as it stands, and so is its p-value of "no difference". D is the ratio to J: every d is kept
  for which 0 lies in the interval of JD − d J (Fieller 1954, JRSS B 16, with the limits of both put together
  by squaring and adding). Where ranges of s and t are known instead, the interval is the union over them;
* otherwise gold corrects every answer (`corrected_mean`): other draws, unreadable predictions, clusters.

Both suppose that experts err as often whichever model predicted the option, given whether it is true.
"""

from __future__ import annotations

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.comparison.paired import difference_interval, student_p_value
from oversight.harness.estimate.comparison.two_models import Comparison, FoundDifference
from oversight.harness.estimate.core import check_level, effective_clusters
from oversight.harness.estimate.routed import (
    GOLD_ASSUMPTIONS,
    ErrorRanges,
    GoldCounts,
    RoutedSample,
    corrected_mean,
    difference_target,
    informed,
    rate_ranges,
    youden_interval,
)
from oversight.harness.types import Interval, Note

_GRID = np.linspace(-1.0, 1.0, 4001)
_NEAR = 1e-9
_LEAST = 1e-6
"""Below it J is taken for nothing."""


def corrected_difference(
    first: IntArray,
    second: IntArray,
    data: RoutedSample,
    known: ErrorRanges,
    *,
    level: float = 0.95,
    names: tuple[str, str] = ("a", "b"),
    cluster: IntArray | None = None,
) -> Comparison:
    """Difference with the interval that the module gives.

    Parameters
    ----------
    first, second, cluster
        Shape (N,): predictions, −1 for unreadable; number of the item's cluster, if items have one.
    data
        Answers, made with ``error_free=False``.
    known
        Answers to gold, and ranges of the rates.

    Raises
    ------
    NotIdentified
        If what is known of the errors does not tell the difference.
    EstimateError
        As of `difference_interval`.
    """
    check_level(level)
    is_even = cluster is None and _is_even(first, second, data)
    if known.gold is not None and is_even:
        found = _by_ratio(first, second, data, known, level)
    elif known.gold is not None:
        found = _by_gold(first, second, data, known.gold, level, cluster)
    elif is_even:
        found = _by_ranges(first, second, data, known, level)
    else:
        raise NotIdentified(
            "without gold of both kinds a difference is corrected only where each item has one question, as "
            "likely about either prediction, both readable, of independent items of one number of options"
        )
    questions = len(data.item)
    return Comparison.of_interval(
        names, found, items=len(first), questions=questions, assumptions=GOLD_ASSUMPTIONS
    )


def _is_even(first: IntArray, second: IntArray, data: RoutedSample) -> bool:
    """Whether each differing item has one answer, drawn as likely about either prediction, of one K."""
    differ: BoolArray = first != second
    answers = np.bincount(data.item, minlength=len(first))[differ]
    readable = (first >= 0) & (second >= 0)
    if not readable[differ].all() or (answers != 1).any():
        return False
    rows = np.flatnonzero(differ)
    ours, theirs = data.propensities[rows, first[rows]], data.propensities[rows, second[rows]]
    alike = not rows.size or (np.ptp(ours) < _NEAR and np.ptp(data.n_options[rows]) == 0)
    return bool(alike and (np.abs(ours - theirs) < _NEAR).all())


def _by_ratio(
    first: IntArray, second: IntArray, data: RoutedSample, known: ErrorRanges, level: float
) -> FoundDifference:
    """D as the ratio of J D and J, both with their intervals."""
    value, raw, p_value = difference_interval(first, second, data, level)
    J, least, most = youden_interval(known, level)
    centre, away = value - _GRID * J, np.abs(_GRID)
    up, down = np.where(_GRID > 0, most - J, J - least), np.where(_GRID > 0, J - least, most - J)
    low = centre - np.hypot(value - raw.low, away * up)
    high = centre + np.hypot(raw.high - value, away * down)
    kept = np.append(np.flatnonzero((low <= 0) & (high >= 0)), np.abs(centre).argmin())
    step = _GRID[1] - _GRID[0]
    ends = max(-1.0, _GRID[kept.min()] - step), min(1.0, _GRID[kept.max()] + step)
    return value / J, _interval(ends, level, "paired+gold", raw.notes), p_value


def _by_ranges(
    first: IntArray, second: IntArray, data: RoutedSample, known: ErrorRanges, level: float
) -> FoundDifference:
    """The union of the intervals of D over all J in the ranges; half of the error is for gold of one kind."""
    has_gold = bool(sum(known.gold_true) + sum(known.gold_false))
    part = 1 - (1 - level) / 2 if has_gold else level
    (s_low, s_high), (t_low, t_high) = rate_ranges(known, part)
    least, most = s_low + t_low - 1, s_high + t_high - 1
    value, raw, p_value = difference_interval(first, second, data, part)
    if least <= _LEAST:
        raise NotIdentified(
            "the ranges of the error rates let sensitivity + specificity be 1, where answers carry nothing; "
            "narrow them (sensitivity, specificity), or add gold items of both kinds"
        )
    low = raw.low / (least if raw.low < 0 else most)
    high = raw.high / (least if raw.high > 0 else most)
    ends = max(-1.0, low), min(1.0, high)
    middle = value / ((least + most) / 2)
    return middle, _interval(ends, level, "paired+ranges", raw.notes), min(1.0, p_value)


def _by_gold(
    first: IntArray,
    second: IntArray,
    data: RoutedSample,
    gold: GoldCounts,
    level: float,
    cluster: IntArray | None,
) -> FoundDifference:
    """The mean of corrected answers, with Student's t of the items or clusters."""
    c: FloatArray = difference_target(first, second, data.propensities.shape[1])
    data = informed(np.stack([first, second], axis=1), data)
    found = corrected_mean(c, data, gold, level=level, cluster=cluster)
    groups = len(first) if cluster is None else effective_clusters(cluster)
    made = _interval((found.low, found.high), level, "delta", found.notes, why=found.why)
    return found.value, made, student_p_value(found.value, found.se or 0.0, groups)


def _interval(
    ends: tuple[float, float], level: float, method: str, notes: tuple[Note, ...], why: str = ""
) -> Interval:
    return Interval(low=ends[0], high=ends[1], level=level, method=method, notes=notes, why=why)
