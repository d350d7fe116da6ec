"""Which of two models is better on the same items, from as few answers as possible.

D = A_a − A_b. Where two models predict the same option their difference is 0 whatever the truth, so
agreeing items need no question: only the disagreements are worth an expert's time. Every method
returns one frozen `Comparison`; a difference that is not significant is a tie, and is shown as one.

From one answer an item, D = δ Δ: δ is the share of items on which the models differ, Δ the mean difference
there, and the interval is `scale_by_share`'s. Δ's is

* that of one proportion where each prediction was as likely asked about, P = (1 + Δ)/2 of the m asked at one
  of the two (a yes about the first or a no about the second speaks for the first);
* `tilted_score`'s otherwise, with as many degrees of freedom as items asked at one of the two.

Where every differing item tells +1, 0 or −1 by itself (resolved items, K = 2, a coin between the two
predictions), D is a difference of two dependent proportions n_+/N − n_−/N, with `paired_proportions`.

Where items were drawn from a pool with unequal, recorded chances, both are by weights
(`oversight.harness.columns.weigh_draws`): δ is a share of as many items as the weights leave effective,
(Σw)²/Σw², and Δ has the weighted score interval of `oversight.harness.estimate.routed.unequal_items`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from oversight.harness.arrays import UNKNOWN, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.comparison.two_models import Comparison, FoundDifference
from oversight.harness.estimate.core import (
    check_items,
    check_level,
    check_rows,
    clopper_pearson,
    count_effective,
    effective_clusters,
    sign_p_value,
)
from oversight.harness.estimate.intervals import (
    TiltedRows,
    collapse_rows,
    effective_size,
    scale_by_share,
    score_at,
    share_interval,
    tilted_score,
)
from oversight.harness.estimate.routed import RESOLUTION_ASSUMPTIONS as RESOLVED
from oversight.harness.estimate.routed import ROUTED_ASSUMPTIONS as ROUTED
from oversight.harness.estimate.routed import (
    RoutedSample,
    check_predicted,
    difference_target,
    informed,
    routed_mean,
    tilt_sample,
)
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


def never_differ(size: float, level: float) -> FoundDifference:
    """What so many independent items tell of two models that were never seen to differ."""
    most = share_interval(0, size, level)[1]
    notes = (Note(NoteKind.NEVER_DIFFER),)
    return 0.0, Interval(low=-most, high=most, level=level, method="paired", notes=notes), 1.0


def difference_interval(
    first: IntArray,
    second: IntArray,
    data: RoutedSample,
    level: float,
    cluster: IntArray | None = None,
    count: IntArray | None = None,
    weight: FloatArray | None = None,
) -> FoundDifference:
    """Difference, interval and two-sided p-value of "no difference"; see the module.

    Parameters
    ----------
    first, second, cluster
        Shape (N,): predictions, −1 for unreadable; number of the item's cluster, if items have one.
    data
        Answers, one for every item on which the two differ, or several (`several_answers`).
    count
        Shape (N,), if an entry stands for so many equal items, of one answer each.
    weight
        Shape (N,), above 0: how many items of the pool each stands for; None if all stand for equally many.

    Raises
    ------
    EstimateError
        If a differing item has no answer.
    NotIdentified
        If answers cannot tell the two apart, or items with weights have several answers or share clusters.
    """
    differ = first != second
    number = np.ones(len(first), np.int64) if count is None else count
    n = int(number.sum())
    if not differ.any():
        units = float(n) if cluster is None else effective_clusters(cluster)
        return never_differ(units if weight is None else max(1, int(count_effective(weight))), level)
    target = difference_target(first, second, data.propensities.shape[1])
    answers = np.bincount(data.item, minlength=len(first))[differ]
    if weight is None and not answers.all():
        raise EstimateError("a comparison needs an answer for every item on which the models differ")
    if weight is None and (answers > 1).any():
        return several_answers(first, second, data, level, cluster)
    asked, yes = data.by_item
    c, pi, K = target[differ], data.propensities[differ], data.n_options[differ]
    yes, side = yes[differ], target[np.arange(len(first)), asked][differ]
    m, size = int(number[differ][side != 0].sum()), float(n)
    if weight is None:
        stands, df = number.astype(np.float64), float(max(1, m))
    else:
        stands, df, size = weight, max(1.0, count_effective(weight[differ])), count_effective(weight)
        rows = tilt_sample(target, np.flatnonzero(differ), data, weight=weight)
    own, total = stands[differ], float(stands.sum())
    votes = None if cluster is not None else read_votes(c, pi, K, side, yes)
    if votes is not None:
        plus, minus, scale = float(own[votes > 0].sum()), float(own[votes < 0].sum()), size / total
        low, high = paired_proportions(plus * scale, minus * scale, size, level)
        p_value = _score_p_value(rows, df) if weight is not None else sign_p_value(int(plus), int(minus))
        return (plus - minus) / total, Interval(low=low, high=high, level=level, method="paired"), p_value
    if weight is None and cluster is None and _is_even(c, pi, K):
        plus = int(own[side * (2 * yes - 1) > 0].sum())
        inner, low, high, p_value = _even_mean(plus, m, level)
    else:
        if weight is None:
            kept = np.flatnonzero(differ)
            rows = collapse_rows(tilt_sample(target, kept, data, cluster=cluster, count=count))
        mean, p_value = tilted_score(rows, level, df=df), _score_p_value(rows, df)
        inner, low, high = mean.value, mean.low, mean.high
    if cluster is not None:
        size = effective_size(differ.astype(np.float64), cluster, level)
    value, low, high = scale_by_share(float(own.sum()) / total, size, inner, low, high, level)
    notes = () if m else (Note(NoteKind.NOTHING_KNOWN_WHERE_THEY_DIFFER),)
    return value, Interval(low=low, high=high, level=level, method="paired", notes=notes), p_value


def _is_even(c: FloatArray, pi: FloatArray, K: IntArray) -> bool:
    """Whether each of two readable predictions was as likely asked about, at one number of options."""
    return bool(np.ptp(K) == 0 and ((c != 0).sum(axis=1) == 2).all() and np.ptp(pi[c != 0]) < _NEAR)


def _even_mean(plus: int, m: int, level: float) -> tuple[float, float, float, float]:
    """Δ of m answers of which some speak for the first model: its value, both ends and the p-value."""
    low, high = clopper_pearson(plus, m, level) if m else (0.0, 1.0)
    return (2 * plus / m - 1 if m else 0.0), 2 * low - 1, 2 * high - 1, sign_p_value(plus, m - plus)


def _score_p_value(rows: TiltedRows, df: float) -> float:
    return min(1.0, 2 * float(stdtr(df, -score_at(rows))))


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
) -> FoundDifference:
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
    p_value = student_p_value(found.value, found.se or 0.0, groups)
    made = Interval(low=low, high=high, level=level, method="paired", notes=found.notes, why=found.why)
    return found.value, made, p_value


def student_p_value(value: float, se: float, groups: float) -> float:
    """Two-sided p-value of "no difference" by Student's t of so many independent groups; 1 if se is 0."""
    return min(1.0, 2 * float(stdtr(max(1.0, groups - 1), -abs(value) / se))) if se > 0 else 1.0


