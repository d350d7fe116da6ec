"""Krippendorff's α: agreement beyond chance, any number of annotators, missing allowed.

α = 1 − D_o/D_e with D_o = Σ_ck o_ck δ²_ck / n and D_e = Σ_ck n_c n_k δ²_ck / (n(n − 1)); the sums are
those of `disagreement`. Source: Krippendorff, "Content Analysis" (2004), ch. 11, and "Computing
Krippendorff's Alpha-Reliability" (2011).

All ratings alike. Then D_e = 0 and α = 0/0: one cannot tell annotators who agree from annotators who
always say the same. Implementations differ (1, nan, an error); here it is refused, `NotIdentified`.

Written here because the fast published implementation is GPL, and the free ones loop over items or ratings in
Python, fifty to a hundred times slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from oversight.harness.arrays import FloatArray, IntArray, divide
from oversight.harness.estimate import check_least, check_level, effective_clusters
from oversight.harness.output import with_bar
from oversight.harness.panel.agreement.disagreement import CELLS, WeightedVotes
from oversight.harness.panel.ratings import check_votes, draw_unit_more, explain_few_clusters, find_ends
from oversight.harness.types import Note, Noted, NoteKind

NO_DRAWS = "bootstrap is 0, so no interval was computed"
_MANY_CLASSES = 12
"""Number of classes up to which all are tried for the extra unit; of more, the most and least frequent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement(Noted):
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
    notes
        ``NoteKind.NO_INTERVAL`` if the interval is withheld.
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
    notes: tuple[Note, ...] = ()
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether there is an interval, which then covers α as often as its level says."""
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
    """α with an interval over items, or clusters of them, which stay whole.

    The interval gives units random weights, and adds a unit that lowers or raises α most (`weighted_units`).
    By simulation it covers from 5 items on, with rare classes, and where all ratings agree.

    Parameters
    ----------
    votes
        Shape (N, K): how many annotators gave the item the class, an array (`Panel.votes`) or one of
        scipy's sparse rows (`Panel.sparse_votes`).
    level
        ``"nominal"``, ``"ordinal"`` (by `values`, without them by the order of the classes),
        ``"interval"``, ``"ratio"``.
    values
        Shape (K,): what the classes measure, for interval and ratio; at the ordinal level only their order
        counts, and classes of equal value are tied.
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
    if not why:
        check_least("bootstrap", bootstrap, 1)
        extreme = _extreme_rows(kept)
        drawn = _draw(
            WeightedVotes(sparse.vstack([rows, extreme], format="csr"), level, values),
            (counts, place),
            n / (clusters or kept.shape[0]) / extreme[[0]].sum(),
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
    """Rows with at least two votes as a sparse array, and their numbers."""
    rated = np.flatnonzero(votes.sum(axis=1) >= 2)
    kept = sparse.csr_array(votes[rated])
    kept.eliminate_zeros()
    kept.sort_indices()
    return kept, rated


def _distinct(votes: Any) -> tuple[Any, IntArray, IntArray]:
    """Rows that differ, in the order that their dense rows have, how often each occurs, and 0 … rows − 1."""
    N, K = votes.shape
    row = np.repeat(np.arange(N), np.diff(votes.indptr))
    cell = np.arange(votes.nnz) - votes.indptr[row]
    keys = np.zeros((N, 2 * (int(cell.max()) + 1)), dtype=np.int64)
    keys[:, ::2] = -K
    keys[row, 2 * cell], keys[row, 2 * cell + 1] = -votes.indices, votes.data
    _, first, counts = np.unique(keys, axis=0, return_index=True, return_counts=True)
    return votes[first], counts, np.arange(len(first))


def _extreme_rows(votes: Any) -> Any:
    """Votes of items that agree on one class, or disagree as much as an item can; sparse, shape (c, K).

    An item has as many ratings as items have on average.
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
    """α of units with random weights and one extreme unit more; two arrays of shape (times,).

    The unit more is the one of `together`'s last rows that lowers α most, then the one that raises it most.
    Items with equal votes share one weight, a gamma variable: the same distribution, and far smaller.

    Parameters
    ----------
    units
        How many units share a weight, shape (U,), and the place of every other row's weight, shape (R,).
    size
        Weight that makes an extreme row as large as a unit is on average.
    """
    counts, place = units
    R, rows = len(place), together.votes.shape[0]
    n = float(together.m[:R] @ counts[place])
    steps = max(1, CELLS // rows)
    reached = [
        together.alphas(_with_unit(np.tile(counts[place], (len(some), 1)), rows, some, size), n)
        for some in np.array_split(np.arange(R, rows), -(-(rows - R) // steps))
    ]
    least = np.round(np.concatenate(reached), 12)  # of units that differ by rounding alone, the first
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
    """Weights with one row more, `one`, in every draw; shape (draws, R) to (draws, rows)."""
    found = np.zeros((len(drawn), rows))
    found[:, : drawn.shape[1]] = drawn
    found[np.arange(len(drawn)), one] = weight
    return found


def category_alphas(votes: Any) -> dict[int, float | None]:
    """α of every class against the rest; None for a class whose ratings are all alike."""
    check_votes(votes)
    kept, _ = _pairable(votes)
    m = kept.sum(axis=1)
    given, n = kept.sum(axis=0).astype(np.float64), float(m.sum())
    own = m[np.repeat(np.arange(len(m)), np.diff(kept.indptr))]
    apart = kept.data * (own - kept.data) / (own - 1)
    observed = np.bincount(kept.indices, weights=apart, minlength=len(given))
    alpha = 1 - (n - 1) * divide(observed, given * (n - given), where=(given > 0) & (given < n))
    return {c: None if np.isnan(a) else float(a) for c, a in enumerate(alpha)}
