"""Per-item scores on the accuracy scale from answers and expert labels, for many candidates at once.

Every estimator is written as a score per item whose mean over the items is the estimate. So candidates can be
compared item by item, and the spread of the differences of their scores gives the standard error.

==============  ======================================================================================
``ml``          Â_ML plus the item's influence u_i(Â)·n/I(Â) on Â_ML. Here u_i is the item's derivative
                of the log-likelihood, and I is the Fisher information of all n items. The mean is Â_ML, and
                the spread gives its standard error. If Â_ML is 0, the mean is one scoring step instead, which
                may be negative, because estimates truncated at 0 would be too high on average for a bad
                archive
``transformed`` with a yes: 1{ŷ = y}; with m refused options: 1 − (K − 1)/m · 1{ŷ refused}. This is the
                published transform (K − 1)q − (K − 2), item by item
``raw``         1{ŷ not refused}, only for items with refused options; not on the accuracy scale
``outcome``     ``transformed`` without weights, for comparisons on single items
==============  ======================================================================================

An unreadable answer scores 0; in ``raw``, it scores (K − 2)/(K − 1), which corresponds to accuracy 0. It must
not be scored like a readable answer that differs from the refused option, because it is wrong. A failed or
missing answer scores NaN and is left out. Items whose options were drawn with unequal propensities are scored
by the doubly robust outcome of `oversight.harness.estimate.routed_means`. Items with different K are separate
samples, weighted by their numbers of items.

If experts answered a smaller share of the questions about some classes, items have different weights
(`ExpertLabels.weight`). With weights w of mean 1, the estimate m comes from the weighted likelihood or mean,
and an item with score s gets m + w(s − m). So the mean of the scores is still the estimate, and their spread
gives its standard error.
Sources: "Towards Scalable Oversight via Partitioned Human Supervision", Eq. 2 and 9; the influence form is
the delta method, u_i from (★) in `oversight.harness.estimate.estimators`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from oversight.agents.search.fitness.expert_labels import ExpertLabels
from oversight.harness import FAILED, UNREADABLE, BoolArray, EstimateError, FloatArray, IntArray
from oversight.harness.estimate import (
    BinomialSample,
    accuracy_target,
    crossfitted_posterior,
    maximum_likelihood,
    pseudo_outcomes,
)

IMAGINARY = 2
"""Number of imaginary checked answers, half of them right, that are added before the influence is computed.
Without them, the standard error of a candidate without a right answer would be almost zero."""
OUTCOME = "outcome"
_PARTS = 1_000_000
"""Factor that turns weighted counts of items into whole numbers, because samples have whole counts."""


def score_items(
    answers: IntArray, labelled: ExpertLabels, estimator: str = "ml", voters: IntArray | None = None
) -> FloatArray:
    """Score every candidate on every item, shape (M, n); NaN if an item or answer cannot be scored.

    Parameters
    ----------
    answers
        Indices of the chosen options, `UNREADABLE` or `FAILED`, shape (M, n).
    labelled
        Experts' labels of the n items.
    estimator
        A name of `ESTIMATORS`.
    voters
        Answers of all candidates, if `answers` contains only some candidates. Routed items, whose options
        were drawn with unequal propensities, are scored with the votes of all candidates.

    Raises
    ------
    EstimateError
        If the estimator is unknown, or an answer is not one of the item's options.
    NotIdentified
        If labels of routed items cannot score a candidate (see `oversight.harness.estimate.routed_means`).
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
    """Return the candidates' scores on the items at `columns`.

    All these items have K options, and the options asked about were drawn uniformly.
    """
    refused = labelled.refused[columns]
    settled = labelled.truth[columns] >= 0
    readable = y >= 0
    hit = settled & (y == labelled.truth[columns])
    wrong = readable & np.where(settled, ~hit, refused[np.arange(len(columns)), np.maximum(y, 0)])
    effective = 1 + 1 / labelled.ruled_out[columns]
    weight = labelled.weight[columns]
    scores = ESTIMATORS[estimator](readable, readable & ~wrong, effective, weight)
    nothing = (K - 2) / (K - 1) if estimator == "raw" else 0.0
    scores = np.where(y == UNREADABLE, nothing, scores)
    scores = np.where((y == FAILED) | (settled & (estimator == "raw")), np.nan, scores)
    return scores if estimator == OUTCOME or _is_even(weight) else _spread_weights(scores, weight)


