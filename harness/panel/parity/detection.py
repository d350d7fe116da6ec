"""Precision, recall and F1 of one class against a vote, with intervals by resampling items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.arrays import BoolArray, FloatArray, IntArray
from harness.panel.parity.clusters import Share
from harness.panel.parity.expected import Expected, expected_scores


@dataclass(frozen=True, slots=True)
class Scores:
    """None where undefined: precision without a claim, recall without a positive, F1 without either."""

    precision: Share | None
    recall: Share | None
    f1: Share | None


@dataclass(frozen=True, slots=True)
class Detection:
    """Of human and model on the same rows.

    Attributes
    ----------
    positive
        Share of positive references.
    expected
        Of an expert who draws from the votes: mean certainty and this share of positives.
    delta_f1
        Human − model; None where either is undefined.
    """

    positive: float
    expected: Expected
    human: Scores
    model: Scores
    delta_f1: Share | None


def detection(
    reference: FloatArray,
    human: BoolArray,
    model: BoolArray,
    item: IntArray,
    level: float,
    bootstrap: int,
    seed: int,
    p_d: float,
) -> Detection:
    """Count and resample.

    Parameters
    ----------
    reference
        Shape (rows,): weight of the positive class in the reference, in [0, 1].
    human, model
        Shape (rows,): whether each said positive.
    item
        Shape (rows,): cluster 0, 1, …
    p_d
        Mean certainty, for `expected`.
    """
    sums = np.stack(
        [
            np.bincount(item, weights=w)
            for said in (human, model)
            for w in (said * reference, said * (1 - reference), ~said * reference)
        ],
        axis=1,
    )
    rng = np.random.default_rng(seed)
    k = len(sums)
    resampled = np.stack([rng.multinomial(k, np.full(k, 1 / k)) @ sums for _ in range(bootstrap)])
    point, draws = _scores(sums.sum(axis=0)[None]), _scores(resampled)
    tail = (1 - level) / 2

    def made(values: FloatArray, drawn: FloatArray) -> Share | None:
        if np.isnan(values[0]) or np.isnan(drawn).mean() > 0.5:
            return None
        low, high = np.nanquantile(drawn, [tail, 1 - tail])
        return Share(float(values[0]), float(low), float(high))

    people, machine = (
        Scores(*(made(p, d) for p, d in zip(point[who], draws[who], strict=True))) for who in (0, 1)
    )
    positive = float(reference.mean())
    delta = made(point[0][2] - point[1][2], draws[0][2] - draws[1][2])
    return Detection(positive, expected_scores(p_d, positive), people, machine, delta)


def _scores(sums: FloatArray) -> tuple[tuple[FloatArray, FloatArray, FloatArray], ...]:
    """(precision, recall, F1) of human and model from columns (TP, FP, FN) × 2; nan where 0/0."""
    found = []
    for first in (0, 3):
        tp, fp, fn = sums[:, first], sums[:, first + 1], sums[:, first + 2]
        found.append((_ratio(tp, tp + fp), _ratio(tp, tp + fn), _ratio(2 * tp, 2 * tp + fp + fn)))
    return tuple(found)


def _ratio(over: FloatArray, under: FloatArray) -> FloatArray:
    ratio: FloatArray = np.full(over.shape, np.nan)
    np.divide(over, under, out=ratio, where=under > 0)
    return ratio
