"""What every item says of a mean, from the answers there are: outcomes to bet on.

An outcome is equation (G) of `oversight.harness.estimate.routed.doubly_robust` with a working posterior and a
constant that follow from the bar and the draw alone, never from answers, so that its mean is the item's own
value and its bounds are known before any answer.

Items that were passed over on purpose (an unreadable prediction that nobody need be asked about, an item
where two models agree) are known before any answer. If all of them counted at once, the items there would
be no random part of the pool. So all units, items or clusters of them, are laid out in an order that a hash
of their ids decides; each unit that is answered fills the next place of one that was asked about, and those
passed over count once the places before them are filled. If items are independent draws, so is what is
there at any moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.columns import ABSTAINED, NO, YES, LabelColumns, PredictionColumns
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.evidence import number_clusters
from oversight.harness.estimate.routed import (
    RoutedSample,
    accuracy_target,
    difference_target,
    optimal_constant,
    routed_pool,
)
from oversight.harness.seeding import derive_seed


@dataclass(frozen=True, kw_only=True, eq=False)
class Gains:
    """Outcomes minus the bar, summed over units.

    A question that an expert has left unanswered counts with the answer that speaks most against the side
    bet on, so that bets hold whatever it hides.

    Attributes
    ----------
    sums
        Shape (J,): of every unit that counts by now.
    low, high
        Bounds of every sum, known before any answer.
    answers
        Number of questions whose answers entered.
    value
        Mean outcome, by which the bar is missed or passed; NaN without any.
    """

    sums: FloatArray
    low: float
    high: float
    answers: int
    value: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Pool:
    """All items that models answered, with every question drawn about them.

    Attributes
    ----------
    data
        As if every question had been answered.
    predicted
        Shape (N, models), −1 for unreadable.
    answer
        Shape (questions,): 1 yes, 0 no, NaN open, −1 an abstention.
    unit
        Shape (N,): number of the item's cluster, or its own.
    names
        Shape (units,): an id of each unit.
    """

    data: RoutedSample
    predicted: IntArray
    answer: FloatArray
    unit: IntArray
    names: Sequence[str]


def make_pool(labels: LabelColumns, models: Sequence[PredictionColumns]) -> Pool:
    """The pool of items that all models answered.

    Raises
    ------
    EstimateError
        If nothing was asked about them, or an item has no cluster.
    """
    drawn = labels.questions if labels.drawn is None else labels.drawn
    rows = np.arange(len(labels)) if labels.drawn is None else labels.answers
    everywhere = np.logical_and.reduce([m.ran for m in models])
    mine = everywhere[drawn.item]
    as_asked = replace(labels, questions=drawn, kind=np.full(len(drawn), NO), passed=None)
    data, predicted, items = routed_pool(as_asked, models, error_free=False)
    kinds = np.append(labels.kind, YES)[rows]  # an open question's is put right below
    answer = np.where(rows < 0, np.nan, kinds.astype(np.float64))[mine]
    clusters = number_clusters(items, labels.index, labels.cluster)
    unit = np.arange(items.size) if clusters is None else clusters
    first = np.unique(unit, return_index=True)[1]
    return Pool(
        data=data,
        predicted=predicted.astype(np.int64),
        answer=answer,
        unit=unit,
        names=[labels.index.ids[i] for i in items[first].tolist()],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstRates:
    """Error rates of experts that speak most against one side of a bar.

    With sensitivity s and specificity t, J = s + t − 1, an item's outcome has the mean J v + C(1 − J) +
    (1 − t)(Σ_k c_k − K C), v its value. Less that, and J times the bar, it is a gain of mean J (v − bar); it
    is linear in s and t, so its extremes over ranges are at their corners.

    Attributes
    ----------
    sensitivity, specificity
        Ranges that hold the true rates.
    side
        1 takes every item's least gain, for bets above the bar; −1 the greatest, for bets below it. A
        question without an answer counts so, too.
    likely
        The pair (s, t) that a value is given for.
    """

    sensitivity: tuple[float, float]
    specificity: tuple[float, float]
    side: int
    likely: tuple[float, float]

    @property
    def corners(self) -> list[tuple[float, float]]:
        """Pairs (s, t)."""
        return [(s, t) for s in self.sensitivity for t in self.specificity]


NO_ERRORS = WorstRates(sensitivity=(1.0, 1.0), specificity=(1.0, 1.0), side=1, likely=(1.0, 1.0))


def accuracy_gains(pool: Pool, bar: float, rates: WorstRates = NO_ERRORS) -> Gains:
    """Outcomes of a model's accuracy against a bar in (0, 1); raises NotIdentified as `optimal_constant`."""
    options, data = pool.predicted[:, 0], pool.data
    width = data.propensities.shape[1]
    c = accuracy_target(options, width)
    readable = options >= 0
    rest = np.where(readable, (1 - bar) / np.maximum(1, data.n_options - 1), 1 / data.n_options)
    p = np.where(c > 0, bar, rest[:, None]) * data.valid
    constant = np.zeros(len(c))
    constant[readable] = optimal_constant(
        c[readable], data.propensities[readable], p[readable], data.valid[readable]
    )
    if (readable & (constant >= 1)).any():
        raise NotIdentified("a prediction had no chance to be asked about; these answers cannot score it")
    return _gather(pool, c, p, constant, bar, (0.0, 1.0), rates)


