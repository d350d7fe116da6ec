"""The difference of two models where items were drawn from a pool with unequal, recorded chances.

As in `oversight.harness.estimate.comparison.difference` D = δ Δ, the share of items on which the two differ
times the mean difference there, both by weights (`oversight.harness.columns.weigh_draws`): δ is a share of as
many items as the weights leave effective, (Σw)²/Σw², and Δ has the weighted score interval of
`oversight.harness.estimate.routed.unequal_items`. Where every differing item tells +1, 0 or −1 by itself, D
is a difference of two shares of the effective items.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate.comparison.difference import paired_proportions, read_votes
from oversight.harness.estimate.core import clopper_pearson, count_effective
from oversight.harness.estimate.intervals import scale_by_share, score_at, tilted_score
from oversight.harness.estimate.routed import RoutedSample, difference_target, weigh_items
from oversight.harness.types import Interval, Note, NoteKind


def unequal_difference(
    first: IntArray,
    second: IntArray,
    data: RoutedSample,
    weight: FloatArray,
    level: float,
) -> tuple[float, Interval, float]:
    """Difference on the pool, its interval, and the two-sided p-value of "no difference".

    Parameters
    ----------
    first, second
        Shape (N,): predictions on the drawn items, −1 for unreadable.
    data
        Answers, one for every item on which the two differ.
    weight
        Shape (N,), above 0: how many items of the pool each stands for.

    Raises
    ------
    NotIdentified
        If items have several questions, or answers cannot tell the two apart.
    """
    differ, size = first != second, count_effective(weight)
    if not differ.any():
        most = clopper_pearson(0, max(1, int(size)), level)[1]
        same = Interval(
            low=-most, high=most, level=level, method="paired", notes=(Note(NoteKind.NEVER_DIFFER),)
        )
        return 0.0, same, 1.0
    target = difference_target(first, second, data.propensities.shape[1])
    rows = weigh_items(target, differ, data, weight)
    df = max(1.0, count_effective(weight[differ]))
    p_value = min(1.0, 2 * float(stdtr(df, -score_at(rows))))
    c, share = target[differ], weight[differ] / weight.sum()
    asked, yes = np.zeros(len(first), np.int64), np.zeros(len(first))
    asked[data.item], yes[data.item] = data.asked, data.answer
    asked, pi, K = asked[differ], data.propensities[differ], data.n_options[differ]
    votes = read_votes(c, pi, K, c[np.arange(len(c)), asked], yes[differ])
    if votes is not None:
        plus, minus = float(share[votes > 0].sum()), float(share[votes < 0].sum())
        low, high = paired_proportions(plus * size, minus * size, size, level)
        return plus - minus, Interval(low=low, high=high, level=level, method="paired"), p_value
    inner = tilted_score(rows, level, df=df)
    value, low, high = scale_by_share(float(share.sum()), size, inner.value, inner.low, inner.high, level)
    return value, Interval(low=low, high=high, level=level, method="paired"), p_value
