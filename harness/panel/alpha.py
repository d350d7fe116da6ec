"""Krippendorff's α: agreement beyond chance for any number of annotators, with missing ratings.

α = 1 − D_o/D_e with D_o = Σ_ck o_ck δ²_ck / n and D_e = Σ_ck n_c n_k δ²_ck / (n(n − 1)), for n ratings.
Source: Krippendorff, "Content Analysis" (2004), ch. 11, and "Computing Krippendorff's Alpha-Reliability"
(2011).

If all ratings are alike, D_e = 0 and α = 0/0. Such ratings do not show whether annotators agree or always
give the same label. So `NotIdentified` is raised; other implementations return 1 or nan, or raise an error.
The project has its own implementation because the published fast one is GPL, and the free ones loop over
items or ratings in Python.

Both sums run only over the labels that occur, so no (K, K) table is made (`WeightedVotes`). Coincidences o_ck
and distances δ²_ck are defined in sections C and D of the 2011 paper. An item with v_c of its m labels in
class c adds Σ_ck v_c v_k δ²_ck / (m − 1) to Σ_ck o_ck δ²_ck, and v_c to the marginal n_c. δ² depends on the
level of measurement:

nominal 1{c≠k} · ordinal (r_c − r_k)², r_c the middle rank of c among the n labels · interval (x_c − x_k)² ·
ratio ((x_c − x_k)/(x_c + x_k))².

Squared differences reduce to sums: Σ_ck w_c w_k (x_c − x_k)² = 2 (Σ w Σ w x² − (Σ w x)²).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from oversight.harness.arrays import FloatArray, IntArray, divide
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate import (
    FEWEST_EFFECTIVE,
    check_known,
    check_least,
    check_level,
    effective_clusters,
)
from oversight.harness.output import with_bar
from oversight.harness.panel.ratings import check_votes
from oversight.harness.panel.weighted_units import draw_unit_more, explain_few_clusters, find_ends
from oversight.harness.types import Note, NoteKind, ResultWithNotes

NO_DRAWS = "bootstrap is 0, so no interval was computed"
_MANY_CLASSES = 12
"""Largest number of classes tried for the extra unit: if more exist, the most and the least frequent ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement(ResultWithNotes):
    """Krippendorff's α with its interval.

    Attributes
    ----------
    value
        α; at most 1, and negative if agreement is below chance.
    low, high
        Ends of the interval; None if it is withheld. The interval treats items, or clusters of items, as
        independent.
    level
        Confidence level of the interval.
    pairable
        Number of ratings on items with at least two ratings; a single rating of an item does not count.
    items, clusters
        Number of items with at least two ratings, and number of their clusters (None if items are
        independent).
    notes
        ``NoteKind.NO_INTERVAL`` if the interval is withheld.
    why
        Reason why the interval is withheld; empty if it is given.
    """

    value: float
    low: float | None
    high: float | None
    level: float
    pairable: int
    items: int
    clusters: int | None = None
    notes: tuple[Note, ...] = ()
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether α has an interval, which then has its nominal coverage."""
        return not self.why


def krippendorff_alpha(
    votes: Any,
    level: str = "nominal",
    *,
    values: FloatArray | None = None,
    bootstrap: int = 0,
    seed: int = 0,
    confidence: float = 0.95,
    cluster: IntArray | None = None,
) -> Agreement:
    """Compute α with an interval over items or, if items are in clusters, over clusters.

    The interval gives items or clusters random weights, and adds one invented item that lowers or raises α
    most (module `weighted_units`). In simulations with 4 or more items, the interval has its nominal
    coverage, even if classes are rare, or if the annotators agree on every item. With fewer items, it is
    withheld.

    Parameters
    ----------
    votes
        Shape (N, K): number of annotators that gave the item the class, as an array (`Panel.votes`) or as a
        sparse array of scipy (`Panel.sparse_votes`).
    level
        Level of measurement: ``"nominal"``, ``"ordinal"``, ``"interval"`` or ``"ratio"``. Ordinal classes
        are ordered by `values` if given, otherwise by their columns.
    values
        Shape (K,): numeric values of the classes, for the interval and ratio levels. At the ordinal level
        only their order counts, and classes with equal values are tied.
    bootstrap
        Number of draws of random weights; 0 for no interval. Without `cluster`, each item gets one random
        weight; the interval is valid if items are a random sample.
    seed
        Seed of the random weights.
    confidence
        Confidence level of the interval.
    cluster
        Shape (N,): index of the item's cluster (`Panel.cluster`). If given, each cluster gets one random
        weight; the interval is valid if clusters are a random sample. With fewer than 4 effective clusters,
        the interval is withheld.

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
    if bootstrap:
        check_least("bootstrap", bootstrap, 1)
    kept, rated = _pairable(votes)
    unit = None if cluster is None else np.unique(cluster[rated], return_inverse=True)[1]
    clusters = None if unit is None else int(unit.max()) + 1
    rows, counts, place = _distinct(kept) if unit is None else (kept, np.ones(clusters or 0, np.int64), unit)
    together = WeightedVotes(rows, level, values)
    weights, n = counts[place].astype(np.float64), float(kept.sum())
    together.refuse_alike(weights)
    value = float(together.alphas(weights[None], n)[0])
    low, high, why = None, None, "" if bootstrap else NO_DRAWS
    if unit is not None and not why:
        why = explain_few_clusters(unit)
    if not why and kept.shape[0] < FEWEST_EFFECTIVE:
        least = f"an interval needs at least {FEWEST_EFFECTIVE:g} items with two or more ratings"
        why = f"{least}, the number of these items is {kept.shape[0]}"
    if not why:
        extreme = _extreme_rows(kept)
        drawn = _draw(
            WeightedVotes(sparse.vstack([rows, extreme], format="csr"), level, values),
            (counts, place),
            (n / clusters if clusters else float(counts @ together.m**2) / n) / extreme[[0]].sum(),
            bootstrap,
            seed,
        )
        low, high = find_ends(*drawn, confidence, None if unit is None else effective_clusters(unit))
    return Agreement(
        value=value,
        low=low,
        high=high,
        level=confidence,
        pairable=int(kept.sum()),
        items=kept.shape[0],
        clusters=clusters,
        notes=(Note(NoteKind.NO_INTERVAL, {"why": why}),) if why else (),
        why=why,
    )


