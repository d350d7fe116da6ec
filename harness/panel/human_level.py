"""Rank systems among people who judge the same items, and compute the indices HLPI and HLPRI.

    HLPI  = median of the systems' agreement with the reference / median of the people's agreement with it
    HLPRI = (b + 1)/(w + 1)

If people judged different items, the systems' median is that of their agreement on the items of each person,
so that both medians are about the same items. With complete data, both definitions are equal.

A system is significantly better than b people and significantly worse than w people; people without a
significant difference count neither in b nor in w. The reference comes from experts who are not among the
ranked people. People and systems are ranked by their agreement with the reference, and paired tests decide
which differences are significant. The agreement among the people (Krippendorff's α) measures whether the
categories are well defined.

Average precision AP is the mean of the precision at the rank of each relevant document. Documents with
equal scores, for example all 0/1 labels of an annotator, have no order. So AP is computed for the best
order of each tied group (relevant documents first), for the worst order, and as the exact expectation over a
random order:

    a tied group of g documents, r of them relevant, that follows n documents, R' of them relevant, adds
    (r/g) Σ_{j=1..g} (R' + 1 + (j − 1)(r − 1)/(g − 1)) / (n + j) to the sum of the precisions

Sources: "Are machines better than humans in image tagging?", sections 3.4 (best and worst case) and 4.2;
Yang & Hauptmann 2008 for ΔAP, which is AP minus the expected AP of a random ranking. The formula of the
expectation is this project's derivation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate import binomial_at_least, check_known, check_rows, clustered_difference, holm
from oversight.harness.panel.alpha import krippendorff_alpha
from oversight.harness.types import Note, NoteKind, ResultWithNotes

CORRECTIONS = ("holm", "none")
FEWEST, SIGNIFICANCE = 5, 0.05
"""Smallest number of people, and level of the tests, that the source recommends."""


def paired_t(first: ArrayLike, second: ArrayLike) -> float:
    """Return the one-sided p-value of "`first` is not better", by Student's paired t test over categories.

    The test is valid if the categories are a random sample and their differences are nearly normal. If all
    differences are equal, the p-value is 0 if `first` is better and 1 otherwise.

    Raises
    ------
    EstimateError
        If there are fewer than 2 categories.
    """
    d = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if d.ndim != 1 or len(d) < 2:
        raise EstimateError(f"a paired t test needs at least 2 categories, there are {d.size}")
    se = float(d.std(ddof=1)) / np.sqrt(len(d))
    if se < 1e-15:
        return 0.0 if d.mean() > 0 else 1.0
    return float(stdtr(len(d) - 1, -float(d.mean()) / se))


def sign(first: ArrayLike, second: ArrayLike) -> float:
    """Return the one-sided p-value of "`first` is not better", by the exact sign test (McNemar).

    ``first`` and ``second`` have shape (N,): 1 if right, 0 if wrong, nan if not judged. Items on which
    ``first`` equals ``second`` do not count.
    """
    d = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    wins, losses = int((d > 0).sum()), int((d < 0).sum())
    return binomial_at_least(wins, wins + losses, 0.5) if wins + losses else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """A paired test and its name; `p_value` tests "the first scores are not better than the second"."""

    name: str
    p_value: Callable[[FloatArray, FloatArray], float]


PAIRED_T = PairedTest(name="paired t", p_value=paired_t)
SIGN = PairedTest(name="exact sign test", p_value=sign)


def over_clusters(cluster: IntArray) -> PairedTest:
    """Return a paired Student's t test that treats clusters as independent; `cluster` has shape (N,)."""

    def p_value(first: FloatArray, second: FloatArray) -> float:
        d = first - second
        known = ~np.isnan(d)
        names, of = np.unique(cluster[known], return_inverse=True)
        if len(names) < 2:
            return 1.0
        value, _, p = clustered_difference(d[known], of.astype(np.int64), 0.95)
        return p / 2 if value > 0 else 1 - p / 2

    return PairedTest(name="t over clusters", p_value=p_value)


def hlpi(machines: list[float], people: list[float]) -> float:
    """Return the machines' median agreement with the reference, divided by the people's median.

    Raises
    ------
    EstimateError
        If `machines` or `people` is empty.
    NotIdentified
        If the people's median is not above 0.

    Examples
    --------
    >>> round(hlpi([0.6, 0.7], [0.7, 0.75, 0.8]), 3)
    0.867
    """
    if not machines or not people:
        raise EstimateError(
            f"HLPI needs machines and people, there are {len(machines)} machines and {len(people)} people"
        )
    if median(people) <= 0:
        raise NotIdentified(f"the people's median agreement must exceed 0, is {median(people):.4g}")
    return median(machines) / median(people)


