"""Agreement beyond chance by other rules of chance: Fleiss' κ, Gwet's AC1, Cohen's κ between two.

(p_a − p_e)/(1 − p_e) each, with p_a the share of agreeing pairs. They differ in p_e, and where one
class dominates they differ a lot: AC1 stays high, κ and α fall.

Sources: Cohen 1960 (Educ. Psychol. Meas. 20); Fleiss 1971 (Psychol. Bull. 76); Gwet 2008 (Br. J.
Math. Stat. Psychol. 61), and the "Handbook of Inter-Rater Reliability" (4th ed.) for missing ratings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from harness.arrays import BoolArray, FloatArray, IntArray, divide
from harness.errors import EstimateError, NotIdentified
from harness.estimate import check_rows
from harness.panel.ratings import Panel, check_votes


def pair_agreement(votes: IntArray) -> FloatArray:
    """X_n = Σ_c v_nc(v_nc − 1)/(m_n(m_n − 1)): agreeing share of an item's pairs; nan below 2 votes."""
    m = votes.sum(axis=1).astype(np.float64)
    pairs = (votes * (votes - 1)).sum(axis=1).astype(np.float64)
    return divide(pairs, m * (m - 1), where=m >= 2)


def class_shares(votes: IntArray) -> FloatArray:
    """π_c: mean over items with a rating of v_nc/m_n; shape (K,)."""
    m = votes.sum(axis=1)
    shares: FloatArray = (votes[m > 0] / m[m > 0, None]).mean(axis=0)
    return shares


def fleiss_kappa(votes: IntArray) -> float:
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


def gwet_ac1(votes: IntArray) -> float:
    """AC1 = (p_a − p_e)/(1 − p_e) with p_e = Σ π_c(1 − π_c)/(K − 1); K counts all classes offered.

    Defined even where all ratings are alike (p_e = 0, AC1 = 1).
    """
    check_votes(votes)
    shares = class_shares(votes)
    chance = float((shares * (1 - shares)).sum()) / (votes.shape[1] - 1)
    return beyond_chance(float(np.nanmean(pair_agreement(votes))), chance, "AC1")


def cohen_kappa(first: ArrayLike, second: ArrayLike, K: int) -> float:
    """κ of two annotators on the same items, p_e = Σ_c p_1c p_2c from each one's own shares.

    Parameters
    ----------
    first, second
        Shape (n ≥ 1,): classes 0..K−1; items either left out are dropped before.

    Raises
    ------
    EstimateError
        If lengths differ, are 0, or a class is out of range.
    NotIdentified
        If both always gave the same one class.
    """
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    if a.shape != b.shape or a.ndim != 1 or len(a) == 0:
        raise EstimateError(
            f"first and second must have one equal length of at least 1, have {a.shape}, {b.shape}"
        )
    for name, values in (("first", a), ("second", b)):
        check_rows(name, values, (values >= 0) & (values < K), f"lie in 0..{K - 1}")
    p, q = (np.bincount(x, minlength=K) / len(a) for x in (a, b))
    return beyond_chance(float((a == b).mean()), float(p @ q), "Cohen's kappa")


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
    """Agreement and Cohen's κ of all pairs, by sparse products, a class at a time."""
    shape = (len(panel.annotators), len(panel.items))
    ones = np.ones(len(panel.item))

    def rated(rows: BoolArray) -> sparse.csr_array:
        return sparse.csr_array((ones[rows], (panel.annotator[rows], panel.item[rows])), shape=shape)

    anything = rated(np.ones(len(panel.item), dtype=bool))
    common = (anything @ anything.T).toarray()
    agree, chance = np.zeros_like(common), np.zeros_like(common)
    for c in range(panel.K):
        own = rated(panel.label == c)
        agree += (own @ own.T).toarray()
        given = (own @ anything.T).toarray()
        chance += given * given.T
    share = divide(agree, common, where=common > 0)
    p_e = divide(chance, common**2, where=common > 0)
    kappa = divide(share - p_e, 1 - p_e, where=(common > 0) & (p_e < 1 - 1e-12))
    return Pairwise(annotators=panel.annotators, common=common.astype(np.int64), agreement=share, kappa=kappa)
