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
from oversight.harness.errors import BadInput, EstimateError

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
