"""Do the assumptions of the superhuman bounds hold? Where some oracle labels exist, look.

Source: "Humanly Certifying Superhuman Classifiers" (ICLR 2023), Table 1 and Appendix B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.arrays import BoolArray, FloatArray, IntArray
from harness.errors import EstimateError


@dataclass(frozen=True, slots=True)
class AssumptionCheck:
    """Both assumptions on the items with an oracle label.

    Attributes
    ----------
    right_given_right, right
        P(ℓ_i = ℓ* | ℓ_j = ℓ*) over pairs of different annotators, and P(ℓ_i = ℓ*). Theorem 1
        assumes the first is not below the second; of its bounds U(e) needs it, U(t) does not. A
        fixed panel of unequal skill may fail it although its errors are independent. None without
        an item of two labels.
    model_right, model_repeats, model_wrong
        Where the aggregate is wrong: P(model = ℓ*), P(model = the aggregate's wrong label) and the
        published, stricter comparison P(model = any wrong label). Theorem 3 needs the first not below
        the second. None where the aggregate is never wrong.
    wrong_items
        How many items that rests on (ties count in part).
    human_accuracy, model_accuracy, aggregate_accuracy
        Against the oracle.
    """

    oracle_items: int
    right_given_right: float | None
    right: float
    model_right: float | None
    model_repeats: float | None
    model_wrong: float | None
    wrong_items: float
    human_accuracy: float
    model_accuracy: float
    aggregate_accuracy: float

    @property
    def first_holds(self) -> bool | None:
        """Theorem 1's assumption, on these items."""
        return None if self.right_given_right is None else self.right_given_right >= self.right

    @property
    def second_holds(self) -> bool | None:
        """Theorem 3's assumption as its proof uses it, on these items."""
        if self.model_right is None or self.model_repeats is None:
            return None
        return self.model_right >= self.model_repeats


def check_assumptions(
    votes: IntArray, winners: BoolArray, predicted: IntArray, oracle: IntArray
) -> AssumptionCheck:
    """Compute Table 1 on the items whose oracle label is known.

    Parameters
    ----------
    votes
        Shape (N, K).
    winners
        Shape (N, K): the aggregate (`plurality`); an item's ties share its weight.
    predicted, oracle
        Shape (N,); a negative oracle label is unknown, a negative prediction unreadable.

    Raises
    ------
    EstimateError
        If no oracle label is known.
    """
    known = oracle >= 0
    if not known.any():
        raise EstimateError("no item has an oracle label: the assumptions cannot be looked at")
    v, w, p, o = votes[known], winners[known], predicted[known], oracle[known]
    row = np.arange(len(o))
    m, r = v.sum(axis=1), v[row, o]
    right = float((r / m).mean())
    several = m >= 2
    both = None
    if several.any() and r[several].any():
        n, k = m[several], r[several]
        both = float((k * (k - 1) / (n * (n - 1))).mean() / (k / n).mean())
    weight = w / w.sum(axis=1, keepdims=True)
    wrong = 1 - weight[row, o]
    return AssumptionCheck(
        len(o), both, right, *_where_wrong(weight, wrong, p, o), right, float((p == o).mean()),
        float(1 - wrong.mean()),
    )  # fmt: skip


def _where_wrong(
    weight: FloatArray, wrong: FloatArray, predicted: IntArray, oracle: IntArray
) -> tuple[float | None, float | None, float | None, float]:
    total = float(wrong.sum())
    if total == 0:
        return None, None, None, 0.0
    hit = predicted == oracle
    named = np.maximum(predicted, 0)
    repeats = np.where((predicted >= 0) & ~hit, weight[np.arange(len(named)), named], 0.0)
    model_right = float((wrong * hit).sum()) / total
    return model_right, float(repeats.sum()) / total, 1 - model_right, total
