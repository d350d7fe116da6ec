"""Where a system stands among people who judge the same items: HLPI, HLPRI, and the whole methodology.

    HLPI  = median of the systems' agreement with the reference / median of the people's
    HLPRI = (b + 1)/(w + 1), b people significantly worse than the system, w significantly better

The reference is made by experts who are none of these people. A difference that is not significant
counts in neither b nor w. Source: "Are machines better than humans in image tagging?", section 4.2.
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
from oversight.harness.estimate import binomial_at_least, check_known, clustered_difference, holm
from oversight.harness.types import Note, Noted, NoteKind

CORRECTIONS = ("holm", "none")
FEWEST = 5
"""People the source asks for at least."""


def paired_t(first: ArrayLike, second: ArrayLike) -> float:
    """One-sided p of "first is not better" by Student's paired t over categories.

    Valid if the differences of the categories are near normal and the categories a sample. Without
    variance of the differences it is 0, 1 or (no difference) 1.

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

    ``first`` and ``second``: 1 right, 0 wrong, nan not judged, shape (N,).
    """
    d = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    wins, losses = int((d > 0).sum()), int((d < 0).sum())
    return binomial_at_least(wins, wins + losses, 0.5) if wins + losses else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """A test by its name: one-sided p of "first is not better" from scores of both on the same units."""

    name: str
    p_value: Callable[[FloatArray, FloatArray], float]


PAIRED_T = PairedTest(name="paired t", p_value=paired_t)
SIGN = PairedTest(name="exact sign test", p_value=sign)


def over_clusters(cluster: IntArray) -> PairedTest:
    """Student's t over clusters of items; `cluster` numbers every item's own, shape (N,)."""

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
    """Median agreement of machines over that of people.

    Raises
    ------
    EstimateError
        If either list is empty.
    NotIdentified
        If the people's median is not above 0 (for α: not better than chance).
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
    """
    if better_than < 0 or worse_than < 0:
        raise EstimateError(f"b and w must be at least 0, are {better_than} and {worse_than}")
    return (better_than + 1) / (worse_than + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanLevelStanding:
    """One system among the people.

    Attributes
    ----------
    score
        Its agreement with the reference.
    hlpi
        HLPI with this system alone; None where undefined.
    better_than, on_par, worse_than
        How many people, by a significant difference.
    p_better, p_worse
        Person → one-sided p, after the correction.
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
class HumanLevel(Noted):
    """Ranking and indices.

    Attributes
    ----------
    ranking
        (name, "person" or "system", score), best first.
    hlpi
        Median over systems against median over people; None where undefined.
    test, correction, significance
        How "significantly" was decided; Holm runs over all people and both directions, per system.
    alphas
        Category → Krippendorff's α among the people (``"all"`` for one label an item): below 0.8
        the category itself is not well defined. None where all say the same.
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
    significance: float,
    alphas: Mapping[str, float | None],
) -> HumanLevel:
    """Scores of every person and system over the same units (categories or items) to a ranking.

    Parameters
    ----------
    people, systems
        Name → shape (units,), nan where not judged.
    test
        Over these units; `measure` names what the scores are means of.

    Raises
    ------
    EstimateError
        If there is nobody or nothing to compare, or the correction is unknown.
    """
    check_known("correction", correction, CORRECTIONS)
    if not people or not systems:
        raise EstimateError(f"people and systems are needed, there are {len(people)} and {len(systems)}")
    scores = {n: float(np.nanmean(x)) for n, x in people.items()}
    standings = []
    for name, x in systems.items():
        p = [test.p_value(x, y) for y in people.values()] + [test.p_value(y, x) for y in people.values()]
        p = holm(p).tolist() if correction == "holm" else p
        ahead, behind = dict(zip(people, p, strict=False)), dict(zip(people, p[len(people) :], strict=True))
        b, w = (sum(q <= significance for q in side.values()) for side in (ahead, behind))
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
    rows = [(n, "person", s) for n, s in scores.items()] + [(s.name, "system", s.score) for s in standings]
    return HumanLevel(
        ranking=tuple(sorted(rows, key=lambda row: -row[2])),
        standings=tuple(standings),
        hlpi=_ratio([s.score for s in standings], list(scores.values())),
        measure=measure,
        test=test.name,
        correction=correction,
        significance=significance,
        alphas=alphas,
        notes=(few,) if len(people) < FEWEST else (),
    )


def _ratio(machines: list[float], people: list[float]) -> float | None:
    try:
        return hlpi(machines, people)
    except NotIdentified:
        return None
