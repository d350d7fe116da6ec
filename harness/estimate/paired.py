"""Difference of the accuracies of two models on the same items.

D = A_a − A_b. If two models predict the same option, their difference is 0 for every truth, so only the items
on which they differ need questions. Every function returns a `Comparison`. A difference that is not
significant is a tie, and is shown as one.

**One answer per item** (`difference_interval`). D = δ Δ, where δ is the share of items on which the models
differ, and Δ is the mean difference on these items. `scale_by_share` makes the interval of D from an interval
of Δ. The interval of Δ depends on the draw:

* If both predictions were equally likely to be asked about, it is the interval of one proportion. Of the m
  items asked about one of the two predictions, the answer favours the first model (a yes about its
  prediction, or a no about the other prediction) on a share P = (1 + Δ)/2.
* In every other case, it is the interval of `tilted_score`, with as many degrees of freedom as items asked
  about one of the two predictions.

If every differing item gives +1, 0 or −1 (resolved items, K = 2, or a coin between the two predictions), D is
a difference of two dependent proportions n_+/N − n_−/N, with the interval of `paired_proportions`.

If items were drawn from a pool with unequal, recorded probabilities, δ and Δ are weighted
(`oversight.harness.columns.weigh_draws`): δ is a share of the effective number of items, (Σw)²/Σw², and Δ has
the weighted score interval of `oversight.harness.estimate.routed_means`.

**Experts who err** (`corrected_difference`). Experts say yes to a true option with probability s and to a
false one with 1 − t. Let J = s + t − 1. Then

    E Σ_k c_k b_k = J Σ_k c_k 1{y = k} + (1 − t) Σ_k c_k.

For a difference, c = +1 at one prediction and −1 at the other. Σ_k c_k is 0 if both are readable, so the
difference estimated without correction is J D for all s and t. Therefore

* if one question per item was equally likely to be about either prediction, and items are independent with
  one K, the interval of `difference_interval` is valid for J D, and so is its p-value for "no difference". A
  yes about the first prediction counts as a no about the second. D is the ratio of J D to J: the interval
  contains every d for which the interval of J D − d J contains 0 (Fieller 1954, JRSS B 16; the squared
  distances of the limits of J D and of J are added). If ranges of s and t are known instead, the interval is
  the union over these ranges
* in every other case (other draws, unreadable predictions, clusters), every answer is corrected by gold
  (`corrected_mean`)

Both corrections require that experts' error rates about an option depend only on whether it is true, and not
on the model that predicted it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from oversight.harness.arrays import UNKNOWN, BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.core import (
    check_items,
    check_level,
    check_rows,
    clopper_pearson,
    count_effective,
    effective_clusters,
    share_interval,
    sign_p_value,
)
from oversight.harness.estimate.expert_errors import (
    GOLD_ASSUMPTIONS,
    ErrorRanges,
    GoldCounts,
    corrected_mean,
    count_units,
    rate_ranges,
    youden_interval,
)
from oversight.harness.estimate.intervals import effective_size, scale_by_share
from oversight.harness.estimate.routed_means import ROUTED_ASSUMPTIONS as ROUTED
from oversight.harness.estimate.routed_means import informed, routed_mean, tilt_sample
from oversight.harness.estimate.routed_sample import RESOLUTION_ASSUMPTIONS as RESOLVED
from oversight.harness.estimate.routed_sample import RoutedSample, check_predicted, difference_target
from oversight.harness.estimate.tilting import TiltedRows, collapse_rows, score_at, tilted_score
from oversight.harness.types import (
    Displayable,
    Estimate,
    HtmlTable,
    Interval,
    Note,
    NoteKind,
    ResultWithNotes,
    level_text,
    plain_fields,
)

TIED = "tie"
FoundDifference = tuple[float, Interval | Estimate, float]
"""A difference, its interval, and the two-sided p-value of "no difference"."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(ResultWithNotes, Displayable):
    """Difference in accuracy of two models on the same items.

    Attributes
    ----------
    first, second
        Names of the models.
    difference
        Accuracy of the first model minus that of the second, not clipped.
    low, high
        Confidence interval, clipped to [−1, 1].
    p_value
        Two-sided p-value of "no difference", after the adjustment `adjusted`.
    level
        Confidence level; the result is a tie unless p_value ≤ 1 − level.
    method
        ``"paired"``, ``"sign"``, ``"mcnemar"`` or ``"max-z"``; with correction for experts' errors
        ``"paired+gold"``, ``"paired+ranges"`` or ``"delta"``.
    items, questions
        Number of items compared, and number of answers used.
    adjusted
        Adjustment of interval and p-value for several comparisons: ``"none"``, ``"bonferroni"``, ``"max-z"``.
    assumptions, notes
        Assumptions of the interval, and notes on this result.
    why
        Reason why the interval may cover the difference less often than `level`; empty if none exists.

    Examples
    --------
    >>> import oversight as ov
    >>> from oversight.harness.example_data import example_study
    >>> a, b, labels = example_study()
    >>> pair = ov.compare({"a": a, "b": b}, labels).pairs[0]
    >>> print(pair)
    not decided: a − b +12.9 points [-9.2, +31.8], p = 0.3 · paired 95% · 80 items, 80 questions
    """

    first: str = "a"
    second: str = "b"
    difference: float
    low: float
    high: float
    p_value: float
    level: float
    method: str
    items: int
    questions: int
    adjusted: str = "none"
    assumptions: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    why: str = ""

    picture: ClassVar[str] = "differences"
    scale: ClassVar[float] = 100.0
    unit: ClassVar[str] = " points"
    better: ClassVar[int] = 1

    @classmethod
    def of_interval(cls, found: FoundDifference, **counted: Any) -> Self:
        """Make a comparison from a difference with its interval and p-value, and from other fields."""
        value, interval, p_value = found
        shared = {
            name: getattr(interval, name) for name in ("low", "high", "level", "method", "notes", "why")
        }
        return cls(difference=value, p_value=p_value, **shared, **counted)

    @property
    def holds(self) -> bool:
        """Whether the interval has its nominal coverage, under its assumptions."""
        return not self.why

    @property
    def verdict(self) -> str:
        """Name of the better model, or ``"tie"`` if the difference is not significant."""
        if self.p_value > 1 - self.level or self.difference == 0:
            return TIED
        return self.first if self.better * self.difference > 0 else self.second

    def records(self) -> list[dict[str, Any]]:
        """Return one row with the comparison."""
        words = {"assumptions": "; ".join(self.assumptions), "flags": ", ".join(self.flags)}
        return [plain_fields(self) | words | {"verdict": self.verdict, "holds": self.holds}]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the HTML shown in a notebook below the difference."""
        return (HtmlTable(notes=[*map(str, self.notes), *self.assumptions]),)

    def __str__(self) -> str:
        """Show ``a is better: a − b +5.2 points [+1.1, +9.3], p = 0.013 · mcnemar 95% · 812 items, …``."""
        verdict = "not decided" if self.verdict == TIED else f"{self.verdict} is better"
        low, high = (f"{self.scale * end:+.1f}" for end in (self.low, self.high))
        return (
            f"{'' if self.holds else '(!) '}{verdict}: {self.first} − {self.second} "
            f"{self.scale * self.difference:+.1f}{self.unit} [{low}, {high}], p = {self.p_value:.2g} · "
            f"{self.method} {level_text(self.level)} · {self.items} items, {self.questions} questions"
            + (f" · the interval may not hold: {self.why}" if self.why else "")
        )


def pairs_table(pairs: Sequence[Comparison]) -> HtmlTable:
    """Make a table with one row per pair of models, followed by warnings and notes."""
    cautions = [f"(!) {c.first} − {c.second} may not hold: {c.why}" for c in pairs if not c.holds]
    return HtmlTable(
        title="Difference in accuracy",
        columns=("models", "difference", "interval", "p", "better"),
        rows=[
            (
                f"{c.first} − {c.second}",
                f"{c.scale * c.difference:+.1f}",
                f"{c.scale * c.low:+.1f} … {c.scale * c.high:+.1f}{c.unit}" + ("" if c.holds else " (!)"),
                f"{c.p_value:.2g}",
                c.verdict,
            )
            for c in pairs
        ],
        notes=(*cautions, *dict.fromkeys(str(note) for c in pairs for note in c.notes)),
    )


_NEAR = 1e-9


def paired_proportions(n_10: float, n_01: float, n: float, level: float) -> tuple[float, float]:
    """Compute Newcombe's interval for a difference p_10 − p_01 of paired proportions, with exact limits.

    Let (l₁, u₁) and (l₂, u₂) be the Clopper–Pearson limits of p̂ = n_10/n and q̂ = n_01/n, and ρ = min{1,
    √(p̂q̂/((1−p̂)(1−q̂)))}. Then low = p̂ − q̂ − √(x² + y² + 2ρxy) with x = p̂ − l₁, y = u₂ − q̂, and high
    likewise. The width is never 0. Source: the square-and-add intervals of Newcombe 1998, Stat. Med. 17, here
    with exact limits and the correlation of multinomial counts.

    Counts may be fractional if n is an effective size (`effective_size`).

    Examples
    --------
    >>> tuple(round(end, 3) for end in paired_proportions(30, 10, 100, 0.95))
    (0.072, 0.322)
    """
    p, q = n_10 / n, n_01 / n
    (l1, u1), (l2, u2) = share_interval(n_10, n, level), share_interval(n_01, n, level)
    room = (1 - p) * (1 - q)
    rho = min(1.0, math.sqrt(p * q / room)) if room > 0 else 0.0

    def half(x: float, y: float) -> float:
        return math.sqrt(x * x + y * y + 2 * rho * x * y)

    return max(-1.0, p - q - half(p - l1, u2 - q)), min(1.0, p - q + half(u1 - p, q - l2))


def never_differ(size: float, level: float) -> FoundDifference:
    """Return difference 0, its interval and p-value 1 for models that never differ on `size` items."""
    most = share_interval(0, size, level)[1]
    notes = (Note(NoteKind.NEVER_DIFFER),)
    return 0.0, Interval(low=-most, high=most, level=level, method="paired", notes=notes), 1.0


def difference_interval(
    first: IntArray, second: IntArray, data: RoutedSample, level: float
) -> FoundDifference:
    """Estimate the difference with its interval and two-sided p-value of "no difference"; see the module.

    Parameters
    ----------
    first, second
        Shape (N,): predictions of both models, −1 for unreadable.
    data
        The answers: one for every item on which the models differ, or several (see `several_answers`).
    level
        Confidence level.

    Raises
    ------
    EstimateError
        If an item on which the models differ has no answer.
    NotIdentified
        If the answers do not identify the difference, or an item with a weight has several answers or none.
    """
    differ, cluster, weight = first != second, data.cluster, data.weight
    stands = np.ones(len(first)) if weight is None else weight
    size = count_effective(stands)
    total = float(stands.sum())
    if not differ.any():
        units = max(1, int(size)) if cluster is None else effective_clusters(cluster, weight)
        return never_differ(units, level)
    target = difference_target(first, second, data.propensities.shape[1])
    answers = np.bincount(data.item, minlength=len(first))[differ]
    if weight is None and not answers.all():
        raise EstimateError("a comparison needs an answer for every item on which the models differ")
    if weight is None and (answers > 1).any():
        return several_answers(first, second, data, level)
    asked, yes = data.by_item
    c, pi, K = target[differ], data.propensities[differ], data.n_options[differ]
    yes, side = yes[differ], target[np.arange(len(first)), asked][differ]
    m, own = int(np.count_nonzero(side)), stands[differ]
    kept = np.flatnonzero(differ)
    df = float(max(1, m)) if weight is None else max(1.0, count_effective(own))
    votes = None if cluster is not None else read_votes(c, pi, K, side, yes)
    if votes is not None:
        plus, minus, scale = float(own[votes > 0].sum()), float(own[votes < 0].sum()), size / total
        low, high = paired_proportions(plus * scale, minus * scale, size, level)
        p_value = sign_p_value(int(plus), int(minus))
        if weight is not None:
            p_value = _score_p_value(tilt_sample(target, kept, data), df)
        return (plus - minus) / total, Interval(low=low, high=high, level=level, method="paired"), p_value
    if weight is None and cluster is None and _is_even(c, pi, K):
        plus = int(own[side * (2 * yes - 1) > 0].sum())
        inner, low, high, p_value = _even_mean(plus, m, level)
    else:
        rows = collapse_rows(tilt_sample(target, kept, data))
        mean = tilted_score(rows, level, df=df, is_difference=True)
        p_value = _score_p_value(rows, df)
        inner, low, high = mean.value, mean.low, mean.high
    if cluster is not None:
        size = effective_size(differ.astype(np.float64), cluster, level, weight)
    value, low, high = scale_by_share(float(own.sum()) / total, size, inner, low, high, level)
    notes = () if m else (Note(NoteKind.NOTHING_KNOWN_WHERE_THEY_DIFFER),)
    return value, Interval(low=low, high=high, level=level, method="paired", notes=notes), p_value


def _is_even(c: FloatArray, pi: FloatArray, K: IntArray) -> bool:
    """Return whether K is constant and both predictions are readable and equally likely to be asked about."""
    return bool(np.ptp(K) == 0 and ((c != 0).sum(axis=1) == 2).all() and np.ptp(pi[c != 0]) < _NEAR)


def _even_mean(plus: int, m: int, level: float) -> tuple[float, float, float, float]:
    """Return the mean difference Δ, the ends of its interval, and its p-value.

    `plus` of the m answers favour the first model.
    """
    low, high = clopper_pearson(plus, m, level) if m else (0.0, 1.0)
    return (2 * plus / m - 1 if m else 0.0), 2 * low - 1, 2 * high - 1, sign_p_value(plus, m - plus)


def _score_p_value(rows: TiltedRows, df: float) -> float:
    return min(1.0, 2 * float(stdtr(df, -score_at(rows))))


def read_votes(
    c: FloatArray, pi: FloatArray, K: IntArray, side: FloatArray, yes: FloatArray
) -> FloatArray | None:
    """Return the difference in correctness (+1, 0, −1) on every item; None if answers do not determine it.

    If each of two predictions was asked about with probability ½, the answer counts as +1 or −1, which is
    unbiased.

    Parameters
    ----------
    c, pi
        Shape (n, K): target of the difference, and propensities.
    K, side, yes
        Shape (n,): number of options; c of the option asked about; answer, 1 for yes and 0 for no.
    """
    both = (c != 0).sum(axis=1) == 2
    coin = both & (np.abs(pi * np.abs(c) - 0.5 * (c != 0)).max(axis=1) < _NEAR)
    sure = ((c != 0).sum(axis=1) == 1) & ((pi * np.abs(c)).sum(axis=1) > 1 - _NEAR)
    if not (coin | sure | (K == 2)).all():
        return None
    return np.where(coin, np.where(yes > 0, side, -side), _resolved(c, side, yes))


def several_answers(first: IntArray, second: IntArray, data: RoutedSample, level: float) -> FoundDifference:
    """Estimate the difference if items have several answers, with the interval of `routed_mean`.

    Each end of the interval is at least as far from the estimate as it would be for two models that never
    differ.
    """
    data = informed(np.stack([first, second], axis=1), data)
    found = routed_mean(difference_target(first, second, data.propensities.shape[1]), data, level=level)
    groups = len(first) if data.cluster is None else effective_clusters(data.cluster)
    least = share_interval(0, groups, level)[1]
    value = min(1.0, max(-1.0, found.value))
    low, high = max(-1.0, min(found.low, value - least)), min(1.0, max(found.high, value + least))
    p_value = student_p_value(found.value, found.se or 0.0, groups)
    return found.value, replace(found, low=low, high=high, method="paired"), p_value


def student_p_value(value: float, se: float, groups: float) -> float:
    """Return the two-sided p-value of "no difference" by Student's t for independent groups; 1 if se is 0."""
    return min(1.0, 2 * float(stdtr(max(1.0, groups - 1), -abs(value) / se))) if se > 0 else 1.0


