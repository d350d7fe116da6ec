"""Answers and expert labels become per-item scores on the accuracy scale, many candidates at once.

Candidates are ranked by means of these scores, compared by means of their differences, item by item,
and told apart by the spread of those differences. So every estimator is written as one: a score per
item whose mean over the items *is* the estimate.

==============  ======================================================================================
``ml``          Â_ML plus the item's influence on it, u_i(Â)·n/I(Â), u_i the item's part of the
                likelihood's slope: the mean is Â_ML, the spread its standard error. Where Â_ML is 0 the
                mean is one step of scoring, which may be negative: many estimates cut off at 0 would be
                too high on average, and so would all of a bad archive
``transformed`` yes: 1{ŷ = y}; m refused options: 1 − (K − 1)/m · 1{ŷ refused}. The published transform
                (K − 1)q − (K − 2), item by item
``ivw``         the same, weighted by the plug-in weight of Eq. 7 of the two samples
``raw``         refused options only: 1{ŷ not refused}, which is not on the accuracy scale
==============  ======================================================================================

An unreadable answer scores 0 (in ``raw`` (K − 2)/(K − 1), the same point of its scale): comparing
texts, ŷ ≠ ȳ, would pay for saying nothing. A failed or missing one scores NaN and is left out. Items
whose option was drawn with other than uniform propensities score by the doubly robust outcome of
`harness.estimate.routed.doubly_robust`. Items of different K are separate samples, weighted by their number.
Sources: "Scalable Oversight via Partitioned Human Supervision", Eq. 2, 7 and 9; the influence form is
the delta method, u_i from (★) in `harness.estimate.estimators.likelihood`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from agents.search.fitness.expert_labels import ExpertLabels
from harness import FAILED, UNREADABLE, BoolArray, EstimateError, FloatArray, IntArray
from harness.estimate import (
    BinomialSample,
    accuracy_target,
    crossfitted_posterior,
    maximum_likelihood,
    plugin_weight,
    pseudo_outcomes,
    varies,
)

ONE_EACH_WAY = BinomialSample(2, 2, 1)
"""Two imaginary checked answers, one right, one wrong: where the influence is taken. At the estimate
itself a candidate without a single hit would seem known almost without error."""


def score_items(
    answers: IntArray, labelled: ExpertLabels, estimator: str = "ml", voters: IntArray | None = None
) -> FloatArray:
    """Score every candidate on every item, shape (M, n); NaN where there is nothing to score.

    Parameters
    ----------
    answers
        Shape (M, n): the option answered, from 0, `UNREADABLE` or `FAILED`.
    labelled
        What experts said about the n items.
    estimator
        A name of `ESTIMATORS`.
    voters
        Answers of all candidates, where these are those of some: routed answers are scored by all votes.

    Raises
    ------
    EstimateError
        If the estimator is unknown, or an answer is not one of the item's options.
    NotIdentified
        If routed answers cannot score a candidate (see `harness.estimate.routed.doubly_robust`).
    """
    if estimator not in ESTIMATORS:
        raise EstimateError(f"fitness must be one of {', '.join(ESTIMATORS)}, is {estimator!r}")
    bad = np.argwhere((answers < FAILED) | (answers >= labelled.n_options))
    if bad.size:
        j, i = (int(x) for x in bad[0])
        raise EstimateError(
            f"answers[{j}]: option must lie in 0..{labelled.n_options[i] - 1} for item "
            f"{labelled.items[i]!r}, is {answers[j, i]}"
        )
    scores = np.full(answers.shape, np.nan)
    uniform = labelled.answered & ~labelled.routed
    for K in np.unique(labelled.n_options[uniform]):
        columns = np.flatnonzero(uniform & (labelled.n_options == K))
        scores[:, columns] = _stratum(answers[:, columns], labelled, columns, int(K), estimator)
    if labelled.routed.any():
        columns = np.flatnonzero(labelled.routed)
        votes = (answers if voters is None else voters)[:, columns]
        scores[:, columns] = _routed(answers[:, columns], labelled, columns, estimator, votes)
    return scores


def _stratum(y: IntArray, labelled: ExpertLabels, columns: IntArray, K: int, estimator: str) -> FloatArray:
    """Scores on items of one K whose options were drawn uniformly."""
    refused = labelled.refused[columns]
    settled = labelled.truth[columns] >= 0
    readable = y >= 0
    hit = settled & (y == labelled.truth[columns])
    wrong = readable & np.where(settled, ~hit, refused[np.arange(len(columns)), np.maximum(y, 0)])
    effective = 1 + 1 / labelled.ruled_out[columns]
    scores = ESTIMATORS[estimator](readable, readable & ~wrong, effective)
    nothing = (K - 2) / (K - 1) if estimator == "raw" else 0.0
    scores = np.where(y == UNREADABLE, nothing, scores)
    return np.where((y == FAILED) | (settled & (estimator == "raw")), np.nan, scores)


def _likelihood(readable: BoolArray, avoided: BoolArray, effective: FloatArray) -> FloatArray:
    """Â_ML of every candidate's readable answers plus each item's influence on it."""
    groups = np.unique(effective)
    n = np.stack([(readable & (effective == g)).sum(axis=1) for g in groups], axis=1)
    S = np.stack([(avoided & (effective == g)).sum(axis=1) for g in groups], axis=1)
    total = np.maximum(n.sum(axis=1), 1)
    A: FloatArray = np.zeros(len(readable))
    at: FloatArray = np.full((len(readable), 1), 0.5)
    for j in np.flatnonzero(n.sum(axis=1)):
        counts = zip(groups.tolist(), n[j].tolist(), S[j].tolist(), strict=True)
        parts = tuple(BinomialSample(g, m, hits) for g, m, hits in counts)
        A[j] = maximum_likelihood(parts)
        at[j] = maximum_likelihood((*parts, ONE_EACH_WAY))
    slope = np.where(avoided, 1 / (at + effective - 2), -1 / (1 - at))
    slope = np.where(readable, slope, 0.0)
    information = (n / ((at + groups - 2) * (1 - at))).sum(axis=1, keepdims=True)
    score = slope.sum(axis=1)
    step = np.divide(score, information[:, 0], out=np.zeros_like(score), where=information[:, 0] > 0)
    A = np.where((A <= 0) & (total > 0), np.minimum(0.0, at[:, 0] + step), A)
    centred = slope - slope.sum(axis=1, keepdims=True) / total[:, None]
    scale = np.divide(total[:, None], information, out=np.zeros_like(at), where=information > 0)
    scores: FloatArray = A[:, None] + centred * scale
    return scores


def _transformed(readable: BoolArray, avoided: BoolArray, effective: FloatArray) -> FloatArray:
    return np.where(avoided, 1.0, 2.0 - effective) * readable


def _raw(readable: BoolArray, avoided: BoolArray, _: FloatArray) -> FloatArray:
    return (avoided & readable).astype(np.float64)


def _weighted(readable: BoolArray, avoided: BoolArray, effective: FloatArray) -> FloatArray:
    """The transform with every candidate's own plug-in weight on its two samples."""
    plain = _transformed(readable, avoided, effective)
    ordinary = effective == 2
    n_o, n_c = (readable & ordinary).sum(axis=1), (readable & ~ordinary).sum(axis=1)
    S_o, S_c = (avoided & ordinary).sum(axis=1), (avoided & ~ordinary).sum(axis=1)
    K = float(effective.max())
    weight = np.ones_like(plain)
    for j in np.flatnonzero((n_o > 0) & (n_c > 0)):
        counts = int(S_o[j]), int(n_o[j]), int(S_c[j]), int(n_c[j])
        # Eq. 7 as published: a sample that does not vary takes all the weight; ½ if neither does.
        w = plugin_weight(K, *counts) if varies(*counts[:2]) or varies(*counts[2:]) else 0.5
        n = n_o[j] + n_c[j]
        weight[j] = np.where(ordinary, w * n / n_o[j], (1 - w) * n / n_c[j])
    return plain * weight


def _routed(
    y: IntArray, labelled: ExpertLabels, columns: IntArray, estimator: str, votes: IntArray
) -> FloatArray:
    """Doubly robust outcomes; the votes of the candidates that answered all items make the posterior."""
    if estimator == "raw":
        raise EstimateError("raw q is not defined for options drawn with unequal propensities; use ml")
    data = labelled.routed_data(columns)
    complete = (votes != FAILED).all(axis=1)
    if complete.any():
        data = replace(data, posterior=crossfitted_posterior(votes[complete].T, data))
    width = data.propensities.shape[1]
    rows = [pseudo_outcomes(accuracy_target(np.maximum(row, UNREADABLE), width), data) for row in y]
    return np.where(y == FAILED, np.nan, np.array(rows))


ESTIMATORS: dict[str, Callable[[BoolArray, BoolArray, FloatArray], FloatArray]] = {
    "ml": _likelihood,
    "transformed": _transformed,
    "ivw": _weighted,
    "raw": _raw,
}
