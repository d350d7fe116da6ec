"""Certainty p_d of an item's label, which is the vote share of its most frequent class, and bins of p_d.

A rater is scored by the majority label, and items are put in bins by certainty. If the majority and the bins
include the rater's own vote, the rater has an advantage over a model: at p_d → 1, every rater is right by
construction. `leave_rater_out` removes the rater's vote from the majority and the certainty with which rater
and model are scored. If only one vote is left, p_d would be 1 by construction, so it is not measured.

Source: "The Illusion of Human–AI Parity Under Uncertainty" (arXiv 2601.05500), section 2; the
leave-one-out form is this project's.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray, divide
from oversight.harness.errors import EstimateError
from oversight.harness.panel.ratings import Panel, agreement_with, plurality

EDGES = (0.7, 0.9)


def compute_certainty(votes: IntArray) -> FloatArray:
    """Return every item's certainty p_d, the vote share of its most frequent class; shape (N,).

    The certainty of an item without votes is nan.
    """
    m = votes.sum(axis=1)
    return divide(votes.max(axis=1), m, where=m > 0)


def assign_bins(p_d: FloatArray, edges: tuple[float, ...]) -> IntArray:
    """Return the bin of every p_d: b if edges[b−1] < p_d ≤ edges[b]; −1 if p_d is nan.

    Raises
    ------
    EstimateError
        If the edges do not increase or lie outside (0, 1).
    """
    if list(edges) != sorted(set(edges)) or any(not 0 < e < 1 for e in edges):
        raise EstimateError(f"edges must be increasing numbers in (0, 1), are {list(edges)}")
    place = np.searchsorted(np.asarray(edges) + 1e-9, p_d, side="left")
    found: IntArray = np.where(np.isnan(p_d), -1, place).astype(np.int64)
    return found


def bin_names(edges: tuple[float, ...]) -> tuple[str, ...]:
    """Return the names of the bins, for example ``("p ≤ 0.7", "0.7 < p ≤ 0.9", "p > 0.9")``."""
    if not edges:
        return ("all",)
    middle = [f"{low:g} < p ≤ {high:g}" for low, high in pairwise(edges)]
    return (f"p ≤ {edges[0]:g}", *middle, f"p > {edges[-1]:g}")


def split_by_certainty(p_d: FloatArray, edges: tuple[float, ...]) -> dict[str, BoolArray]:
    """Return the names of the non-empty bins, each with a mask of its items (same shape as `p_d`)."""
    place = assign_bins(p_d, edges)
    return {name: place == b for b, name in enumerate(bin_names(edges)) if (place == b).any()}


def stratify_by_certainty(panel: Panel) -> dict[str, str]:
    """Return item → name of the bin of its certainty p_d, the share of votes for its most frequent class.

    Examples
    --------
    >>> from oversight.harness.example_data import example_panel
    >>> panel = example_panel()
    >>> stratify_by_certainty(panel)
    {'a': 'p ≤ 0.7', 'b': 'p > 0.9', 'c': 'p > 0.9', 'd': 'p ≤ 0.7', 'e': 'p > 0.9', 'f': 'p > 0.9'}
    """
    names = bin_names(EDGES)
    bins = assign_bins(compute_certainty(panel.votes()), EDGES)
    return {item: names[b] for item, b in zip(panel.items, bins, strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgements:
    """The choices to be judged, one row per item and human rater; every attribute has one entry per row.

    Attributes
    ----------
    item
        Position of the item.
    p_d
        Certainty of the majority label to which the row's choices are compared; nan if only one annotator
        voted on it.
    reference
        Shape (rows, K): the majority label, as a weight of every class. The weight is 1 for the class with
        most votes, 1/t for each of t tied classes, and 0 for every other class.
    human, model
        Class that the human rater chose, and class that the model chose (negative if its answer is
        unreadable).
    """

    item: IntArray
    p_d: FloatArray
    reference: FloatArray
    human: IntArray
    model: IntArray

    def select(self, rows: BoolArray) -> Judgements:
        """Return the rows that the mask `rows` selects."""
        return Judgements(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})

    def right(self, chosen: IntArray) -> FloatArray:
        """Return each row's P(`chosen` = reference) if ties are broken at random; shape (rows,)."""
        return agreement_with(self.reference > 0, chosen)


def leave_rater_out(
    panel: Panel,
    predicted: IntArray,
    *,
    judged: list[int] | None = None,
    voters: list[int] | None = None,
    circular: bool = False,
) -> Judgements:
    """Return the ratings of all judged annotators, each with the other annotators' vote as its reference.

    Parameters
    ----------
    predicted
        Shape (N,): the model's class of every item; negative if its answer is unreadable.
    judged
        Positions of the annotators that are judged; by default all.
    voters
        Positions of the annotators whose votes form the reference; by default all.
    circular
        Whether to keep the judged annotator's own vote in the reference, as in the paper.

    Raises
    ------
    EstimateError
        If no judged annotator rated an item that another voter also rated.
    """
    everyone = range(len(panel.annotators))
    voting = np.isin(panel.annotator, list(everyone if voters is None else voters))
    rows = np.isin(panel.annotator, list(everyone if judged is None else judged))
    votes = np.zeros((len(panel.items), panel.K), dtype=np.int64)
    np.add.at(votes, (panel.item[voting], panel.label[voting]), 1)
    item, label = panel.item[rows], panel.label[rows]
    by = votes[item]
    if not circular:
        own = voting[rows]
        by[np.flatnonzero(own), label[own]] -= 1
    kept: BoolArray = by.sum(axis=1) > 0
    if not kept.any():
        raise EstimateError("no judged annotator shares an item with another annotator who voted on it")
    winners = plurality(by[kept])
    return Judgements(
        item=item[kept],
        p_d=np.where(by[kept].sum(axis=1) > 1, compute_certainty(by[kept]), np.nan),
        reference=winners / winners.sum(axis=1, keepdims=True),
        human=label[kept],
        model=predicted[item[kept]],
    )
