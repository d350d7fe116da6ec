"""The interval of a difference of two models, and its p-value, from one answer an item.

Where both models predict the same their difference is 0 whatever the truth. So D = δ Δ: δ is the share of
items on which they differ, Δ the mean difference there, and the interval is `scale_by_share`'s. Δ's is

* that of one proportion where each prediction was as likely asked about, P = (1 + Δ)/2 of the m asked at one
  of the two (a yes about the first or a no about the second speaks for the first);
* `tilted_score`'s otherwise, with as many degrees of freedom as items asked at one of the two.

Where every differing item tells +1, 0 or −1 by itself (resolved items, K = 2, a coin between the two
predictions), D is a difference of two dependent proportions n_+/N − n_−/N, with `paired_proportions`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtr

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import clopper_pearson, effective_clusters, sign_p_value
from oversight.harness.estimate.intervals import (
    collapse_rows,
    effective_size,
    scale_by_share,
    score_at,
    share_interval,
    tilt_items,
    tilted_score,
)
from oversight.harness.estimate.routed import RoutedSample, difference_target, informed, routed_mean
from oversight.harness.types import Interval, Note, NoteKind

_NEAR = 1e-9


def paired_proportions(n_10: float, n_01: float, n: float, level: float) -> tuple[float, float]:
    """Interval for p_10 − p_01 of paired proportions: Newcombe's, with Clopper–Pearson limits.

    With (l₁, u₁), (l₂, u₂) those of p̂ = n_10/n and q̂ = n_01/n and ρ = min{1, √(p̂q̂/((1−p̂)(1−q̂)))}: low =
    p̂ − q̂ − √(x² + y² + 2ρxy), x = p̂ − l₁, y = u₂ − q̂, and high likewise. Never of width 0. Source: the
    square-and-add intervals of Newcombe 1998, Stat. Med. 17, with exact limits and the correlation of
    multinomial counts in place of his.

    Counts may be fractions, of an effective size (`effective_size`).
    """
    p, q = n_10 / n, n_01 / n
    (l1, u1), (l2, u2) = share_interval(n_10, n, level), share_interval(n_01, n, level)
    room = (1 - p) * (1 - q)
    rho = min(1.0, math.sqrt(p * q / room)) if room > 0 else 0.0

    def half(x: float, y: float) -> float:
        return math.sqrt(x * x + y * y + 2 * rho * x * y)

    return max(-1.0, p - q - half(p - l1, u2 - q)), min(1.0, p - q + half(u1 - p, q - l2))


def difference_interval(
    first: IntArray,
    second: IntArray,
    data: RoutedSample,
    level: float,
    cluster: IntArray | None = None,
    count: IntArray | None = None,
) -> tuple[float, Interval, float]:
    """Difference, interval and two-sided p-value of "no difference"; see the module.

    Parameters
    ----------
    first, second, cluster
        Shape (N,): predictions, −1 for unreadable; number of the item's cluster, if items have one.
    data
        Answers, one for every item on which the two differ, or several (`several_answers`).
    count
        Shape (N,), if an entry stands for so many equal items, of one answer each.

    Raises EstimateError if a differing item has no answer, NotIdentified if answers cannot tell them apart.
    """
    width = data.propensities.shape[1]
    number = np.ones(len(first), np.int64) if count is None else count
    differ = first != second
    n, d = int(number.sum()), int(number[differ].sum())
    method = "paired"
    if d == 0:
        most = share_interval(0, n if cluster is None else effective_clusters(cluster), level)[1]
        same = Interval(
            low=-most, high=most, level=level, method=method, notes=(Note(NoteKind.NEVER_DIFFER),)
        )
        return 0.0, same, 1.0
    answers = np.bincount(data.item, minlength=len(first))[differ]
    if not answers.all():
        raise EstimateError("a comparison needs an answer for every item on which the models differ")
    if (answers > 1).any():
        return several_answers(first, second, data, level, cluster)
    asked, yes = np.zeros(len(first), np.int64), np.zeros(len(first))
    asked[data.item], yes[data.item] = data.asked, data.answer
    c = difference_target(first, second, width)[differ]
    pi, K = data.propensities[differ], data.n_options[differ]
    asked, yes, number = asked[differ], yes[differ], number[differ]
    side = c[np.arange(len(c)), asked]
    votes = None if cluster is not None else read_votes(c, pi, K, side, yes)
    if votes is not None:
        plus, minus = int(number[votes > 0].sum()), int(number[votes < 0].sum())
        low, high = paired_proportions(plus, minus, n, level)
        found = Interval(low=low, high=high, level=level, method=method)
        return (plus - minus) / n, found, sign_p_value(plus, minus)
    m = int(number[side != 0].sum())
    even = (np.ptp(K) == 0) and ((c != 0).sum(axis=1) == 2).all() and np.ptp(pi[c != 0]) < _NEAR
    if cluster is None and even:
        plus = int(number[side * (2 * yes - 1) > 0].sum())
        low, high = clopper_pearson(plus, m, level) if m else (0.0, 1.0)
        inner, low, high = (2 * plus / m - 1 if m else 0.0), 2 * low - 1, 2 * high - 1
        p_value = sign_p_value(plus, m - plus)
    else:
        of = None if cluster is None else cluster[differ]
        rows = collapse_rows(tilt_items(c, pi, K, asked, yes, cluster=of, count=number))
        mean = tilted_score(rows, level, df=max(1, m))
        inner, low, high = mean.value, mean.low, mean.high
        p_value = min(1.0, 2 * float(stdtr(max(1, m), -score_at(rows))))
    size = n if cluster is None else effective_size(differ.astype(np.float64), cluster, level)
    value, low, high = scale_by_share(d / n, size, inner, low, high, level)
    notes = () if m else (Note(NoteKind.NOTHING_KNOWN_WHERE_THEY_DIFFER),)
    return value, Interval(low=low, high=high, level=level, method=method, notes=notes), p_value


def read_votes(
    c: FloatArray, pi: FloatArray, K: IntArray, side: FloatArray, yes: FloatArray
) -> FloatArray | None:
    """+1, 0 or −1 of every item, if each tells one by itself; else None."""
    coin = np.abs(pi * np.abs(c) - 0.5 * (c != 0)).max(axis=1) < _NEAR
    sure = ((c != 0).sum(axis=1) == 1) & ((pi * np.abs(c)).sum(axis=1) > 1 - _NEAR)
    if not (coin | sure | (K == 2)).all():
        return None
    votes: FloatArray = np.where(coin, np.where(yes > 0, side, -side), _resolved(c, side, yes))
    return votes


def several_answers(
    first: IntArray, second: IntArray, data: RoutedSample, level: float, cluster: IntArray | None
) -> tuple[float, Interval, float]:
    """As `difference_interval`, where items have several answers: the interval of `routed_mean`.

    It is at least as wide as where no difference is seen.
    """
    data = informed(np.stack([first, second], axis=1), data)
    found = routed_mean(
        difference_target(first, second, data.propensities.shape[1]), data, level=level, cluster=cluster
    )
    groups = len(first) if cluster is None else effective_clusters(cluster)
    least = share_interval(0, groups, level)[1]
    value = min(1.0, max(-1.0, found.value))
    low, high = max(-1.0, min(found.low, value - least)), min(1.0, max(found.high, value + least))
    se = found.se or 0.0
    p_value = float(2 * stdtr(max(1.0, groups - 1), -abs(found.value) / se)) if se > 0 else 1.0
    made = Interval(low=low, high=high, level=level, method="paired", notes=found.notes, why=found.why)
    return found.value, made, p_value


def clustered_difference(votes: FloatArray, cluster: IntArray, level: float) -> tuple[float, Interval, float]:
    """Mean of +1, 0 and −1 on items of clusters: `paired_proportions` at the effective size, p from t."""
    n, value = len(votes), float(votes.mean())
    size = effective_size(votes, cluster, level)
    plus, minus = float((votes > 0).mean()) * size, float((votes < 0).mean()) * size
    low, high = paired_proportions(plus, minus, size, level)
    df = max(1.0, effective_clusters(cluster) - 1)
    # the variance if there is no difference: that around the mean is 0 where one model is always right
    se = math.sqrt(float((np.bincount(cluster, votes) ** 2).sum())) / n
    p_value = float(2 * stdtr(df, -abs(value) / se)) if se > 0 else 1.0
    return value, Interval(low=low, high=high, level=level, method="mcnemar"), p_value


def _resolved(c: FloatArray, side: FloatArray, yes: FloatArray) -> FloatArray:
    """The difference on items that one answer settles: K = 2, or the one readable prediction asked about."""
    other = np.where(side != 0, -side, 0.0) * (np.abs(c).sum(axis=1) == 2)
    alone = np.where(side == 0, c.sum(axis=1), 0.0)
    return np.where(yes > 0, np.where(side != 0, side, 0.0), other + alone)
