"""The mean cost of a model's answers, or its utility: a number for every truth and prediction.

An accuracy is the mean of 1 where both are the same and of 0 elsewhere; where a missed infarction is worse
than a false alarm, a mean cost says which model does less harm.

Items of which models predict the same are a row. In a row j every truth k costs C_jk; b_j is the commonest
of these values, and the others are C_jk = b_j + w. So the mean cost is Σ_j P_j b_j + Σ_w w A_w, with A_w
the share of items of which an option that costs w more than its row's b is true. Of each row that is one
option (or A_w has several parts), so that A_w is an accuracy of answers that depend on the row, and has the
interval of one. For costs of 0 and 1 it is the accuracy itself, however many classes there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import AnyIntArray, FloatArray, IntArray
from oversight.harness.columns import PredictionColumns
from oversight.harness.errors import BadInput, EstimateError
from oversight.harness.estimate.classes.class_parts import ClassEvidence, ItemTruths
from oversight.harness.estimate.classes.parts import METHOD, Part, sum_part
from oversight.harness.estimate.intervals import scale_by_share, share_interval
from oversight.harness.estimate.routed import ROUTED_ASSUMPTIONS
from oversight.harness.types import Estimate

COST = "cost"
"""Name of the mean cost among results."""
UNREADABLE_COLUMN = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostTable:
    """What predictions cost.

    Attributes
    ----------
    costs
        Shape (K, K): by true class (row) and predicted class (column).
    unreadable
        Shape (K,): of a prediction that names no class, by true class; None if the table does not say.
    """

    costs: FloatArray
    unreadable: FloatArray | None = None

    def __post_init__(self) -> None:
        square = np.asarray(self.costs, dtype=np.float64)
        if square.ndim != 2 or square.shape[0] != square.shape[1]:
            raise BadInput(f"costs: must be a square table, has shape {square.shape}")
        rest = None if self.unreadable is None else np.asarray(self.unreadable, dtype=np.float64)
        if rest is not None and rest.shape != square.shape[:1]:
            raise BadInput(f"costs: {UNREADABLE_COLUMN!r} must have {len(square)} numbers, has {rest.size}")
        if not (np.isfinite(square).all() and (rest is None or np.isfinite(rest).all())):
            raise BadInput("costs: every cost must be a finite number")
        object.__setattr__(self, "costs", square)
        object.__setattr__(self, "unreadable", rest)

    def of_prediction(self, option: int) -> FloatArray:
        """Cost of each truth where this option is predicted, −1 for an unreadable answer; shape (K,).

        Raises
        ------
        EstimateError
            If the answer is unreadable and the table does not say what that costs.
        """
        if option >= 0:
            return self.costs[:, option]
        if self.unreadable is None:
            raise EstimateError(
                "costs: some answers are unreadable, and the table does not say what they cost: give it a "
                f"column {UNREADABLE_COLUMN!r}"
            )
        return self.unreadable


@dataclass(frozen=True, kw_only=True, eq=False)
class CostForm:
    """Costs of N items as what is known of them and what their truth adds.

    Attributes
    ----------
    base
        b of every item, shape (N,).
    weights
        Every w, each with the option of every item that adds it, −1 without one; shape (N,).
    low, high
        The least and most that an item of these predictions can cost.
    """

    base: FloatArray
    weights: Sequence[tuple[float, IntArray]]
    low: float
    high: float

    @classmethod
    def of(cls, costs: CostTable, predicted: AnyIntArray, signs: Sequence[int]) -> CostForm:
        """Of predictions of shape (N, M) by models whose costs are added up with these signs."""
        rows, number = np.unique(predicted, axis=0, return_inverse=True)
        number = number.reshape(-1)
        # differences of equal costs are equal, whatever rounding makes of them
        table = np.round(
            [
                np.sum([s * costs.of_prediction(int(o)) for s, o in zip(signs, row, strict=True)], axis=0)
                for row in rows
            ],
            12,
        )
        base = np.array([_commonest(line.tolist()) for line in table])
        found = list[tuple[float, IntArray]]()
        for weight, options in _group(table - base[:, None]):
            found.append((weight, options[number]))
        return cls(base=base[number], weights=found, low=float(table.min()), high=float(table.max()))


def _commonest(costs: list[float]) -> float:
    """Of values that are equally common the largest, so that rows of two options are about the same one."""
    number = Counter(costs)
    return max(number, key=lambda cost: (number[cost], cost))


def _group(more: FloatArray) -> Iterator[tuple[float, IntArray]]:
    """Every w that differs from 0 with an option of every row that adds it, as often as it takes."""
    for weight in np.unique(more[more != 0]):
        has = more == weight
        for turn in range(int(has.sum(axis=1).max())):
            place = np.cumsum(has, axis=1) == turn + 1
            chosen = has & place
            yield float(weight), np.where(chosen.any(axis=1), chosen.argmax(axis=1), -1)


Entry = tuple[float, Part, IntArray, FloatArray]
"""Weight, part, and by item the option whose truth it is of (−1: none) and what is known without (0, 1)."""


def mean_cost(
    evidence: ClassEvidence, models: Sequence[PredictionColumns], signs: Sequence[int], costs: CostTable
) -> Estimate:
    """Mean of the models' costs, each times its sign: (1,) for one model, (1, −1) for one less another.

    Parameters
    ----------
    evidence
        Of predictions of the items that all models answered.

    Raises
    ------
    EstimateError
        If answers do not tell it.
    """
    places = np.flatnonzero(evidence.population)
    predicted = np.stack([m.option[places] for m in models], axis=1)
    form = CostForm.of(costs, np.maximum(predicted, -1), signs)
    least = float(form.base.min(initial=np.inf))
    if not form.weights and form.low == form.high:
        return _all_alike(evidence, form.low, costs, signs, len(places))
    entries = [*_known(evidence, form, places), *_unknown(evidence, form, places)]
    whys = [why for _, why in entries if why]
    parts = [entry for entry, _ in entries]
    rho: FloatArray = np.ones((len(parts), len(parts)))
    if len(parts) > 1:
        truths = ItemTruths.gather(models, evidence.labels, evidence.classes, evidence.strata)
        forms = [(option, np.full(option.size, weight), weight * known) for weight, _, option, known in parts]
        rho = truths.correlate(forms)
    total = sum_part([(weight, part) for weight, part, _, _ in parts], rho)
    spread = form.high - form.low
    if spread > 0 and len(parts) > 1:
        low, value, high = ((least + end - form.low) / spread for end in (total.low, total.value, total.high))
        wide = Part(value=value, low=max(0.0, low), high=min(1.0, high)).widen(evidence.level)
        total = Part(
            value=total.value,
            low=form.low + spread * wide.low - least,
            high=form.low + spread * wide.high - least,
        )
    ends = max(form.low, least + total.low), min(form.high, least + total.high)
    return _estimate(evidence, least + total.value, *ends, next(iter(whys), ""))


def _estimate(evidence: ClassEvidence, cost: float, low: float, high: float, why: str = "") -> Estimate:
    return Estimate(
        value=cost,
        low=low,
        high=high,
        se=None,
        level=evidence.level,
        estimator=COST,
        method=METHOD,
        assumptions=ROUTED_ASSUMPTIONS,
        why=why,
    )


def _all_alike(
    evidence: ClassEvidence, cost: float, costs: CostTable, signs: Sequence[int], n: int
) -> Estimate:
    """Where each of n items costs the same whatever is true; others, which were not seen, may cost more."""
    table = costs.costs if costs.unreadable is None else np.append(costs.costs.ravel(), costs.unreadable)
    most, least = float(table.max()), float(table.min())
    if len(signs) > 1:
        most, least = most - least, least - most
    unseen = share_interval(0, n, evidence.level)[1]
    return _estimate(evidence, cost, cost - unseen * (cost - least), cost + unseen * (most - cost))


def _known(evidence: ClassEvidence, form: CostForm, places: IntArray) -> list[tuple[Entry, str]]:
    """What predictions cost whatever is true, as shares of items that cost more than the cheapest."""
    found = list[tuple[Entry, str]]()
    values = np.unique(form.base)
    for value in values[1:]:
        items = np.zeros(len(evidence.population), np.bool_)
        items[places[form.base == value]] = True
        none = np.full(items.size, -1, dtype=np.int64)
        found.append(((float(value - values[0]), evidence.share(items), none, items.astype(np.float64)), ""))
    return found


def _unknown(evidence: ClassEvidence, form: CostForm, places: IntArray) -> list[tuple[Entry, str]]:
    """What truths add: shares of items, each with the interval of an accuracy."""
    found = list[tuple[Entry, str]]()
    for weight, column in form.weights:
        option = np.full(len(evidence.population), -1)
        option[places] = column
        items = option >= 0
        inner = evidence.find(items, option)
        part = Part.within(inner.clipped, inner.low, inner.high)
        share = evidence.share(items)
        if share.value < 1:
            size, ends = len(places), (part.value, part.low, part.high)
            part = Part.within(*scale_by_share(share.value, size, *ends, evidence.level))
        found.append(((weight, part, option, np.zeros(items.size)), inner.why))
    return found
