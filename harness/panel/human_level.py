"""Rank a system among people who judge the same items: HLPI, HLPRI and a ranking.

    HLPI  = median of the systems' agreement with the reference / median of the people's
    HLPRI = (b + 1)/(w + 1), b people significantly worse than the system, w significantly better

The reference is made by experts who are none of these people. A difference that is not significant
counts in neither b nor w. Source: "Are machines better than humans in image tagging?", section 4.2.

Agreement with the reference ranks people and systems, paired tests say what is significant, and the
agreement among the people (Krippendorff's α) says whether the categories are well defined.

AP = (1/R) Σ over relevant documents of the precision at their rank. Documents of equal score, as every 0/1
annotator's are, have no order of their own: AP is reported for the best order of each tied group (relevant
first), the worst, and in expectation over a random order, which needs no drawing:

    a group of g with r relevant, after n documents of which R' relevant: its share of Σ precision is
    (r/g) Σ_{j=1..g} (R' + 1 + (j − 1)(r − 1)/(g − 1)) / (n + j)

Sources: "Are machines better than humans in image tagging?", sections 3.4 (best and worst case) and 4.2;
Yang & Hauptmann 2008 for ΔAP, AP less that of a random ranking. The expectation is our own, by counting.
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
"""People the source asks for at least, and its level of tests."""


def paired_t(first: ArrayLike, second: ArrayLike) -> float:
    """One-sided p of "first is not better" by Student's paired t over categories.

    Valid if the differences of the categories are near normal and the categories are a sample. If the
    differences have no variance, p is 0, 1 or (no difference) 1.

    Raises
    ------
    EstimateError
        If lengths differ or are below 2.
    """
    d = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if d.ndim != 1 or len(d) < 2:
        raise EstimateError(f"a paired t test needs at least 2 categories, there are {d.size}")
    se = float(d.std(ddof=1)) / np.sqrt(len(d))
    if se < 1e-15:
        return 0.0 if d.mean() > 0 else 1.0
    return float(stdtr(len(d) - 1, -float(d.mean()) / se))


def sign(first: ArrayLike, second: ArrayLike) -> float:
    """One-sided p of "first is not better" by the exact sign test on items where they differ (McNemar).

    ``first`` and ``second``: 1 right, 0 wrong, nan not judged; shape (N,).
    """
    d = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    wins, losses = int((d > 0).sum()), int((d < 0).sum())
    return binomial_at_least(wins, wins + losses, 0.5) if wins + losses else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """Call a test by its name: one-sided p of "first is not better" from scores on the same units."""

    name: str
    p_value: Callable[[FloatArray, FloatArray], float]


PAIRED_T = PairedTest(name="paired t", p_value=paired_t)
SIGN = PairedTest(name="exact sign test", p_value=sign)


def over_clusters(cluster: IntArray) -> PairedTest:
    """Student's t over clusters of items; `cluster` has shape (N,)."""

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
    """Median agreement of machines divided by that of people.

    Raises
    ------
    EstimateError
        If either list is empty.
    NotIdentified
        If the people's median is not above 0 (for α: not better than chance).

    Examples
    --------
    >>> round(hlpi([0.6, 0.7], [0.7, 0.75, 0.8]), 3)
    0.867
    """
    if not machines or not people:
        raise EstimateError(f"HLPI needs machines and people, there are {len(machines)} and {len(people)}")
    if median(people) <= 0:
        raise NotIdentified(f"the people's median agreement must exceed 0, is {median(people):.4g}")
    return median(machines) / median(people)


