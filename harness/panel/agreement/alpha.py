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

import numpy as np

from harness.arrays import FloatArray, IntArray
from harness.errors import EstimateError, NotIdentified
from harness.estimate import check_least, check_level
from harness.panel.agreement.coincidence import coincidences, distances
from harness.panel.ratings import FEWEST_CLUSTERS, check_votes, resampled_interval
from harness.types import explain_flag


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One coefficient with its bootstrap interval.

    Attributes
    ----------
    value
        The coefficient; at most 1, negative below chance.
    low, high
        Percentile interval over resampled items, or clusters of them; None where none was asked for, or
        there are fewer than 20 clusters, or all resamples are equal.
    level
        Its confidence.
    pairable
        Ratings on items with at least two, which is what counts.
    items, clusters
        Items with at least two ratings, and the clusters that they come in, None if items are independent.
    flags
        ``"degenerate_resamples: n"`` where n resamples held one class only and were left out,
        ``"too_few_clusters: n"`` and ``"equal_resamples"`` where they give no interval.
    """

    value: float
    low: float | None
    high: float | None
    level: float
    pairable: int
    items: int
    clusters: int | None = None
    flags: tuple[str, ...] = ()

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
    """α with a percentile interval over items, or clusters of them, resampled whole.

    Parameters
    ----------
    votes
        Shape (N, K): how many annotators gave the item the class (`Panel.votes`).
    level
        ``"nominal"``, ``"ordinal"`` (classes in their order), ``"interval"``, ``"ratio"``.
    values
        Shape (K,): what the classes measure, for interval and ratio.
    bootstrap
        Number of resamples; 0 for no interval. Items are drawn with replacement, so that the
        ratings of one item stay together; valid if items are a sample of those meant.
    cluster
        Shape (N,): number of the item's cluster (`Panel.cluster`). Clusters are then what is drawn, valid if
        they are a sample of those meant, and the interval is wider (`resampled_interval`).

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
    value = alpha_of_coincidences(coincidences(kept), level, values)
    low = high = None
    flags: tuple[str, ...] = ()
    if bootstrap and clusters is not None and clusters < FEWEST_CLUSTERS:
        flags = (f"too_few_clusters: {clusters}",)
    if bootstrap and not flags:
        draws, lost = resampled(kept, level, values, bootstrap, seed, unit)
        low, high = resampled_interval(value, draws, confidence, clusters)
        flags = (f"degenerate_resamples: {lost}",) if lost else ()
        if low == high:
            low, high, flags = None, None, (*flags, "equal_resamples")
    return Agreement(
        value=value,
        low=low,
        high=high,
        level=confidence,
        pairable=int(kept.sum()),
        items=len(kept),
        clusters=clusters,
        flags=flags,
    )


def resampled(
    votes: IntArray,
    level: str,
    values: FloatArray | None,
    times: int,
    seed: int,
    cluster: IntArray | None = None,
) -> tuple[FloatArray, int]:
    """α of resampled items or clusters 0..k−1 of them, and how many resamples had one class only.

    Independent items with equal votes are drawn together: a resample is a multinomial count over the
    different rows of votes, which is the same distribution and far smaller.

    Raises
    ------
    EstimateError
        If `times` is below 1, or fewer than half of the resamples define α.
    """
    check_least("bootstrap", times, 1)
    rows, counts = np.unique(votes, axis=0, return_counts=True)
    units, share = len(votes), counts / len(votes)
    place: IntArray = np.arange(len(rows))
    if cluster is not None:
        units, rows, place = int(cluster.max()) + 1, votes, cluster
        share = np.full(units, 1 / units)
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(times):
        weights = rng.multinomial(units, share)[place]
        try:
            draws.append(alpha_of_coincidences(coincidences(rows, weights), level, values))
        except NotIdentified:
            continue
    if 2 * len(draws) < times:
        raise EstimateError(f"alpha is defined in {len(draws)} of {times} resamples: too few for an interval")
    return np.array(draws), times - len(draws)


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