def difference_gains(pool: Pool, bar: float, rates: WorstRates = NO_ERRORS) -> Gains:
    """Outcomes of the first model's accuracy minus the second's against a bar in (−1, 1).

    Raises
    ------
    NotIdentified
        If an item where they differ had no chance to be asked about one of the two predictions.
    """
    c = difference_target(pool.predicted[:, 0], pool.predicted[:, 1], pool.data.propensities.shape[1])
    never = (c != 0) & (pool.data.propensities <= 0)
    if never.any():
        raise NotIdentified(
            f"{int(never.any(axis=1).sum())} items where the two models differ had no chance to be asked "
            "about one of the two predictions; the questions were drawn for other models"
        )
    p = np.where(c != 0, 0.5, 0.0)
    return _gather(pool, c, p, np.zeros(len(c)), bar, (-1.0, 1.0), rates)


def _gather(
    pool: Pool,
    c: FloatArray,
    p: FloatArray,
    constant: FloatArray,
    bar: float,
    span: tuple[float, float],
    rates: WorstRates,
) -> Gains:
    data, size = pool.data, len(c)
    can = data.valid & (data.propensities > 0)
    weight = np.where(can, (c - constant[:, None]) / np.where(can, data.propensities, 1.0), 0.0)
    base = (c * p).sum(axis=1)
    number = np.bincount(data.item, minlength=size)
    ends = np.stack([weight * (b - p) for b in (0.0, 1.0)])
    least = base + number * np.minimum(0.0, ends.min(axis=(0, 2)))
    most = base + number * np.maximum(0.0, ends.max(axis=(0, 2)))
    of_asked = weight[data.item, data.asked]
    against = (of_asked < 0) == (rates.side > 0)
    said = np.where(pool.answer == ABSTAINED, against, np.nan_to_num(pool.answer))
    told = of_asked * (said - p[data.item, data.asked])
    g = base + np.bincount(data.item, told, minlength=size)
    units = len(pool.names)
    there = _count_units(pool, number > 0)
    taken = there[pool.unit]
    heard = taken & (np.bincount(data.item, pool.answer == ABSTAINED, size) == 0)
    excess = c.sum(axis=1) - data.n_options * constant

    def shift(s: float, t: float) -> FloatArray:
        J = s + t - 1
        shifted: FloatArray = (constant * (1 - J) + (1 - t) * excess) * (number > 0)
        return shifted

    corners = [(shift(s, t), s + t - 1) for s, t in rates.corners]
    moved = np.array([by + J * bar for by, J in corners])
    off = moved.max(axis=0) if rates.side > 0 else moved.min(axis=0)
    sums = np.bincount(pool.unit[taken], (g - off)[taken], minlength=units)[there]
    largest = int(np.bincount(pool.unit).max(initial=1))
    likely, J = shift(*rates.likely), sum(rates.likely) - 1
    return Gains(
        sums=sums.astype(np.float64),
        low=largest * min(min(J * span[0], float((least - by).min())) - J * bar for by, J in corners),
        high=largest * max(max(J * span[1], float((most - by).max())) - J * bar for by, J in corners),
        answers=int(np.count_nonzero(heard[data.item])),
        value=float((g - likely)[heard].mean()) / J if heard.any() and J > 0 else float("nan"),
    )


def _count_units(pool: Pool, put: BoolArray) -> BoolArray:
    """Which units count by now, shape (units,): see the module. A cluster does when no question is open."""
    size, units = len(put), len(pool.names)
    is_open = np.bincount(pool.data.item, np.isnan(pool.answer), size) > 0
    waits = np.bincount(pool.unit, is_open, units) > 0
    was_put = np.bincount(pool.unit, put, units) > 0
    there: BoolArray = was_put & ~waits
    if not was_put.all():
        turn = np.array([derive_seed(0, "gate", name) for name in pool.names], dtype=np.uint64)
        places = np.sort(turn[was_put])
        filled = int(np.count_nonzero(there))
        there |= ~was_put & ((turn < places[filled]) if filled < places.size else True)
    return there
