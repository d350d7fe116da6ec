"""Krippendorff's α: agreement beyond chance, any number of annotators, missing allowed.

α = 1 − D_o/D_e with D_o = Σ_ck o_ck δ²_ck / n and D_e = Σ_ck n_c n_k δ²_ck / (n(n − 1)); o, n_c and δ²
as in `coincidence`. Source: Krippendorff, "Content Analysis" (2004), ch. 11, and "Computing
Krippendorff's Alpha-Reliability" (2011).

All ratings alike. Then D_e = 0 and α = 0/0: one cannot tell annotators who agree from annotators who
always say the same. Implementations differ (1, nan, an error); here it is refused, `NotIdentified`.

Written here because the fast published implementation is GPL, and the free ones loop over items or ratings in
Python, fifty to a hundred times slower; ``benchmarks/alpha_speed.py`` runs them beside this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from harness.arrays import FloatArray, IntArray
from harness.errors import NotIdentified
from harness.estimate import check_least, check_level, effective_clusters
from harness.panel.agreement.coincidence import coincidences, distances
from harness.panel.ratings import (
    Score,
    check_votes,
    draw_unit_more,
    explain_few_clusters,
    find_ends,
    find_extremes,
)
from harness.types import explain_flag

NO_DRAWS = "bootstrap is 0, so no interval was computed"
_CELLS = 1_000_000
"""Coincidences that are in memory at once."""
_MANY_CLASSES = 12
"""Number of classes up to which all are tried for the extra unit; of more, the most and least frequent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One coefficient with its interval.

    Attributes
    ----------
    value
        The coefficient; at most 1, negative below chance.
    low, high
        Ends of its interval over items, or clusters of them; None if it is withheld.
    level
        Its confidence.
    pairable
        Ratings on items with at least two, which is what counts.
    items, clusters
        Items with at least two ratings, and the clusters that they come in, None if items are independent.
    flags
        ``"no_interval: why"`` if the interval is withheld.
    why
        Why the interval is withheld; empty if it is given.
    """

    value: float
    low: float | None
    high: float | None
    level: float
    pairable: int
    items: int
    clusters: int | None = None
    flags: tuple[str, ...] = ()
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether there is an interval, which then covers α as often as its level says."""
        return not self.why

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know, in words."""
        return tuple(map(explain_flag, self.flags))


def alpha_of_coincidences(o: FloatArray, level: str = "nominal", values: FloatArray | None = None) -> float:
    """α from coincidences o, shape (K, K).

    Raises
    ------
    NotIdentified
        If all ratings are alike.
    EstimateError
        If the level or the values are wrong.
    """
    marginals = o.sum(axis=1)
    n = float(marginals.sum())
    delta = distances(level, marginals, values)
    expected = float(marginals @ delta @ marginals)
    # np.float64 sums of rationals such as 3·(1/3) leave dust where the exact sum is 0
    if expected <= 1e-12 * max(1.0, float(delta.max())) * n * n:
        raise NotIdentified(
            "all ratings are alike: observed and expected disagreement are both 0, alpha is 0/0"
        )
    return 1.0 - (n - 1) * float((o * delta).sum()) / expected


def krippendorff_alpha(
    votes: IntArray,
    level: str = "nominal",
    *,
    values: FloatArray | None = None,
    bootstrap: int = 0,
    seed: int = 0,
    confidence: float = 0.95,
    cluster: IntArray | None = None,
) -> Agreement:
    """α with an interval over items, or clusters of them, which stay whole.

    The interval gives units random weights, and adds a unit that lowers or raises α most (`weighted_units`).
    By simulation it covers from 5 items on, with rare classes, and where all ratings agree.

    Parameters
    ----------
    votes
        Shape (N, K): how many annotators gave the item the class (`Panel.votes`).
    level
        ``"nominal"``, ``"ordinal"`` (classes in their order), ``"interval"``, ``"ratio"``.
    values
        Shape (K,): what the classes measure, for interval and ratio.
    bootstrap
        Number of draws of weights; 0 for no interval. The ratings of one item share a weight; valid if items
        are a sample of those meant.
    cluster
        Shape (N,): number of the item's cluster (`Panel.cluster`). Clusters then get the weights, valid if
        they are a sample of those meant. Below 4 effective clusters the interval is withheld.

    Raises
    ------
    NotIdentified
        If all ratings are alike.
    EstimateError
        If no item has two ratings, or an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> krippendorff_alpha(np.array([[2, 0], [1, 1], [0, 2], [0, 2]])).value
    0.533...
    """
    check_votes(votes)
    check_level(confidence)
    rated = votes.sum(axis=1) >= 2
    kept = votes[rated]
    unit = None if cluster is None else np.unique(cluster[rated], return_inverse=True)[1]
    clusters = None if unit is None else int(unit.max()) + 1
    total = coincidences(kept)
    value = alpha_of_coincidences(total, level, values)
    low, high, why = None, None, "" if bootstrap else NO_DRAWS
    if unit is not None and not why:
        why = explain_few_clusters(unit)
    if not why:
        check_least("bootstrap", bootstrap, 1)
        score = partial(_alphas, n=float(total.sum()), level=level, values=values)
        extremes = find_extremes(score, total, _extreme_units(kept, clusters or len(kept), total))
        drawn = _draw(kept, unit, score, extremes, bootstrap, seed)
        low, high = find_ends(*drawn, confidence, None if unit is None else effective_clusters(unit))
    return Agreement(
        value=value,
        low=low,
        high=high,
        level=confidence,
        pairable=int(kept.sum()),
        items=len(kept),
        clusters=clusters,
        flags=(f"no_interval: {why}",) if why else (),
        why=why,
    )


def _alphas(o: FloatArray, n: float, level: str, values: FloatArray | None) -> FloatArray:
    """α of coincidences, shape (…, K, K), each scaled to n ratings of which not all are alike."""
    scaled = o * (n / o.sum(axis=(-2, -1), keepdims=True))
    marginals = scaled.sum(axis=-1)
    delta = distances(level, marginals, values)
    expected = (marginals[..., :, None] * marginals[..., None, :] * delta).sum(axis=(-2, -1))
    found: FloatArray = 1.0 - (n - 1) * (scaled * delta).sum(axis=(-2, -1)) / expected
    return found


def _extreme_units(votes: IntArray, units: int, total: FloatArray) -> FloatArray:
    """Coincidences of units that agree on one class, or disagree as much as a unit can; shape (c, K, K).

    A unit has as many ratings as units have on average.
    """
    K, m = votes.shape[1], max(2, round(float(votes.sum(axis=1).mean())))
    classes = np.argsort(total.sum(axis=1), kind="stable")
    if K > _MANY_CLASSES:
        classes = np.unique([0, K - 1, *classes[: _MANY_CLASSES // 2], *classes[-_MANY_CLASSES // 2 :]])
    one = np.eye(K, dtype=np.int64)
    spread = m // K + (np.arange(K) < m % K)
    rows = [m * one[c] for c in classes]
    rows += [m // 2 * one[c] + (m - m // 2) * one[k] for c in classes for k in classes if c != k]
    size = float(total.sum()) / units / m
    return size * np.stack([coincidences(row[None]) for row in (*rows, spread)])


def _draw(
    votes: IntArray,
    unit: IntArray | None,
    score: Score,
    extremes: tuple[FloatArray, FloatArray],
    times: int,
    seed: int,
) -> tuple[FloatArray, FloatArray]:
    """α of units with random weights and one of `extremes` more; two arrays of shape (times,).

    Items with equal votes share one weight, a gamma variable: the same distribution, and far smaller.
    """
    rows, counts = np.unique(votes, axis=0, return_counts=True)
    place: IntArray = np.arange(len(rows))
    if unit is not None:
        rows, counts, place = votes, np.ones(int(unit.max()) + 1, dtype=np.int64), unit
    rng = np.random.default_rng(seed)
    more = draw_unit_more(times, seed)[:, None, None]
    step = max(1, _CELLS // votes.shape[1] ** 2)
    lowered, raised = [], []
    for start in range(0, times, step):
        weight = more[start : start + step]
        o = np.stack([coincidences(rows, rng.standard_gamma(counts)[place]) for _ in weight])
        lowered.append(score(o + weight * extremes[0]))
        raised.append(score(o + weight * extremes[1]))
    return np.concatenate(lowered), np.concatenate(raised)


def category_alphas(votes: IntArray) -> dict[int, float | None]:
    """α of every class against the rest; None for a class whose ratings are all alike."""
    check_votes(votes)
    found: dict[int, float | None] = {}
    for c in range(votes.shape[1]):
        own = votes[:, c]
        try:
            found[c] = krippendorff_alpha(np.stack([own, votes.sum(axis=1) - own], axis=1)).value
        except NotIdentified:
            found[c] = None
    return found
