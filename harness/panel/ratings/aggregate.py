"""Annotators' labels of an item made into one: by plurality, weighted, or by learned reliability."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray, divide
from oversight.harness.errors import EstimateError
from oversight.harness.panel.ratings.dawid_skene import fit_dawid_skene
from oversight.harness.panel.ratings.panel import Panel

AGGREGATES = ("plurality", "weighted", "dawid-skene")
TIE = 1e-9
"""Scores this close tie: weights are floats, and thirds do not add up to one."""


def plurality(scores: IntArray | FloatArray) -> BoolArray:
    """Classes with the most votes, shape (N, K); several in a row where they tie, none without votes."""
    best = scores.max(axis=1, keepdims=True)
    winners: BoolArray = (scores >= best - TIE * np.maximum(1, np.abs(best))) & (best > 0)
    return winners


def agreement_with(winners: BoolArray, predicted: IntArray) -> FloatArray:
    """P(the aggregate, ties broken at random, is the prediction); shape (N,), nan without a vote.

    1/(number tied) if the prediction is among the tied, else 0. A lowest-class rule would favour
    models that share the bias; a coin adds noise; this is its expectation. An unreadable
    prediction (negative) agrees with nothing.
    """
    if predicted.shape != (len(winners),):
        raise EstimateError(f"predicted must have shape ({len(winners)},), has {predicted.shape}")
    tied = winners.sum(axis=1)
    named = np.maximum(predicted, 0)
    hit = winners[np.arange(len(winners)), named] & (predicted >= 0)
    return divide(hit, tied, where=tied > 0)


def weighted_votes(panel: Panel, weights: Mapping[str, float]) -> FloatArray:
    """Σ over an item's annotators of their weight, by the class they chose; shape (N, K).

    Raises
    ------
    EstimateError
        If an annotator has no weight, or a weight is negative or not finite.
    """
    for name in panel.annotators:
        weight = weights.get(name)
        if weight is None or not np.isfinite(weight) or weight < 0:
            raise EstimateError(f"weights: annotator {name!r} needs a number of at least 0, has {weight}")
    by_row = np.array([weights[name] for name in panel.annotators])[panel.annotator]
    total = np.zeros((len(panel.items), panel.K))
    np.add.at(total, (panel.item, panel.label), by_row)
    return total


def aggregate_votes(panel: Panel, how: str, weights: Mapping[str, float] | None = None) -> BoolArray:
    """Winning classes of every item, shape (N, K).

    Raises
    ------
    ConfigError
        If the library of a learned aggregate is not installed.
    EstimateError
        If `how` is unknown, or weights are missing.
    """
    if how == "plurality":
        return plurality(panel.votes())
    if how == "weighted":
        return plurality(weighted_votes(panel, weights or {}))
    if how == "dawid-skene":
        return plurality(fit_dawid_skene(panel.item, panel.annotator, panel.label, panel.K))
    raise EstimateError(f"aggregate must be one of {', '.join(AGGREGATES)}, is {how!r}")