def clustered_difference(votes: FloatArray, cluster: IntArray, level: float) -> FoundDifference:
    """Mean of +1, 0 and −1 on items of clusters: `paired_proportions` at the effective size, p from t."""
    n, value = len(votes), float(votes.mean())
    size = effective_size(votes, cluster, level)
    plus, minus = float((votes > 0).mean()) * size, float((votes < 0).mean()) * size
    low, high = paired_proportions(plus, minus, size, level)
    # the variance if there is no difference: that around the mean is 0 where one model is always right
    se = math.sqrt(float((np.bincount(cluster, votes) ** 2).sum())) / n
    p_value = student_p_value(value, se, effective_clusters(cluster))
    return value, Interval(low=low, high=high, level=level, method="mcnemar"), p_value


def _resolved(c: FloatArray, side: FloatArray, yes: FloatArray) -> FloatArray:
    """The difference on items that one answer settles: K = 2, or the one readable prediction asked about."""
    other = -side * (np.abs(c).sum(axis=1) == 2)
    alone = np.where(side == 0, c.sum(axis=1), 0.0)
    return np.where(yes > 0, side, other + alone)


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    data: RoutedSample,
    *,
    level: float = 0.95,
    names: tuple[str, str] = ("a", "b"),
    cluster: IntArray | None = None,
    count: IntArray | None = None,
    weight: FloatArray | None = None,
) -> Comparison:
    """Difference from one answer to a drawn question on every item where the models differ.

    The pool holds *all* items both models answered: agreeing items carry no difference, asked or
    not, but their share is uncertain. Interval and p-value are those of `difference_interval`.

    Parameters
    ----------
    first, second
        Shape (N,), −1 for unreadable.
    data
        Propensities and answers of the pool.
    cluster
        Shape (N,): number of the item's cluster, where items are not independent.
    count
        Shape (N,), if an entry stands for so many equal items, of one answer each (`PoolKinds`).
    weight
        Shape (N,), above 0: how many items of the pool each stands for, where chances differed.

    Raises
    ------
    EstimateError
        If there are fewer than 2 items, or a differing one has no answer.
    NotIdentified
        If a disagreeing item could not be asked about one of the two options while c differs there.
    """
    check_level(level)
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    for predicted in (a, b):
        check_predicted(predicted, data)
    number = np.ones(len(a), np.int64) if count is None else count
    items, questions = int(number.sum()), int(number[data.item].sum())
    check_items(items)
    if weight is not None and cluster is not None:
        refuse("compare", {"weights", "clusters"})
    found = difference_interval(a, b, data, level, cluster, count, weight)
    return Comparison.of_interval(names, found, items=items, questions=questions, assumptions=ROUTED)


