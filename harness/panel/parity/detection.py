"""Precision, recall and F1 of one class against a vote, with intervals by resampling items or clusters.

They stand beside the scores to expect of an expert, if truth is what most experts say with probability p_d.
Source: "The Illusion of Human–AI Parity Under Uncertainty" (arXiv 2601.05500), equations 1, 2, 7–9.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from harness.arrays import FloatArray, IntArray, divide
from harness.estimate import binomial_at_least, check_least, check_unit
from harness.panel.parity.clustered_shares import Share
from harness.panel.ratings import Judgements, resampled_interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Scores of one who gives the majority label with probability p_d, whatever the class."""

    accuracy: float
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """None where undefined: precision without a claim, recall without a positive, F1 without either."""

    precision: Share | None
    recall: Share | None
    f1: Share | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """Scores of human and model on the same rows.

    Attributes
    ----------
    positive
        Share of positive references.
    expected
        Scores of an expert who draws from the votes: mean certainty and this share of positives.
    delta_f1
        Human − model; None where either is undefined.
    """

    positive: float
    expected: Expected
    human: Scores
    model: Scores
    delta_f1: Share | None


def measure_detection(
    rows: Judgements,
    unit: IntArray,
    target: int,
    *,
    clusters: int | None,
    level: float,
    bootstrap: int,
    seed: int,
) -> Detection:
    """Count who said the class `target`, by unit, and resample the units.

    Parameters
    ----------
    unit
        Shape (rows,): number 0..k−1 of the independent unit that a row belongs to, its item or cluster.
    clusters
        Number of clusters; None where units are items.
    """
    reference = rows.reference[:, target]
    sums = np.stack(
        [
            np.bincount(unit, weights=w)
            for said in (rows.human == target, rows.model == target)
            for w in (said * reference, said * (1 - reference), ~said * reference)
        ],
        axis=1,
    )
    rng = np.random.default_rng(seed)
    k = len(sums)
    resampled = np.stack([rng.multinomial(k, np.full(k, 1 / k)) @ sums for _ in range(bootstrap)])
    (point,), draws = _scores(sums.sum(axis=0)), _scores(resampled)

    def make_share(value: float, drawn: FloatArray, least: float = 0.0) -> Share | None:
        if np.isnan(value) or np.isnan(drawn).mean() > 0.5:
            return None
        low, high = resampled_interval(float(value), drawn, level, clusters, least)
        return Share(value=float(value), low=low, high=high)

    def make_scores(who: int) -> Scores:
        precision, recall, f1 = (make_share(point[who, s], draws[:, who, s]) for s in range(3))
        return Scores(precision=precision, recall=recall, f1=f1)

    positive = float(reference.mean())
    return Detection(
        positive=positive,
        expected=expected_scores(float(rows.p_d.mean()), positive),
        human=make_scores(0),
        model=make_scores(1),
        delta_f1=make_share(point[0, 2] - point[1, 2], draws[:, 0, 2] - draws[:, 1, 2], -1.0),
    )


def _scores(sums: FloatArray) -> FloatArray:
    """(precision, recall, F1) of human and model, shape (rows, 2, 3); nan where 0/0.

    From the columns TP, FP and FN of either, shape (rows, 6).
    """
    tp, fp, fn = np.moveaxis(sums.reshape(-1, 2, 3), -1, 0)
    over = np.stack([tp, tp, 2 * tp], axis=-1)
    under = np.stack([tp + fp, tp + fn, 2 * tp + fp + fn], axis=-1)
    return divide(over, under, where=under > 0)


def expected_scores(p_d: float, positive: float) -> Expected:
    """E: accuracy p, recall p, precision m p/(m p + (1 − m)(1 − p)), F1 from the last two.

    Parameters
    ----------
    p_d
        In [0, 1].
    positive
        m, share of positive items, in [0, 1].

    Raises
    ------
    EstimateError
        If an argument leaves [0, 1].

    Examples
    --------
    >>> round(expected_scores(0.9, 0.01).f1, 4)
    0.1525
    """
    check_unit("p_d", p_d)
    check_unit("positive", positive)
    found = positive * p_d
    claimed = found + (1 - positive) * (1 - p_d)
    precision = found / claimed if claimed > 0 else 0.0
    f1 = 2 * precision * p_d / (precision + p_d) if precision + p_d > 0 else 0.0
    return Expected(accuracy=p_d, precision=precision, recall=p_d, f1=f1)


def probability_at_least(p_d: float, n: int, threshold: float = 0.8) -> float:
    """P(accuracy on n items ≥ threshold) = P(Bin(n, p_d) ≥ ⌈threshold · n⌉).

    Raises
    ------
    EstimateError
        If n < 1, or p_d or the threshold leaves [0, 1].
    """
    check_least("n", n, 1)
    check_unit("p_d", p_d)
    check_unit("threshold", threshold)
    return binomial_at_least(ceil(threshold * n - 1e-9), n, p_d)