def hlpri(better_than: int, worse_than: int) -> float:
    """Return HLPRI = (b + 1)/(w + 1) for b = `better_than` and w = `worse_than`.

    The system is significantly better than b people and significantly worse than w people.

    Raises
    ------
    EstimateError
        If a number is negative.

    Examples
    --------
    >>> hlpri(better_than=3, worse_than=1)
    2.0
    """
    if better_than < 0 or worse_than < 0:
        raise EstimateError(
            f"better_than and worse_than must be at least 0, are {better_than} and {worse_than}"
        )
    return (better_than + 1) / (worse_than + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanLevelStanding:
    """Comparison of one system with the human annotators.

    Attributes
    ----------
    score
        The system's agreement with the reference, over all items.
    hlpi
        The index HLPI, computed for this system alone on the items of each person; None if undefined.
    better_than, on_par, worse_than
        Numbers of people whom the system significantly exceeds, who do not differ significantly from it, and
        who significantly exceed it.
    p_better, p_worse
        Person → one-sided p-value, corrected for multiple tests. The null hypothesis is "the system is not
        better than this person" for `p_better`, and "the system is not worse than this person" for `p_worse`.
    """

    name: str
    score: float
    hlpi: float | None
    hlpri: float
    better_than: int
    on_par: int
    worse_than: int
    p_better: Mapping[str, float]
    p_worse: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanLevel(ResultWithNotes):
    """Ranking of people and systems, with the indices HLPI and HLPRI.

    Attributes
    ----------
    ranking
        One tuple (name, "person" or "system", score) per person and system, best first. Each score is over
        all items that the person or system judged.
    standings
        Comparison of each system with the people.
    hlpi
        Median score of the systems, each on the items of each person, divided by the median score of the
        people; None if undefined.
    measure
        Name of the score.
    test, correction, significance
        Name of the test, the correction for multiple tests, and the level. For each system, Holm's correction
        covers its tests against all people in both directions.
    alphas
        Category → Krippendorff's α among the people; None if all ratings are alike. For
        `human_level_choices`, the only key is ``"all"``. If α is below 0.8, the category is not well defined.
    notes
        ``NoteKind.FEW_PEOPLE`` below 5 people; ``NoteKind.DIFFERENT_ITEMS`` if people judged different items,
        because the ranking then compares scores on different items.

    Examples
    --------
    >>> people = {"ann": np.array([0, 1, 1, 0]), "bob": np.array([0, 1, 0, 1])}
    >>> found = human_level_choices(people, np.array([0, 1, 1, 1]), {"model": np.array([0, 1, 1, 1])})
    >>> found.measure, found.test
    ('accuracy', 'exact sign test')
    """

    ranking: tuple[tuple[str, str, float], ...]
    standings: tuple[HumanLevelStanding, ...]
    hlpi: float | None
    measure: str
    test: str
    correction: str
    significance: float
    alphas: Mapping[str, float | None]
    notes: tuple[Note, ...]


def rank(
    people: Mapping[str, FloatArray],
    systems: Mapping[str, FloatArray],
    measure: str,
    test: PairedTest,
    correction: str,
    alphas: Mapping[str, float | None],
) -> HumanLevel:
    """Rank people and systems by their mean scores over the same units (categories or items).

    Parameters
    ----------
    people, systems
        Name → scores, shape (units,); nan if the unit was not judged.
    measure
        Name of the mean score.
    test
        Paired test over the units.
    correction
        ``"holm"`` or ``"none"``.
    alphas
        Category → Krippendorff's α among the people; copied to the result.

    Raises
    ------
    EstimateError
        If there are no people, systems or units, or the correction is unknown.
    """
    check_known("correction", correction, CORRECTIONS)
    if not people or not systems:
        raise EstimateError(
            f"at least one person and one system are needed, there are {len(people)} people and "
            f"{len(systems)} systems"
        )
    scores = {n: float(np.nanmean(x)) for n, x in people.items()}
    standings, shared = list[HumanLevelStanding](), list[float]()
    for name, x in systems.items():
        on_theirs = [float(np.nanmean(x[~np.isnan(y)])) for y in people.values()]
        shared += on_theirs
        p = [test.p_value(x, y) for y in people.values()]
        p += [test.p_value(y, x) for y in people.values()]
        p = holm(p).tolist() if correction == "holm" else p
        ahead = dict(zip(people, p, strict=False))
        behind = dict(zip(people, p[len(people) :], strict=True))
        b, w = (sum(q <= SIGNIFICANCE for q in side.values()) for side in (ahead, behind))
        standings.append(
            HumanLevelStanding(
                name=name,
                score=float(np.nanmean(x)),
                hlpi=_ratio(on_theirs, list(scores.values())),
                hlpri=hlpri(b, w),
                better_than=b,
                on_par=len(people) - b - w,
                worse_than=w,
                p_better=ahead,
                p_worse=behind,
            )
        )
    rows = [(n, "person", s) for n, s in scores.items()]
    rows += [(s.name, "system", s.score) for s in standings]
    return HumanLevel(
        ranking=tuple(sorted(rows, key=lambda row: -row[2])),
        standings=tuple(standings),
        hlpi=_ratio(shared, list(scores.values())),
        measure=measure,
        test=test.name,
        correction=correction,
        significance=SIGNIFICANCE,
        alphas=alphas,
        notes=_note(people, shared),
    )


def _note(people: Mapping[str, FloatArray], shared: list[float]) -> tuple[Note, ...]:
    """Return the notes; `shared` has the systems' scores on the items of each person."""
    few = Note(NoteKind.FEW_PEOPLE, {"people": len(people), "fewest": FEWEST})
    notes = (few,) if len(people) < FEWEST else ()
    judged = np.array([~np.isnan(y) for y in people.values()])
    if (judged == judged[0]).all():
        return notes
    counts, of = judged.sum(axis=1), judged.any(axis=0).sum()
    numbers = {"least": int(counts.min()), "most": int(counts.max()), "of": int(of)}
    scores = {"low": min(shared), "high": max(shared)}
    return (*notes, Note(NoteKind.DIFFERENT_ITEMS, numbers | scores))


def _ratio(machines: list[float], people: list[float]) -> float | None:
    try:
        return hlpi(machines, people)
    except NotIdentified:
        return None


ORDERS = ("expected", "best", "worst")


def human_level_tagging(
    people: Mapping[str, IntArray],
    reference: IntArray,
    systems: Mapping[str, FloatArray],
    *,
    order: str = "expected",
    correction: str = "holm",
) -> HumanLevel:
    """Rank people and systems by mean average precision over categories, with paired t tests over categories.

    Parameters
    ----------
    people
        Name → array of shape (N items, C categories): 1 if the person assigns the category to the item,
        otherwise 0.
    reference
        Shape (N, C): the experts' labels, 1 or 0; −1 if the experts did not agree. The item is then left out
        of the category.
    systems
        Name → array of shape (N, C): the system's score of each category for each item; a higher score means
        that the system is more certain of the category.
    order
        How to order items with equal scores (a person's labels are only 0 or 1): ``"expected"``, ``"best"``
        or ``"worst"`` (`average_precision`). The source reports ``"best"`` and ``"worst"``.
    correction
        ``"holm"``, or ``"none"`` as published.

    Raises
    ------
    EstimateError
        If shapes differ, there are fewer than 2 categories, or `order` or `correction` is unknown.
    NotIdentified
        If a category has no relevant item.

    Examples
    --------
    >>> reference = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    >>> people = {"ann": reference, "bob": 1 - reference}
    >>> found = human_level_tagging(people, reference, {"model": reference * 0.9})
    >>> [name for name, _, _ in found.ranking]
    ['ann', 'model', 'bob']
    """
    check_known("order", order, ORDERS)
    if not people or not systems:
        raise EstimateError(
            f"at least one person and one system are needed, there are {len(people)} people and "
            f"{len(systems)} systems"
        )
    by_person = {n: _precisions(n, x, reference, order) for n, x in people.items()}
    by_system = {n: _precisions(n, x, reference, order) for n, x in systems.items()}
    measure = f"mean average precision, ties {order}"
    alphas = {str(c): _alpha([x[:, c] for x in people.values()], 2) for c in range(reference.shape[1])}
    return rank(by_person, by_system, measure, PAIRED_T, correction, alphas)


def human_level_choices(
    people: Mapping[str, IntArray],
    reference: IntArray,
    systems: Mapping[str, IntArray],
    *,
    cluster: IntArray | None = None,
    correction: str = "holm",
) -> HumanLevel:
    """Rank people and systems by accuracy on one label per item, with exact sign tests over items.

    Parameters
    ----------
    people, systems
        Name → shape (N,): chosen class. A negative value of a person is a missing label, which is left out;
        a negative value of a system is an unreadable answer, which counts as wrong.
    reference
        Shape (N,): reference class; negative if unknown, and the item is then left out.
    cluster
        Shape (N,): index of the item's cluster if items are not independent. The test is then Student's t
        over clusters.
    correction
        ``"holm"`` or ``"none"``.

    Raises
    ------
    EstimateError
        If lengths differ, there are no people or systems, a person judged no item with a reference, or
        `correction` is unknown.

    Examples
    --------
    >>> people = {"ann": np.array([0, 1, 1, 0]), "bob": np.array([0, 1, 0, 1])}
    >>> found = human_level_choices(people, np.array([0, 1, 1, 1]), {"model": np.array([0, 1, 1, 1])})
    >>> found.ranking[0], found.hlpi
    (('model', 'system', 1.0), 1.3333333333333333)
    """
    for name, x in (*people.items(), *systems.items()):
        if x.shape != reference.shape:
            raise EstimateError(f"{name!r} must have shape {reference.shape}, has {x.shape}")
    right = {n: _right(x, reference, missing=True) for n, x in people.items()}
    machine = {n: _right(x, reference, missing=False) for n, x in systems.items()}
    for name, r in right.items():
        if np.isnan(r).all():
            raise EstimateError(f"{name!r} judged no item that has a reference label")
    K = 1 + max(int(reference.max()), *(int(x.max()) for x in people.values()))
    alphas = {"all": _alpha(list(people.values()), max(2, K))}
    test = SIGN if cluster is None else over_clusters(cluster)
    return rank(right, machine, "accuracy", test, correction, alphas)


def _precisions(name: str, x: FloatArray | IntArray, reference: IntArray, order: str) -> FloatArray:
    if x.shape != reference.shape or reference.ndim != 2:
        raise EstimateError(f"{name!r} must have the reference's shape {reference.shape}, has {x.shape}")
    known = enumerate(reference.T >= 0)
    return np.array([getattr(average_precision(reference[k, c], x[k, c]), order) for c, k in known])


def _right(x: IntArray, reference: IntArray, *, missing: bool) -> FloatArray:
    right: FloatArray = (x == reference).astype(np.float64)
    right[(reference < 0) | ((x < 0) if missing else False)] = np.nan
    return right


def _alpha(labels: list[IntArray], K: int) -> float | None:
    votes = np.stack([sum((x == c).astype(np.int64) for x in labels) for c in range(K)], axis=1)
    try:
        return krippendorff_alpha(votes).value
    except EstimateError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragePrecision:
    """Average precision for the best, worst and random order of tied documents.

    Without ties, all three are equal.

    `chance` is the expected average precision of a random ranking. It is near the share of relevant
    documents, and above this share if there are few documents.
    """

    best: float
    worst: float
    expected: float
    chance: float

    @property
    def delta(self) -> float:
        """ΔAP, which is `expected` − `chance`; 0 if the ranking contains no information."""
        return self.expected - self.chance


def average_precision(relevant: ArrayLike, scores: ArrayLike) -> AveragePrecision:
    """Return the average precision of documents ranked by their scores, highest first.

    Parameters
    ----------
    relevant
        Shape (N,): 1 if the document is relevant, otherwise 0.
    scores
        Shape (N,), finite: an annotator's 0/1 label or a system's confidence.

    Raises
    ------
    EstimateError
        If shapes differ, a value of `relevant` is not 0 or 1, or a score is not finite; the message names
        the row.
    NotIdentified
        If no document is relevant.
    """
    y, s = np.asarray(relevant, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if y.shape != s.shape or y.ndim != 1 or len(y) == 0:
        raise EstimateError(
            f"`relevant` and `scores` must have the same length, at least 1; their shapes are {y.shape}, "
            f"{s.shape}"
        )
    check_rows("relevant", y, (y == 0) | (y == 1), "be 0 or 1")
    check_rows("scores", s, np.isfinite(s), "be finite")
    if not y.any():
        raise NotIdentified("no document is relevant, so average precision is 0/0")
    return AveragePrecision(
        best=_ordered(y, s, y),
        worst=_ordered(y, s, -y),
        expected=_expected(y, s),
        chance=_expected(y, np.zeros(len(y))),
    )


def _ordered(y: FloatArray, s: FloatArray, tie: FloatArray) -> float:
    hits = y[np.lexsort((-tie, -s))]
    ranks = np.arange(1, len(hits) + 1)
    return float((hits * np.cumsum(hits) / ranks).sum() / hits.sum())


def _expected(y: FloatArray, s: FloatArray) -> float:
    _, group = np.unique(-s, return_inverse=True)
    size = np.bincount(group)
    hits = np.bincount(group, weights=y)
    before, hits_before = np.cumsum(size) - size, np.cumsum(hits) - hits
    total = 0.0
    for g, r, n, R in zip(size, hits, before, hits_before, strict=True):
        if r:
            j = np.arange(1, g + 1)
            step = (r - 1) / (g - 1) if g > 1 else 0.0
            total += float(r / g * ((R + 1 + (j - 1) * step) / (n + j)).sum())
    return total / float(y.sum())