def hlpri(better_than: int, worse_than: int) -> float:
    """(b + 1)/(w + 1) for a system better than b people and worse than w.

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
        raise EstimateError(f"b and w must be at least 0, are {better_than} and {worse_than}")
    return (better_than + 1) / (worse_than + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanLevelStanding:
    """A system compared with the people.

    Attributes
    ----------
    score
        Its agreement with the reference.
    hlpi
        HLPI with this system alone; None if undefined.
    better_than, on_par, worse_than
        Number of people that the system is significantly better than, not significantly different from, and
        worse than.
    p_better, p_worse
        Person → one-sided p after the correction.
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
    """Ranking and indices.

    Attributes
    ----------
    ranking
        (name, "person" or "system", score), best first.
    hlpi
        Median over systems divided by the median over people; None if undefined.
    test, correction, significance
        How significance was decided. Holm's correction covers all people and both directions, per system.
    alphas
        Category → Krippendorff's α among the people (``"all"`` for one label per item). Below 0.8 the
        category itself is not well defined. None if all ratings are alike.

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
    """Make a ranking from scores of all people and systems over the same units (categories or items).

    Parameters
    ----------
    people, systems
        Name → shape (units,), nan if not judged.
    test
        Test over these units; `measure` names what the scores are means of.

    Raises
    ------
    EstimateError
        If there are no people, systems or units, or the correction is unknown.
    """
    check_known("correction", correction, CORRECTIONS)
    if not people or not systems:
        raise EstimateError(f"people and systems are needed, there are {len(people)} and {len(systems)}")
    scores = {n: float(np.nanmean(x)) for n, x in people.items()}
    standings = []
    for name, x in systems.items():
        p = [test.p_value(x, y) for y in people.values()]
        p += [test.p_value(y, x) for y in people.values()]
        p = holm(p).tolist() if correction == "holm" else p
        ahead = dict(zip(people, p, strict=False))
        behind = dict(zip(people, p[len(people) :], strict=True))
        b, w = (sum(q <= SIGNIFICANCE for q in side.values()) for side in (ahead, behind))
        score = float(np.nanmean(x))
        standings.append(
            HumanLevelStanding(
                name=name,
                score=score,
                hlpi=_ratio([score], list(scores.values())),
                hlpri=hlpri(b, w),
                better_than=b,
                on_par=len(people) - b - w,
                worse_than=w,
                p_better=ahead,
                p_worse=behind,
            )
        )
    few = Note(NoteKind.FEW_PEOPLE, {"people": len(people), "fewest": FEWEST})
    rows = [(n, "person", s) for n, s in scores.items()]
    rows += [(s.name, "system", s.score) for s in standings]
    return HumanLevel(
        ranking=tuple(sorted(rows, key=lambda row: -row[2])),
        standings=tuple(standings),
        hlpi=_ratio([s.score for s in standings], list(scores.values())),
        measure=measure,
        test=test.name,
        correction=correction,
        significance=SIGNIFICANCE,
        alphas=alphas,
        notes=(few,) if len(people) < FEWEST else (),
    )


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
    """Rank by mean average precision over categories, with paired t tests over categories.

    Parameters
    ----------
    people
        Name → shape (N, C): 1 if the person assigns the category to the item, otherwise 0.
    reference
        Shape (N, C): 1, 0, or −1 if the experts did not agree (the item is left out for that category).
    systems
        Name → shape (N, C): scores; a higher score means more certain.
    order
        How ties count (`average_precision`), which matters for the 0/1 labels of people. The source reports
        ``"best"`` and ``"worst"``.
    correction
        ``"holm"``, or ``"none"`` as published.

    Raises
    ------
    EstimateError
        If shapes differ, there are fewer than 2 categories, or an option is unknown.
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
        raise EstimateError(f"people and systems are needed, there are {len(people)} and {len(systems)}")
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
    """Rank by accuracy on one label per item, with exact sign tests over items that both judged.

    Parameters
    ----------
    people, systems
        Name → shape (N,): chosen class. A negative value means no label of a person (left out), or an
        unreadable answer of a system (wrong).
    reference
        Shape (N,): class, negative if unknown (left out).
    cluster
        Shape (N,): number of the item's cluster, if items are not independent; the test is then Student's t
        over clusters.

    Raises
    ------
    EstimateError
        If lengths differ, a person judged no item with a reference, or an option is unknown.

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
            raise EstimateError(f"{name!r} judged no item that has a reference")
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
    """Average precision under three orders of ties; the three are equal without ties.

    `chance` is the average precision of a random ranking: near the share of relevant documents, and above
    it for few documents.
    """

    best: float
    worst: float
    expected: float
    chance: float

    @property
    def delta(self) -> float:
        """ΔAP = expected − chance: 0 for a ranking without information, whatever the class frequency."""
        return self.expected - self.chance


def average_precision(relevant: ArrayLike, scores: ArrayLike) -> AveragePrecision:
    """Average precision of scores, higher first.

    Parameters
    ----------
    relevant
        Shape (N,), 0 or 1.
    scores
        Shape (N,), finite: an annotator's 0/1 or a system's confidence.

    Raises
    ------
    EstimateError
        If shapes differ, a value is not 0/1 or a score not finite; names the row.
    NotIdentified
        If nothing is relevant.
    """
    y, s = np.asarray(relevant, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if y.shape != s.shape or y.ndim != 1 or len(y) == 0:
        raise EstimateError(
            f"relevant and scores must have one equal length of at least 1, have {y.shape}, {s.shape}"
        )
    check_rows("relevant", y, (y == 0) | (y == 1), "be 0 or 1")
    check_rows("scores", s, np.isfinite(s), "be finite")
    if not y.any():
        raise NotIdentified("nothing is relevant: average precision is 0/0")
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