def clustered_difference(votes: FloatArray, cluster: IntArray | None, level: float) -> FoundDifference:
    """Estimate the mean of `votes` (+1, 0 or −1 per item); items are independent if `cluster` is None.

    The interval is that of `paired_proportions`, with clusters at their effective number of items. The
    p-value is that of the sign test or, with clusters, that of Student's t.

    Examples
    --------
    >>> votes = np.tile([1.0, 0.0, 1.0, -1.0, 0.0], 20)
    >>> difference, interval, p_value = clustered_difference(votes, np.arange(100) // 2, 0.95)
    >>> print(f"{difference:.2f} [{interval.low:.2f}, {interval.high:.2f}], p = {p_value:.3f}")
    0.20 [0.04, 0.35], p = 0.003
    """
    n, value = len(votes), float(votes.mean())
    size = float(n) if cluster is None else effective_size(votes, cluster, level)
    plus, minus = int((votes > 0).sum()), int((votes < 0).sum())
    low, high = paired_proportions(plus / n * size, minus / n * size, size, level)
    if cluster is None:
        p_value = sign_p_value(plus, minus)
    else:
        # the variance is taken around 0 (no difference), because the variance around the mean may be 0
        se = math.sqrt(float((np.bincount(cluster, votes) ** 2).sum())) / n
        p_value = student_p_value(value, se, effective_clusters(cluster))
    return value, Interval(low=low, high=high, level=level, method="mcnemar"), p_value