def _pairable(votes: Any) -> tuple[Any, IntArray]:
    """Return the rows with at least two votes as a sparse array, and their positions."""
    rated = np.flatnonzero(votes.sum(axis=1) >= 2)
    kept = sparse.csr_array(votes[rated])
    kept.eliminate_zeros()
    kept.sort_indices()
    return kept, rated


def _distinct(votes: Any) -> tuple[Any, IntArray, IntArray]:
    """Return the R distinct rows, how often each occurs, and 0, 1, …, R − 1 as their groups (`_draw`)."""
    N, K = votes.shape
    row = np.repeat(np.arange(N), np.diff(votes.indptr))
    cell = np.arange(votes.nnz) - votes.indptr[row]
    keys = np.zeros((N, 2 * (int(cell.max()) + 1)), dtype=np.int64)
    keys[:, ::2] = -K
    keys[row, 2 * cell], keys[row, 2 * cell + 1] = -votes.indices, votes.data
    _, first, counts = np.unique(keys, axis=0, return_index=True, return_counts=True)
    return votes[first], counts, np.arange(len(first))


def _extreme_rows(votes: Any) -> Any:
    """Return the votes of invented items on which annotators agree fully or disagree strongly.

    The sparse array has shape (number of invented items, K). Each invented item has as many ratings as an
    item of `votes` has on average. These ratings are all in one class, half in each of two classes, or spread
    evenly over all classes.
    """
    K, m = votes.shape[1], max(2, round(float(votes.sum(axis=1).mean())))
    classes = np.argsort(votes.sum(axis=0), kind="stable")
    if K > _MANY_CLASSES:
        classes = np.unique([0, K - 1, *classes[: _MANY_CLASSES // 2], *classes[-_MANY_CLASSES // 2 :]])
    rows = [{c: m} for c in classes]
    rows += [{c: m // 2, k: m - m // 2} for c in classes for k in classes if c != k]
    rows.append({c: m // K + (c < m % K) for c in range(min(K, m))})
    cells = [(number, c, count) for number, row in enumerate(rows) for c, count in row.items()]
    row, column, count = np.array(cells, dtype=np.int64).T
    return sparse.csr_array((count, (row, column)), shape=(len(rows), K))


def _draw(
    together: WeightedVotes, units: tuple[IntArray, IntArray], size: float, times: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Draw α with random weights of the units and one extra unit; return two arrays of shape (times,).

    In the first array, the extra unit is the extreme row of `together` that lowers α most; in the second, the
    one that raises α most. For units with equal votes, only the sum of their weights is drawn, from its gamma
    distribution, which is much faster than drawing each weight.

    Parameters
    ----------
    together
        R rows of votes, followed by the extreme rows (`_extreme_rows`).
    units
        Two arrays: the number of units in each group, shape (U,), and the group of each row, shape (R,). A
        group is all units with the same votes, or one cluster.
    size
        Weight with which an extreme row counts as much as a cluster of mean size. Without clusters, the mean
        is over ratings, so items with many ratings count more.
    """
    counts, place = units
    R, rows = len(place), together.votes.shape[0]
    n = float(together.m[:R] @ counts[place])
    steps = max(1, CELLS // rows)
    reached = [
        together.alphas(_with_unit(np.tile(counts[place], (len(some), 1)), rows, some, size), n)
        for some in np.array_split(np.arange(R, rows), -(-(rows - R) // steps))
    ]
    least = np.round(np.concatenate(reached), 12)  # rounding errors must not decide between ties
    lowest, highest = R + np.argmin(least), R + np.argmax(least)
    rng, more = np.random.default_rng(seed), size * draw_unit_more(times, seed)
    lowered, raised = list[FloatArray](), list[FloatArray]()
    for start in with_bar(range(0, times, steps), "alpha", "portion of draws"):
        weight = more[start : start + steps]
        drawn = rng.standard_gamma(counts, size=(len(weight), len(counts)))[:, place]
        for one, found in ((lowest, lowered), (highest, raised)):
            found.append(together.alphas(_with_unit(drawn, rows, np.full(len(weight), one), weight), n))
    return np.concatenate(lowered), np.concatenate(raised)


def _with_unit(drawn: FloatArray, rows: int, one: IntArray, weight: FloatArray | float) -> FloatArray:
    """Append the weights of the extreme rows to the drawn weights; the result has shape (draws, rows).

    `one` contains, for each draw, the position of one extreme row. This row gets `weight`; all other extreme
    rows get 0.
    """
    found = np.zeros((len(drawn), rows))
    found[:, : drawn.shape[1]] = drawn
    found[np.arange(len(drawn)), one] = weight
    return found


def category_alphas(votes: Any) -> dict[int, float | None]:
    """Return class → α of this class against all other classes.

    α is None if no rating or every rating is of this class.
    """
    check_votes(votes)
    kept, _ = _pairable(votes)
    m = kept.sum(axis=1)
    given, n = kept.sum(axis=0).astype(np.float64), float(m.sum())
    own = m[np.repeat(np.arange(len(m)), np.diff(kept.indptr))]
    apart = kept.data * (own - kept.data) / (own - 1)
    observed = np.bincount(kept.indices, weights=apart, minlength=len(given))
    alpha = 1 - (n - 1) * divide(observed, given * (n - given), where=(given > 0) & (given < n))
    return {c: None if np.isnan(a) else float(a) for c, a in enumerate(alpha)}


LEVELS = ("nominal", "ordinal", "interval", "ratio")
CELLS = 4_000_000
"""Largest number of elements of an intermediate array."""
_STEP = 0.25
"""Step width of the trapezoidal rule."""


class WeightedVotes:
    """α of weighted rows of votes.

    Parameters
    ----------
    votes
        Sparse, shape (R, K), K ≥ 2: votes of every row for every class, at least 2 votes per row.
    level
        One of `LEVELS`.
    values
        Shape (K,): numeric values of the classes, needed for the interval and ratio levels (≥ 0 for ratio).
        At the ordinal level, classes are ordered by these values, and classes with equal values are tied. If
        `values` is None, the order of the columns is used.

    Raises
    ------
    EstimateError
        If the level is unknown, or values are missing, not finite, or negative at the ratio level.
    """

    def __init__(self, votes: Any, level: str, values: FloatArray | None) -> None:
        check_known("level", level, LEVELS)
        K = votes.shape[1]
        self.votes, self.level = votes, level
        self.m: FloatArray = votes.sum(axis=1).astype(np.float64)
        self.values: FloatArray = np.arange(K, dtype=np.float64)
        if level in ("interval", "ratio") or (level == "ordinal" and values is not None):
            self.values = _check_values(level, K, values)
        if level == "ordinal":
            self._rank: IntArray = np.unique(self.values, return_inverse=True)[1]
            self._by_rank = sparse.csr_array((np.ones(K), (np.arange(K), self._rank)))
        else:
            self._fixed = self._within_rows()

    def alphas(self, weights: FloatArray, n: float) -> FloatArray:
        """Return α for each of B weightings of the R rows, shape (B,); `weights` has shape (B, R).

        The weights are scaled so that the weighted number of ratings is `n`. The rows with positive weight
        must have votes for at least two different values.
        """
        found = np.empty(len(weights))
        step = max(1, CELLS // max(*self.votes.shape, self.votes.nnz))
        for start in range(0, len(weights), step):
            part = weights[start : start + step]
            found[start : start + step] = self._alphas(part * (n / (part @ self.m))[:, None], n)
        return found

    def refuse_alike(self, weights: FloatArray) -> None:
        """Raise an error if all ratings in the rows with positive weight are alike; `weights` has shape (R,).

        Raises
        ------
        NotIdentified
            If all these ratings are alike, so that α is 0/0.
        """
        if len(np.unique(self.values[np.flatnonzero(self.votes.T @ weights)])) < 2:
            raise NotIdentified(
                "all ratings are alike: observed and expected disagreement are both 0, so alpha is 0/0"
            )

    def _alphas(self, weights: FloatArray, n: float) -> FloatArray:
        marginals: FloatArray = (self.votes.T @ weights.T).T
        if self.level == "ordinal":
            ranked: FloatArray = (self._by_rank.T @ marginals.T).T
            x = (np.cumsum(ranked, axis=1) - ranked / 2)[:, self._rank]
            observed = (weights * self._spread_within(x)).sum(axis=1)
            expected = _spread(marginals, x)
        else:
            observed = weights @ self._fixed
            if self.level == "nominal":
                expected = marginals.sum(axis=1) ** 2 - (marginals**2).sum(axis=1)
            elif self.level == "interval":
                expected = _spread(marginals, self.values[None])
            else:
                expected = _ratio_spread(marginals, self.values)
        alpha: FloatArray = 1.0 - (n - 1) * observed / expected
        return alpha

    def _within_rows(self) -> FloatArray:
        """Return the disagreement within every row, shape (R,).

        It is not defined at the ordinal level, where it depends on the weights of all rows.
        """
        if self.level == "nominal":
            same = self.votes.multiply(self.votes).sum(axis=1)
            return np.asarray((self.m**2 - same) / (self.m - 1))
        if self.level == "interval":
            found: FloatArray = self._spread_within(self.values[None])[0]
            return found
        ends = self.votes.indptr[1:-1]
        numbers, counts = (np.split(x, ends) for x in (self.values[self.votes.indices], self.votes.data))
        pairs = [v @ _ratio(x) @ v for x, v in zip(numbers, counts, strict=True)]
        return np.array(pairs) / (self.m - 1)

    def _spread_within(self, x: FloatArray) -> FloatArray:
        """Return Σ_ck v_c v_k (x_c − x_k)² / (m − 1) of every row, shape (B, R); x has shape (B, K).

        The value of the row's first class is subtracted from all x, so that a row with one class gives
        exactly 0.
        """
        starts, classes, counts = self.votes.indptr[:-1], self.votes.indices, self.votes.data
        first = np.repeat(classes[starts], np.diff(self.votes.indptr))
        y = x[:, classes] - x[:, first]
        squares = np.add.reduceat(counts * y**2, starts, axis=1)
        found: FloatArray = 2 * (self.m * squares - np.add.reduceat(counts * y, starts, axis=1) ** 2)
        return found / (self.m - 1)


def _check_values(level: str, K: int, values: FloatArray | None) -> FloatArray:
    if values is None:
        raise EstimateError(
            f"values: the level of measurement {level!r} needs a number for every class, but none are given"
        )
    x = np.asarray(values, dtype=np.float64)
    if x.shape != (K,) or not np.isfinite(x).all():
        raise EstimateError(f"values must be {K} finite numbers, are {x.tolist()[:8]}")
    if level == "ratio" and (x < 0).any():
        raise EstimateError(f"values must be at least 0 at the ratio level, are {x[x < 0].tolist()[:8]} …")
    return x


def _spread(w: FloatArray, x: FloatArray) -> FloatArray:
    """Return Σ_ck w_c w_k (x_c − x_k)², shape (B,); w has shape (B, K), x (B, K) or (1, K).

    The sum is computed around the mean of x, which avoids cancellation.
    """
    total = w.sum(axis=1)
    mean = (w * x).sum(axis=1) / total
    found: FloatArray = 2 * total * (w * (x - mean[:, None]) ** 2).sum(axis=1)
    return found


def _ratio_spread(w: FloatArray, x: FloatArray) -> FloatArray:
    """Return Σ_ck w_c w_k ((x_c − x_k)/(x_c + x_k))², shape (B,), in O(K); w has shape (B, K), x (K,).

    Because 1/(x + y)² = ∫ t e^{−(x + y)t} dt, the sum is ∫ t Σ_ck u_c u_k (x_c − x_k)² dt with
    u_c = w_c e^{−x_c t}. With t = e^s, the trapezoidal rule of step h has the relative error
    2 |Γ(2 + 2πi/h)| per summand, which is 2e-15 at h = 1/4.
    """
    x = x / max(float(x.max()), 1e-300)
    least = float(x[x > 0].min()) if x.any() else 1.0
    t = np.exp(np.arange(np.log(0.5e-8), np.log(50 / least), _STEP))
    found = np.zeros(len(w))
    for part in np.array_split(t, max(1, 3 * len(x) * len(t) // CELLS)):
        decay = np.exp(-np.outer(x, part))
        weight = w.mean(axis=0) @ decay
        centre = divide((w.mean(axis=0) * x) @ decay, weight, where=weight > 0, empty=0.0)
        y = x[:, None] - centre  # centred, to avoid cancellation in the sums of squares
        zero, one, two = (w @ (decay * y**power) for power in (0, 1, 2))
        found += _STEP * (2 * (zero * two - one**2)) @ part**2
    return found


def _ratio(x: FloatArray) -> FloatArray:
    """Return ((x_c − x_k)/(x_c + x_k))² of all pairs; 0 if both values are 0."""
    total = x[:, None] + x
    return divide(x[:, None] - x, total, where=total > 0, empty=0.0) ** 2