def _is_even(weight: FloatArray) -> bool:
    return bool((weight == weight[0]).all())


def _spread_weights(scores: FloatArray, weight: FloatArray) -> FloatArray:
    """Return m + w(s − m) for every score s; NaN is kept.

    w is the item's weight, and m the candidate's weighted mean score. The plain mean of the results is m.
    """
    known = ~np.isnan(scores)
    total = np.where(known.any(axis=1), known @ weight, 1.0)[:, None]
    mean = np.nansum(weight * scores, axis=1, keepdims=True) / total
    found: FloatArray = mean + weight * known.sum(axis=1, keepdims=True) / total * (scores - mean)
    return found


def _count(these: BoolArray, weight: FloatArray) -> IntArray:
    """Count each candidate's items; if weights are unequal, sum the items' weights in millionths instead."""
    number: IntArray = these.sum(axis=1)
    if not _is_even(weight):
        number = np.rint(_PARTS * (these @ weight)).astype(np.int64)
    return number


def _likelihood(
    readable: BoolArray, avoided: BoolArray, effective: FloatArray, weight: FloatArray
) -> FloatArray:
    """Return each candidate's estimate Â_ML plus each item's influence on this estimate, shape (M, n)."""
    groups = np.unique(effective)
    whole = 1 if _is_even(weight) else _PARTS
    n = np.stack([_count(readable & (effective == g), weight) for g in groups], axis=1)
    S = np.stack([_count(avoided & (effective == g), weight) for g in groups], axis=1)
    imagined = BinomialSample(2, IMAGINARY * whole, IMAGINARY * whole // 2)
    total = np.maximum(n.sum(axis=1), 1)
    A: FloatArray = np.zeros(len(readable))
    at: FloatArray = np.full((len(readable), 1), 0.5)
    for j in np.flatnonzero(n.sum(axis=1)):
        counts = zip(groups.tolist(), n[j].tolist(), S[j].tolist(), strict=True)
        parts = tuple(BinomialSample(g, m, hits) for g, m, hits in counts)
        A[j] = maximum_likelihood(parts)
        at[j] = maximum_likelihood((*parts, imagined))
    slope = np.where(avoided, 1 / (at + effective - 2), -1 / (1 - at))
    slope = np.where(readable, slope, 0.0)
    share = slope if whole == 1 else whole * weight * slope
    information = (n / ((at + groups - 2) * (1 - at))).sum(axis=1, keepdims=True)
    score = share.sum(axis=1)
    step = np.divide(score, information[:, 0], out=np.zeros_like(score), where=information[:, 0] > 0)
    A = np.where((A <= 0) & (total > 0), np.minimum(0.0, at[:, 0] + step), A)
    centred = slope - share.sum(axis=1, keepdims=True) / total[:, None]
    scale = np.divide(total[:, None], information, out=np.zeros_like(at), where=information > 0)
    scores: FloatArray = A[:, None] + centred * scale
    return scores


def _transformed(readable: BoolArray, avoided: BoolArray, effective: FloatArray, _: FloatArray) -> FloatArray:
    return np.where(avoided, 1.0, 2.0 - effective) * readable


def _raw(readable: BoolArray, avoided: BoolArray, _: FloatArray, __: FloatArray) -> FloatArray:
    return (avoided & readable).astype(np.float64)


def _routed(
    y: IntArray, labelled: ExpertLabels, columns: IntArray, estimator: str, votes: IntArray
) -> FloatArray:
    """Return doubly robust scores; the true options are predicted by candidates that answered all items."""
    if estimator == "raw":
        raise EstimateError(
            "the estimator 'raw' is not defined for options drawn with unequal propensities; use 'ml'"
        )
    data = labelled.routed_data(columns)
    complete = (votes != FAILED).all(axis=1)
    if complete.any():
        data = replace(data, posterior=crossfitted_posterior(votes[complete].T, data))
    width = data.propensities.shape[1]
    rows = [pseudo_outcomes(accuracy_target(np.maximum(row, UNREADABLE), width), data) for row in y]
    return np.where(y == FAILED, np.nan, np.array(rows))


ESTIMATORS: dict[str, Callable[[BoolArray, BoolArray, FloatArray, FloatArray], FloatArray]] = {
    "ml": _likelihood,
    "transformed": _transformed,
    "raw": _raw,
    OUTCOME: _transformed,
}
