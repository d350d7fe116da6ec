"""Do the assumptions of the superhuman bounds hold? Where some oracle labels exist, look.

Source: "Humanly Certifying Superhuman Classifiers" (ICLR 2023), Table 1 and Appendix B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.arrays import BoolArray, FloatArray, IntArray
from harness.errors import EstimateError
from harness.estimate import effective_size, paired_proportions

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
    effective_items
        How many independent items would tell as exactly how often the model repeats an error: all of them, or
        fewer of items in clusters; 0 where they are of one cluster.
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
    effective_items: float

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
        if not self.effective_items:
            return 1.0
        wrong = self.wrong_items / self.oracle_items * self.effective_items
        repeats, right = wrong * (self.model_repeats or 0.0), wrong * (self.model_right or 0.0)
        return paired_proportions(repeats, right, self.effective_items, max(0.0, 2 * level - 1) or LEAST)[1]


def check_assumptions(
    votes: IntArray,
    winners: BoolArray,
    predicted: IntArray,
    oracle: IntArray,
    *,
    cluster: IntArray | None = None,
    level: float = 0.95,
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
    cluster, level
        Shape (N,): number of the item's cluster, if it has one (`Panel.cluster`); and the level at which
        clusters are counted as effective items.

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
    of = None if cluster is None else np.unique(cluster[known], return_inverse=True)[1]
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
        effective_items=_effective(repeats - wrong * hit, of, level),
    )


def _effective(values: FloatArray, cluster: IntArray | None, level: float) -> float:
    if cluster is None:
        return float(len(values))
    return effective_size(values, cluster, level) if cluster.any() else 0.0
