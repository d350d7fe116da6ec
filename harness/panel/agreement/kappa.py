"""Agreement beyond chance by other rules of chance: Fleiss' κ, Gwet's AC1, Cohen's κ between two.

(p_a − p_e)/(1 − p_e) each, with p_a the share of agreeing pairs. They differ in p_e, and where one
class dominates they differ a lot: AC1 stays high, κ and α fall.

Sources: Cohen 1960 (Educ. Psychol. Meas. 20); Fleiss 1971 (Psychol. Bull. 76); Gwet 2008 (Br. J.
Math. Stat. Psychol. 61), and the "Handbook of Inter-Rater Reliability" (4th ed.) for missing ratings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from oversight.harness.arrays import FloatArray, IntArray, divide
from oversight.harness.errors import NotIdentified
from oversight.harness.panel.agreement.disagreement import CELLS
from oversight.harness.panel.ratings import Panel, check_votes


def pair_agreement(votes: Any) -> FloatArray:
    """X_n = Σ_c v_nc(v_nc − 1)/(m_n(m_n − 1)): agreeing share of an item's pairs; nan below 2 votes."""
    votes = sparse.csr_array(votes)
    m = votes.sum(axis=1).astype(np.float64)
    pairs = votes.multiply(votes).sum(axis=1) - m
    return divide(pairs, m * (m - 1), where=m >= 2)


def class_shares(votes: Any) -> FloatArray:
    """π_c: mean over items with a rating of v_nc/m_n; shape (K,)."""
    votes = sparse.csr_array(votes)
    m = votes.sum(axis=1)
    shares: FloatArray = votes.T @ divide(1.0, m, where=m > 0, empty=0.0) / int((m > 0).sum())
    return shares


def fleiss_kappa(votes: Any) -> float:
    """κ = (p_a − p_e)/(1 − p_e) with p_a the mean of X_n and p_e = Σ π_c².

    Fleiss' own where every item has as many ratings; with unequal numbers Gwet's generalisation:
    p_a over items with two or more, π over items with one or more.

    Raises
    ------
    NotIdentified
        If all ratings are alike: 0/0, decided as for α.
    """
    check_votes(votes)
    shares = class_shares(votes)
    return beyond_chance(float(np.nanmean(pair_agreement(votes))), float((shares**2).sum()), "Fleiss' kappa")


def gwet_ac1(votes: Any) -> float:
    """AC1 = (p_a − p_e)/(1 − p_e) with p_e = Σ π_c(1 − π_c)/(K − 1); K counts all classes offered.

    Defined even where all ratings are alike (p_e = 0, AC1 = 1).
    """
    check_votes(votes)
    shares = class_shares(votes)
    chance = float((shares * (1 - shares)).sum()) / (votes.shape[1] - 1)
    return beyond_chance(float(np.nanmean(pair_agreement(votes))), chance, "AC1")


def beyond_chance(observed: float, chance: float, name: str) -> float:
    """(p_a − p_e)/(1 − p_e).

    Raises
    ------
    NotIdentified
        If p_e = 1.
    """
    if chance >= 1 - 1e-12:
        raise NotIdentified(f"all ratings are alike: agreement by chance is 1, {name} is 0/0")
    return (observed - chance) / (1 - chance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairwise:
    """Every two annotators on the items both rated; arrays of shape (annotators, annotators).

    Attributes
    ----------
    common
        Items both rated.
    agreement
        Share of them on which they agree; nan where there is none.
    kappa
        Cohen's κ; nan where undefined.
    """

    annotators: tuple[str, ...]
    common: IntArray
    agreement: FloatArray
    kappa: FloatArray


def pairwise(panel: Panel) -> Pairwise:
    """Agreement and Cohen's κ of all pairs, by sparse products."""
    A, ones = len(panel.annotators), np.ones(len(panel.item))
    said = np.unique(panel.item * panel.K + panel.label, return_inverse=True)[1]
    rated = sparse.csr_array((ones, (panel.annotator, panel.item)), shape=(A, len(panel.items)))
    alike = sparse.csr_array((ones, (panel.annotator, said)))
    common, agree = (rated @ rated.T).toarray(), (alike @ alike.T).toarray()
    chance = np.zeros_like(common)
    for rows in _split_by_class(panel):
        chance += _chance(panel, rows, rated)
    share = divide(agree, common, where=common > 0)
    p_e = divide(chance, common**2, where=common > 0)
    kappa = divide(share - p_e, 1 - p_e, where=(common > 0) & (p_e < 1 - 1e-12))
    return Pairwise(annotators=panel.annotators, common=common.astype(np.int64), agreement=share, kappa=kappa)


def _split_by_class(panel: Panel) -> Iterator[IntArray]:
    """Rows of some classes each, so many that `_chance` stays within `CELLS` where there are several."""
    A, m = len(panel.annotators), np.bincount(panel.item)
    cells = np.minimum(A * A, np.bincount(panel.label, weights=m[panel.item], minlength=panel.K))
    part = (np.cumsum(cells) // CELLS)[panel.label]
    order = np.argsort(part, kind="stable")
    return iter(np.split(order, np.flatnonzero(np.diff(part[order])) + 1))


def _chance(panel: Panel, rows: IntArray, rated: Any) -> FloatArray:
    """Σ_c of how often a gave class c times how often b did, on their common items; of the rows' classes."""
    A, label, annotator = len(panel.annotators), panel.label[rows], panel.annotator[rows]
    kinds, label = np.unique(label, return_inverse=True)
    shape = (A * len(kinds), len(panel.items))
    gave = sparse.csr_array((np.ones(len(rows)), (annotator * len(kinds) + label, panel.item[rows])), shape)
    given = (gave @ rated.T).tocoo()
    if 4 * given.nnz > A * A * len(kinds):  # twice as fast where most pairs have such items
        dense = given.toarray().reshape(A, len(kinds), A)
        return np.asarray(np.einsum("acb,bca->ab", dense, dense))
    a, c = np.divmod(given.coords[0].astype(np.int64), len(kinds))
    b = given.coords[1]
    sides = (
        sparse.csr_array((given.data, (pair, c)), (A * A, len(kinds))) for pair in (a * A + b, b * A + a)
    )
    first, second = sides
    total: FloatArray = first.multiply(second).sum(axis=1)
    return total.reshape(A, A)