def sign_test(
    first: ArrayLike,
    second: ArrayLike,
    refuted: ArrayLike,
    K: int,
    *,
    level: float = 0.95,
    names: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """Difference from complementary labels alone: D̂ = (K − 1)(n_10 − n_01)/n_c.

    n_10 counts labels "not k" that refute only the second model (ŷ_b = k ≠ ŷ_a), n_01 only the
    first. Var = (K−1)²[p_10 + p_01 − (p_10 − p_01)²]/n_c; p-value by the exact sign test on
    n_10 + n_01; interval by `paired_proportions` times K − 1. Derivation: A_comp = 1 − (K−1)(1−q̂)
    of either model on the same labels, subtracted.

    Parameters
    ----------
    first, second, refuted
        Shape (n_c,): predictions (−1 unreadable) and the option the label rules out, on items whose
        asked option was drawn uniformly. An unreadable prediction is never refuted and yet wrong,
        which this test cannot see: it is refused.
    """
    check_level(level)
    a, b, k = (np.asarray(x, dtype=np.int64) for x in (first, second, refuted))
    if len(k) == 0:
        raise EstimateError("the sign test needs at least 1 complementary label, there are 0")
    for name, values in (("first", a), ("second", b), ("refuted", k)):
        check_rows(name, values, (values >= 0) & (values < K), f"lie in 0..{K - 1}")
    only_b, only_a = int(((b == k) & (a != k)).sum()), int(((a == k) & (b != k)).sum())
    low, high = paired_proportions(only_b, only_a, len(k), level)
    value = (K - 1) * (only_b - only_a) / len(k)
    interval = Interval(
        low=max(-1.0, (K - 1) * low),
        high=min(1.0, (K - 1) * high),
        level=level,
        method="sign",
        notes=() if -1 <= value <= 1 else (Note(NoteKind.OUT_OF_RANGE),),
    )
    found = value, interval, sign_p_value(only_b, only_a)
    return Comparison.of_interval(names, found, items=len(k), questions=len(k), assumptions=ROUTED)


def mcnemar(
    first: ArrayLike,
    second: ArrayLike,
    *,
    questions: int,
    level: float = 0.95,
    names: tuple[str, str] = ("a", "b"),
    cluster: IntArray | None = None,
) -> Comparison:
    """McNemar's exact test on items whose correctness is known for both models.

    ``first`` and ``second``, shape (N,), hold 1, 0 and `UNKNOWN`. With n_10 items only the first has
    right and n_01 only the second, D̂ = (n_10 − n_01)/N and, given their sum, n_10 is
    Binomial(n_10 + n_01, ½) if there is no difference (McNemar 1947, Psychometrika 12). Agreeing
    items (same option predicted) enter as any equal pair, without ever having been asked.

    Items that are unknown for a model are flagged and left out of D̂, but not of its uncertainty:
    which items stay unknown depends on the truth (see `resolve.resolved_accuracy`), so interval and
    p-value hold for whatever each of them may be.
    """
    check_level(level)
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    if a.shape != b.shape:
        raise EstimateError(f"first and second differ in length: {len(a)}, {len(b)}")
    for name, values in (("first", a), ("second", b)):
        check_rows(name, values, (values >= UNKNOWN) & (values <= 1), "be 0, 1 or -1 (unknown)")
    known = (a != UNKNOWN) & (b != UNKNOWN)
    n = int(known.sum())
    if n == 0:
        raise EstimateError("McNemar's test needs at least 1 resolved item, there are 0")
    n_10, n_01 = int((known & (a > b)).sum()), int((known & (a < b)).sum())
    # An unknown item can count for the first model unless that is wrong or the second right.
    for_first = int((~known & (a != 0) & (b != 1)).sum())
    for_second = int((~known & (b != 0) & (a != 1)).sum())
    if cluster is not None:
        return _clustered(a, b, cluster, questions, level, names)
    low, _ = paired_proportions(n_10, n_01 + for_second, len(a), level)
    _, high = paired_proportions(n_10 + for_first, n_01, len(a), level)
    lead = n_10 - n_01
    against = for_second if lead > 0 else for_first
    more, less = max(n_10, n_01), min(n_10, n_01) + against
    notes = () if n == len(a) else (Note(NoteKind.UNRESOLVED, {"items": len(a) - n}),)
    interval = Interval(low=low, high=high, level=level, method="mcnemar", notes=notes)
    p_value = 1.0 if less >= more else sign_p_value(more, less)
    # the known items alone may lie beyond all that the unknown ones leave possible
    value = min(high, max(low, lead / n))
    found = value, interval, p_value
    return Comparison.of_interval(names, found, items=n, questions=questions, assumptions=RESOLVED)


def _clustered(
    a: IntArray, b: IntArray, cluster: IntArray, questions: int, level: float, names: tuple[str, str]
) -> Comparison:
    """Difference of exact correctness on items that are not independent, whatever the unknown ones are."""
    unknown = (a == UNKNOWN) | (b == UNKNOWN)
    votes = np.where(unknown, 0, np.sign(a - b)).astype(np.float64)
    against = np.where(unknown & (b != 0) & (a != 1), -1.0, votes)
    in_favour = np.where(unknown & (a != 0) & (b != 1), 1.0, votes)
    (_, first, p_first), (_, second, p_second) = (
        clustered_difference(worst, cluster, level) for worst in (against, in_favour)
    )
    same_sign = float(against.mean()) * float(in_favour.mean()) > 0
    notes = (Note(NoteKind.UNRESOLVED, {"items": int(unknown.sum())}),) if unknown.any() else ()
    interval = Interval(low=first.low, high=second.high, level=level, method=first.method, notes=notes)
    value = min(interval.high, max(interval.low, float(votes[~unknown].mean())))
    p_value = max(p_first, p_second) if same_sign else 1.0
    items, found = int((~unknown).sum()), (value, interval, p_value)
    return Comparison.of_interval(names, found, items=items, questions=questions, assumptions=RESOLVED)
