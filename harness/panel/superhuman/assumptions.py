"""Do the assumptions of the superhuman bounds hold? Where some oracle labels exist, look.

Source: "Humanly Certifying Superhuman Classifiers" (ICLR 2023), Table 1 and Appendix B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import BoolArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import paired_proportions
from oversight.harness.panel.superhuman.independent_units import Units, count_units

LEAST = 1e-6
"""Two-sided level of a bound that need not hold more often than not."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
    units
        Of items in clusters, these as the independent units; None if items are independent.
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
    units: Units | None = None

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

    def overstated(self, level: float) -> float:
        """How far agreement with the aggregate may exceed the model's accuracy: a one-sided bound at `level`.

        P(the model repeats an error of the aggregate) − P(it is right where the aggregate is wrong), which
        Theorem 3 assumes to be at most 0, over all items with an oracle label.
        """
        repeats = self.wrong_items * (self.model_repeats or 0.0)
        right = self.wrong_items * (self.model_right or 0.0)
        n = self.oracle_items
        if self.units is not None:
            half = (1 - level) / 2
            return self.units.highest(repeats / n, half) - self.units.lowest(right / n, half)
        return paired_proportions(repeats, right, n, max(0.0, 2 * level - 1) or LEAST)[1]


def check_assumptions(
    votes: IntArray,
    winners: BoolArray,
    predicted: IntArray,
    oracle: IntArray,
    *,
    cluster: IntArray | None = None,
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
    cluster
        Shape (N,): number of the item's cluster, if it has one (`Panel.cluster`).

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
    wrong, hit = 1 - weight[row, o], p == o
    total = float(wrong.sum())
    repeats = np.where((p >= 0) & ~hit, weight[row, np.maximum(p, 0)], 0.0)
    model_right = float((wrong * hit).sum()) / total if total else None
    return AssumptionCheck(
        oracle_items=len(o),
        right_given_right=both,
        right=right,
        model_right=model_right,
        model_repeats=float(repeats.sum()) / total if total else None,
        model_wrong=None if model_right is None else 1 - model_right,
        wrong_items=total,
        human_accuracy=right,
        model_accuracy=float(hit.mean()),
        aggregate_accuracy=float(1 - wrong.mean()),
        units=None if cluster is None else count_units(cluster[known]),
    )