def _resolved(c: FloatArray, side: FloatArray, yes: FloatArray) -> FloatArray:
    """Return the difference of the two models' correctness on items where one answer determines it.

    These are items with K = 2, and items on which only one prediction is readable and was asked about.
    """
    other = -side * (np.abs(c).sum(axis=1) == 2)
    alone = np.where(side == 0, c.sum(axis=1), 0.0)
    return np.where(yes > 0, side, other + alone)


def paired_difference(
    first: ArrayLike, second: ArrayLike, data: RoutedSample, *, level: float = 0.95
) -> Comparison:
    """Compare two models by answers to drawn questions about every item on which they differ.

    The data must contain *all* items that both models answered, because the share of items on which the
    models agree enters the estimate. Items on which they agree need no question. Interval and p-value are
    those of `difference_interval`.

    Parameters
    ----------
    first, second
        Shape (N,): predictions of both models, −1 for unreadable.
    data
        Propensities and answers of all N items.
    level
        Confidence level.

    Raises
    ------
    EstimateError
        If there are fewer than 2 items, or an item on which the models differ has no answer.
    NotIdentified
        If the models differ on an item, and two of its options with different `difference_target` are never
        asked about.
    """
    check_level(level)
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    for predicted in (a, b):
        check_predicted(predicted, data)
    check_items(len(a))
    found = difference_interval(a, b, data, level)
    return Comparison.of_interval(found, items=len(a), questions=len(data.item), assumptions=ROUTED)


