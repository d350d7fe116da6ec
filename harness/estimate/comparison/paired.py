"""Which of two models is better on the same items, from as few answers as possible.

D = A_a − A_b. Where two models predict the same option their difference is 0 whatever the truth, so
agreeing items need no question: only the disagreements are worth an expert's time. Every method
returns one frozen `Comparison`; a difference that is not significant is a tie, and is shown as one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from oversight.harness.arrays import UNKNOWN, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.comparison.difference import (
    clustered_difference,
    difference_interval,
    paired_proportions,
)
from oversight.harness.estimate.comparison.two_models import Comparison
from oversight.harness.estimate.comparison.unequal_pairs import unequal_difference
from oversight.harness.estimate.core import check_items, check_level, check_rows, sign_p_value
from oversight.harness.estimate.routed import RESOLUTION_ASSUMPTIONS as RESOLVED
from oversight.harness.estimate.routed import ROUTED_ASSUMPTIONS as ROUTED
from oversight.harness.estimate.routed import RoutedSample, check_predicted
from oversight.harness.types import Interval, Note, NoteKind


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
        Shape (N,), above 0: how many items of the pool each stands for, where chances differed
        (`unequal_difference`).

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
    if weight is None:
        value, interval, p_value = difference_interval(a, b, data, level, cluster, count)
    else:
        if cluster is not None:
            refuse("compare", {"weights", "clusters"})
        value, interval, p_value = unequal_difference(a, b, data, weight, level)
    return _compared(names, value, interval, p_value, "paired", items, questions)


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
    return _compared(names, value, interval, sign_p_value(only_b, only_a), "sign", len(k), len(k))


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
    return _compared(names, value, interval, p_value, "mcnemar", n, questions)


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
    return _compared(names, value, interval, p_value, "mcnemar", int((~unknown).sum()), questions)


def _compared(
    names: tuple[str, str],
    value: float,
    interval: Interval,
    p_value: float,
    method: str,
    items: int,
    questions: int,
) -> Comparison:
    """A comparison from its interval, by a method that says what it assumes."""
    return Comparison.of_interval(
        names,
        value,
        interval,
        p_value,
        method=method,
        items=items,
        questions=questions,
        assumptions=RESOLVED if method == "mcnemar" else ROUTED,
    )
