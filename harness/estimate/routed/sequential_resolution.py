"""Sequential resolution: ask until every model's answer to the item is known right or wrong.

Ask about the predicted options of an item by decreasing posterior until one is confirmed or all are
refuted. After that the correctness of every model on the item is known exactly, whatever the
posterior: estimates are those of ordinary labels (binomial, McNemar) with no propensities. The
posterior only sets the order, hence the cost. One yes settles all models, because exactly one
option is true; and when all options but one are refuted, the last is true without a question.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from oversight.harness.arrays import UNKNOWN, BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.routed.propensities import predicted_counts

RESOLUTION_ASSUMPTIONS = (
    "each item's predicted options were asked about until one was confirmed or all refuted",
    "experts answer without error",
    "no model has seen the experts' answers",
)


def next_option(
    predicted: Sequence[int],
    posterior: Sequence[float] | FloatArray,
    answers: Mapping[int, bool],
    abstained: Collection[int] = (),
) -> int | None:
    """One step of the sequence for one item: the option to ask about, or None if nothing is left.

    Parameters
    ----------
    predicted
        Every model's option, −1 for unreadable.
    posterior
        Length K; ties are broken by the number of models, then by the lower option.
    answers
        Option → yes (True) or no (False), so far.
    abstained
        Options whose expert did not say; they are not asked about again.

    Raises
    ------
    EstimateError
        If an option lies outside 0..K−1 or two options were confirmed.
    """
    K = len(posterior)
    for option in (*answers, *(p for p in predicted if p != -1)):
        if not 0 <= option < K:
            raise EstimateError(f"option must lie in 0..{K - 1}, is {option}")
    if true_option(answers, K) is not None:
        return None
    open_options = {p for p in predicted if p != -1} - set(answers) - set(abstained)
    # the last digits differ between processors, which may not show in what is asked
    likely = [round(float(p), 9) for p in posterior]
    return min(open_options, key=lambda k: (-likely[k], -predicted.count(k), k), default=None)


def true_option(answers: Mapping[int, bool], K: int) -> int | None:
    """The true option if the answers tell: the confirmed one, or the only one not refuted.

    Raises
    ------
    EstimateError
        If two options were confirmed, or all K refuted: an expert erred.
    """
    confirmed = [k for k, yes in answers.items() if yes]
    if len(confirmed) > 1:
        raise EstimateError(f"exactly one option is true, but {sorted(confirmed)} were all confirmed")
    if confirmed:
        return confirmed[0]
    left = set(range(K)) - set(answers)
    if not left:
        raise EstimateError(f"exactly one option is true, but all {K} were refuted")
    return left.pop() if len(left) == 1 else None


def correctness(predicted: Sequence[int], answers: Mapping[int, bool], K: int) -> IntArray:
    """Every model's 1 (right), 0 (wrong) or `UNKNOWN` on one item, shape (M,).

    A model is wrong if its option was refuted, another was confirmed, or it named none.
    """
    truth = true_option(answers, K)
    if truth is not None:
        return np.array([int(p == truth) for p in predicted], dtype=np.int64)
    known = [0 if p == -1 or p in answers else UNKNOWN for p in predicted]
    return np.array(known, dtype=np.int64)


def asking_order(
    predicted: ArrayLike, posterior: FloatArray, n_options: ArrayLike | None = None
) -> tuple[IntArray, BoolArray]:
    """Options by turn, shape (N, K), and where a turn has a question: the K-th is known by elimination."""
    width = posterior.shape[1]
    counts = predicted_counts(predicted, width)
    order = np.lexsort((-counts, -np.where(counts > 0, posterior, -1.0)), axis=1)
    k = np.broadcast_to(np.asarray(width if n_options is None else n_options), len(order))
    asked = (np.take_along_axis(counts, order, axis=1) > 0) & (np.arange(width) < k[:, None] - 1)
    return order, asked


def expected_questions(
    predicted: ArrayLike, posterior: FloatArray, n_options: ArrayLike | None = None
) -> FloatArray:
    """E[T] = Σ_j (1 − Σ_{i<j} p_(i)): questions to resolve each item, if p is right; shape (N,).

    The j-th predicted option is asked about unless an earlier one was confirmed.
    """
    order, asked = asking_order(predicted, posterior, n_options)
    p = np.take_along_axis(posterior, order, axis=1)
    cost: FloatArray = np.where(asked, np.clip(1 - np.cumsum(p, axis=1) + p, 0, 1), 0.0).sum(axis=1)
    return cost


def questions_asked(
    predicted: ArrayLike, posterior: FloatArray, truth: ArrayLike, n_options: ArrayLike | None = None
) -> IntArray:
    """How many questions each item takes when the truth is known; shape (N,). For simulations."""
    order, asked = asking_order(predicted, posterior, n_options)
    hit = order == np.asarray(truth, dtype=np.int64)[:, None]
    number: IntArray = (asked & (np.cumsum(hit, axis=1) - hit == 0)).sum(axis=1)
    return number