def sign_test(
    first: ArrayLike, second: ArrayLike, refuted: ArrayLike, K: int, *, level: float = 0.95
) -> Comparison:
    """Compare two models by complementary labels ("not k") only: D̂ = (K − 1)(n_10 − n_01)/n_c.

    n_10 is the number of labels that refute only the second model (ŷ_b = k ≠ ŷ_a), and n_01 the number that
    refute only the first. Var = (K−1)²[p_10 + p_01 − (p_10 − p_01)²]/n_c. The p-value is that of the exact
    sign test on n_10 + n_01, and the interval is that of `paired_proportions` times K − 1. Derivation:
    difference of A_comp = 1 − (K−1)(1−q̂) of both models on the same labels.

    Parameters
    ----------
    first, second, refuted
        Shape (n_c,): predictions of both models, and refuted option, on items whose asked option was drawn
        uniformly. Predictions must be readable: an unreadable one would wrongly count as never refuted.
    K
        Number of options of every item.
    level
        Confidence level.
    names
        Names of the models.
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
    return Comparison.of_interval(found, items=len(k), questions=len(k), assumptions=ROUTED)


def mcnemar(
    first: ArrayLike,
    second: ArrayLike,
    *,
    questions: int,
    level: float = 0.95,
    cluster: IntArray | None = None,
) -> Comparison:
    """Compare two models by McNemar's exact test on items whose correctness is known.

    Let n_10 be the number of items on which only the first model is right, and n_01 the number on which only
    the second is right. Then D̂ = (n_10 − n_01)/N, and, given n_10 + n_01, n_10 is Binomial(n_10 + n_01, ½)
    if there is no difference (McNemar 1947, Psychometrika 12). If both models predict the same option for an
    item, they count as equally right, even if nobody was asked about the item.

    Items with unknown correctness are reported in a note and left out of D̂. Which items stay unknown depends
    on the truth (see `oversight.harness.estimate.routed_means.resolved_accuracy`), so interval and p-value
    allow for every possible value of these items.

    Parameters
    ----------
    first, second
        Shape (N,): correctness of both models: 1 right, 0 wrong, `UNKNOWN`.
    questions
        Number of answers used.
    level
        Confidence level.
    cluster
        Shape (N,): cluster number of the item; None if items are independent.
    """
    check_level(level)
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    if a.shape != b.shape:
        raise EstimateError(f"`first` and `second` differ in length: {len(a)}, {len(b)}")
    for name, values in (("first", a), ("second", b)):
        check_rows(name, values, (values >= UNKNOWN) & (values <= 1), "be 0, 1 or -1 (unknown)")
    unknown = (a == UNKNOWN) | (b == UNKNOWN)
    if unknown.all():
        raise EstimateError("McNemar's test needs at least 1 resolved item, there are 0")
    # Unknown items get the outcome worst for the first model, and then the outcome best for it.
    votes = np.where(unknown, 0, np.sign(a - b)).astype(np.float64)
    against = np.where(unknown & (b != 0) & (a != 1), -1.0, votes)
    in_favour = np.where(unknown & (a != 0) & (b != 1), 1.0, votes)
    (least, worst, p_worst), (most, best, p_best) = (
        clustered_difference(each, cluster, level) for each in (against, in_favour)
    )
    notes = (Note(NoteKind.UNRESOLVED, {"items": int(unknown.sum())}),) if unknown.any() else ()
    # The known items alone may lie outside the interval, because unknown items are not a random sample.
    value = min(best.high, max(worst.low, float(votes[~unknown].mean())))
    found = (
        value,
        replace(worst, high=best.high, notes=notes),
        max(p_worst, p_best) if least * most > 0 else 1.0,
    )
    items = int((~unknown).sum())
    return Comparison.of_interval(found, items=items, questions=questions, assumptions=RESOLVED)


_GRID = np.linspace(-1.0, 1.0, 4001)
_LEAST = 1e-6
"""Value of J = s + t − 1 at or below which answers count as uninformative."""


def corrected_difference(
    first: IntArray, second: IntArray, data: RoutedSample, known: ErrorRanges, *, level: float = 0.95
) -> Comparison:
    """Compare two models with correction for experts' errors (see "Experts who err" in the module).

    Parameters
    ----------
    first, second
        Shape (N,): predictions of both models, −1 for unreadable.
    data
        The answers, made with ``error_free=False``.
    known
        Experts' answers to gold items, and ranges of experts' error rates.
    level
        Confidence level.

    Raises
    ------
    NotIdentified
        If the knowledge of error rates does not identify the difference.
    EstimateError
        As in `difference_interval`.
    """
    check_level(level)
    is_even = data.cluster is None and data.weight is None and _has_even_draws(first, second, data)
    if known.gold is not None and is_even:
        found = _by_ratio(first, second, data, known.gold, level)
    elif known.gold is not None:
        found = _by_gold(first, second, data, known.gold, level)
    elif is_even:
        found = _by_ranges(first, second, data, known, level)
    else:
        raise NotIdentified(
            "this difference cannot be corrected for experts' errors; add gold questions about true and "
            "about false options. Without gold questions, the correction needs independent items with the "
            "same number of options, readable predictions, and one question per item, which is equally "
            "likely to be about either model's prediction"
        )
    questions = len(data.item)
    return Comparison.of_interval(found, items=len(first), questions=questions, assumptions=GOLD_ASSUMPTIONS)


def _has_even_draws(first: IntArray, second: IntArray, data: RoutedSample) -> bool:
    """Return whether both predictions were equally likely to be asked about on each item where models differ.

    These items must also have one answer each, two readable predictions each, and the same propensity and
    number of options.
    """
    differ: BoolArray = first != second
    answers = np.bincount(data.item, minlength=len(first))[differ]
    readable = (first >= 0) & (second >= 0)
    if not readable[differ].all() or (answers != 1).any():
        return False
    rows = np.flatnonzero(differ)
    ours, theirs = data.propensities[rows, first[rows]], data.propensities[rows, second[rows]]
    alike = not rows.size or (np.ptp(ours) < _NEAR and np.ptp(data.n_options[rows]) == 0)
    return bool(alike and (np.abs(ours - theirs) < _NEAR).all())


def _by_ratio(
    first: IntArray, second: IntArray, data: RoutedSample, gold: GoldCounts, level: float
) -> FoundDifference:
    """Estimate the difference D of the accuracies as the ratio of J D to J.

    The interval of D combines an interval of J D with an interval of J = sensitivity + specificity − 1.
    """
    value, raw, p_value = difference_interval(first, second, data, level)
    J, least, most = youden_interval(gold, level)
    centre, away = value - _GRID * J, np.abs(_GRID)
    up, down = np.where(_GRID > 0, most - J, J - least), np.where(_GRID > 0, J - least, most - J)
    low = centre - np.hypot(value - raw.low, away * up)
    high = centre + np.hypot(raw.high - value, away * down)
    kept = np.append(np.flatnonzero((low <= 0) & (high >= 0)), np.abs(centre).argmin())
    step = _GRID[1] - _GRID[0]
    low, high = max(-1.0, _GRID[kept.min()] - step), min(1.0, _GRID[kept.max()] + step)
    return value / J, replace(raw, low=low, high=high, method="paired+gold"), p_value


def _by_ranges(
    first: IntArray, second: IntArray, data: RoutedSample, known: ErrorRanges, level: float
) -> FoundDifference:
    """Estimate the difference D; its interval is the union of the intervals at all J that the ranges allow.

    If there are answers about gold items, half of the error probability is used for the ranges.
    """
    has_gold = bool(sum(known.gold_true) + sum(known.gold_false))
    part = 1 - (1 - level) / 2 if has_gold else level
    (s_low, s_high), (t_low, t_high) = rate_ranges(known, part)
    least, most = s_low + t_low - 1, s_high + t_high - 1
    value, raw, p_value = difference_interval(first, second, data, part)
    if least <= _LEAST:
        raise NotIdentified(
            "the ranges of sensitivity and specificity allow a sum of 1, at which answers contain no "
            "information; narrow the ranges, or add gold questions about true and about false options"
        )
    low = raw.low / (least if raw.low < 0 else most)
    high = raw.high / (least if raw.high > 0 else most)
    made = replace(raw, low=max(-1.0, low), high=min(1.0, high), level=level, method="paired+ranges")
    return value / ((least + most) / 2), made, min(1.0, p_value)


def _by_gold(
    first: IntArray, second: IntArray, data: RoutedSample, gold: GoldCounts, level: float
) -> FoundDifference:
    """Estimate the difference D by the mean of corrected answers, with Student's t over items or clusters."""
    c = difference_target(first, second, data.propensities.shape[1])
    data = informed(np.stack([first, second], axis=1), data)
    found = corrected_mean(c, data, gold, level=level)
    p_value = student_p_value(found.value, found.se or 0.0, count_units(data))
    return found.value, found, p_value
