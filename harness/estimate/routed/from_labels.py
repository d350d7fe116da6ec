"""Labels and predictions as stored become what routed and sequential estimates are computed from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.arrays import UNKNOWN, IntArray
from harness.errors import EstimateError
from harness.estimate.routed.routed_sample import RoutedSample
from harness.estimate.routed.sequential_resolution import correctness
from harness.seeding import derive_seed
from harness.types import Label, LabelKind, Prediction, PredictionStatus

FEW_OPEN = 0.02
"""Share of what was asked that may be open and is left out like what experts were silent about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What a sequential study knows of N items and M models.

    Attributes
    ----------
    correct
        Shape (N, M): 1 right, 0 wrong, `UNKNOWN` where an expert was silent or, for a few, has not answered.
    own
        Shape (N, M): 1 where the question about the model's own prediction was answered, `UNKNOWN` where it
        was not, 0 where it was never put.
    items
        Their ids.
    waiting
        Number of items with an open question.
    """

    correct: IntArray
    own: IntArray
    items: tuple[str, ...]
    waiting: int


def routed_pool(
    labels: Sequence[Label],
    predictions: Sequence[Sequence[Prediction]],
    asked: Collection[str],
    *,
    error_free: bool = True,
) -> tuple[RoutedSample, IntArray, tuple[str, ...]]:
    """Make the pool of items for equation (G), and all predictions on it.

    Parameters
    ----------
    labels
        What experts said; an item with an abstention is left out.
    predictions
        One sequence per model; items where one of them failed are left out.
    asked
        Ids of the items that have a question, answered or not. The others stay with propensities 0:
        passed over on purpose, they count only where that is allowed (an unreadable prediction, two models
        that agree). While answers are missing, as large a share of them is left out, by a hash of their ids.
    error_free
        As in `RoutedSample`.

    Returns
    -------
    RoutedSample, array, tuple
        The pool of N items, predictions of shape (N, models), −1 for unreadable, and the items' ids.

    Raises
    ------
    EstimateError
        If no answered item is left.
    """
    by_model = [_options(rows) for rows in predictions]
    silent = {label.item_id for label in labels if label.kind is LabelKind.ABSTAINED}
    said = [x for x in labels if x.item_id not in silent and all(x.item_id in m for m in by_model)]
    if not said:
        raise EstimateError("labels: no answered item has a prediction of every model; there are 0")
    answered = dict.fromkeys(label.item_id for label in said)
    everywhere = [i for i in by_model[0] if all(i in m for m in by_model)]
    passed_over = sorted((i for i in everywhere if i not in asked), key=lambda i: derive_seed(0, "pool", i))
    put = sum(i in asked for i in everywhere)
    passed_over = passed_over[: round(len(passed_over) * len(answered) / put)]
    rows = {item: row for row, item in enumerate((*answered, *passed_over))}
    # an unasked item says its K by its predictions alone
    width = max(*(x.n_options for x in said), *(m[i] + 1 for m in by_model for i in passed_over), 2)
    propensities = np.zeros((len(rows), width))
    n_options = np.full(len(rows), width)
    for label in said:
        pi = label.propensities or (label.propensity,) * label.n_options
        propensities[rows[label.item_id], : len(pi)] = pi
        n_options[rows[label.item_id]] = label.n_options
    data = RoutedSample(
        item=np.array([rows[label.item_id] for label in said]),
        asked=np.array([label.option for label in said]),
        answer=np.array([float(label.kind is LabelKind.ORDINARY) for label in said]),
        propensities=propensities,
        n_options=n_options,
        error_free=error_free,
    )
    return data, np.array([[m[item] for m in by_model] for item in rows], dtype=np.int64), tuple(rows)


def resolved_correctness(
    labels: Sequence[Label],
    predictions: Sequence[Sequence[Prediction]],
    asked: Collection[str],
    *,
    on_differences: bool = False,
) -> Resolution:
    """Exact correctness of every model on every item of a sequential study.

    Parameters
    ----------
    asked
        Ids of the items that have a question. An item without one is wrong where no prediction is
        readable (nothing had to be asked), else it is not part of the study.
    on_differences
        Take an item that is not resolved as known where all models predict the same: a comparison
        counts only the difference, which is 0 there.

    Raises
    ------
    EstimateError
        If more than a few items wait for an answer: those resolved early are no random sample.
    """
    by_model = [_options(rows) for rows in predictions]
    answers: dict[str, dict[int, bool]] = {}
    n_options = {label.item_id: label.n_options for label in labels}
    silent = {label.item_id for label in labels if label.kind is LabelKind.ABSTAINED}
    for label in labels:
        if label.kind is not LabelKind.ABSTAINED:
            answers.setdefault(label.item_id, {})[label.option] = label.kind is LabelKind.ORDINARY
    heard = {(x.item_id, x.option): UNKNOWN if x.kind is LabelKind.ABSTAINED else 1 for x in labels}
    table, own, waiting, kept = [], [], [], []
    for item in by_model[0]:
        if not all(item in m for m in by_model):
            continue
        predicted = [m[item] for m in by_model]
        if item not in asked and max(predicted) >= 0:
            continue
        row = correctness(predicted, answers.get(item, {}), n_options.get(item, 2))
        if UNKNOWN in row and on_differences and len(set(predicted)) == 1:
            row = np.zeros_like(row)
        if UNKNOWN in row and item not in silent:
            waiting.append(item)
        table.append(row)
        own.append([heard.get((item, p), min(z, 0)) for p, z in zip(predicted, row.tolist(), strict=True)])
        kept.append(item)
    if len(waiting) > FEW_OPEN * len(table) or not table:
        example = f", such as {waiting[0]!r}," if waiting else ""
        raise EstimateError(
            f"{len(waiting)} of {len(table)} items{example} are not resolved yet: ask their next question "
            "(oversight label route) before estimating"
        )
    return Resolution(
        correct=np.array(table, dtype=np.int64),
        own=np.array(own, dtype=np.int64),
        items=tuple(kept),
        waiting=len(waiting),
    )


def _options(predictions: Sequence[Prediction]) -> Mapping[str, int]:
    """Item id → option, −1 for unreadable; failed ones are left out."""
    return {
        p.item_id: -1 if p.option is None else p.option
        for p in predictions
        if p.status is not PredictionStatus.FAILED
    }
