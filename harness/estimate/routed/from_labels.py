"""Labels and predictions as stored become what routed and sequential estimates are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import UNKNOWN, AnyIntArray, BoolArray, IntArray
from oversight.harness.columns import ABSTAINED, YES, LabelColumns, PredictionColumns, mark
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.routed.item_answers import read_item_answers
from oversight.harness.estimate.routed.routed_sample import RoutedSample
from oversight.harness.seeding import derive_seed

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
        Their places, shape (N,).
    waiting
        Number of items with an open question.
    """

    correct: IntArray
    own: IntArray
    items: IntArray
    waiting: int


def routed_pool(
    labels: LabelColumns,
    models: Sequence[PredictionColumns],
    *,
    error_free: bool = True,
) -> tuple[RoutedSample, AnyIntArray, IntArray]:
    """Make the pool of items for equation (G), and all predictions on it.

    Parameters
    ----------
    labels
        What experts said; an item with an abstention is left out. Items that were not asked about stay with
        propensities 0: passed over on purpose, they count only where that is allowed (an unreadable
        prediction, two models that agree). While answers are missing, as large a share of them is left out,
        by a hash of their ids.
    models
        Items where one of them failed are left out.
    error_free
        As in `RoutedSample`.

    Returns
    -------
    RoutedSample, array, array
        The pool of N items, predictions of shape (N, models), −1 for unreadable, and the items' places.

    Raises
    ------
    EstimateError
        If no answered item is left.
    """
    everywhere = np.logical_and.reduce([m.ran for m in models])
    silent = mark(labels.item[labels.kind == ABSTAINED], labels.index.size)
    rows = np.flatnonzero((everywhere & ~silent)[labels.item])
    if not rows.size:
        raise EstimateError("labels: no answered item has a prediction of every model; there are 0")
    said = labels.questions.take(rows)
    first, turn = np.unique(said.item, return_index=True)
    answered = first[np.argsort(turn)]
    items = np.concatenate([answered, _passed_over(labels, everywhere, answered.size)])
    predicted = np.asfortranarray(np.stack([m.option[items] for m in models]).astype(np.int16).T)
    place = np.empty(labels.index.size, np.int64)
    place[items] = np.arange(items.size)
    # an unasked item says its K by its predictions alone
    width = max(int(said.n_options.max()), 2, int(predicted[answered.size :].max(initial=0)) + 1)
    n_options = np.full(items.size, width)
    n_options[place[said.item]] = said.n_options
    propensities = np.zeros((items.size, width))
    alike = said.offered.number == 0
    inside = (np.arange(width) < said.n_options[:, None]) & alike[:, None]
    row, column = np.nonzero(inside)
    propensities[place[said.item[row]], column] = said.propensity[row]
    number = said.offered.number
    row, start = np.repeat(np.arange(len(said)), number), np.repeat(said.offered.start[:-1], number)
    column = np.arange(said.offered.values.size) - start
    propensities[place[said.item[row]], column] = said.offered.values
    data = RoutedSample(
        item=place[said.item],
        asked=said.option,
        answer=(labels.kind[rows] == YES).astype(np.float64),
        propensities=propensities,
        n_options=n_options,
        error_free=error_free,
    )
    return data, predicted, items


def _passed_over(labels: LabelColumns, everywhere: BoolArray, answered: int) -> IntArray:
    """Items that were not asked about, as large a share of them as is answered of the others."""
    passed = np.flatnonzero(everywhere & ~labels.asked_items)
    if not passed.size:
        return passed
    ids = labels.index.ids
    put = np.count_nonzero(everywhere & labels.asked_items)
    order = np.argsort([derive_seed(0, "pool", ids[i]) for i in passed.tolist()], kind="stable")
    return passed[order[: round(passed.size * answered / put)]]


def resolved_correctness(
    labels: LabelColumns,
    models: Sequence[PredictionColumns],
    *,
    on_differences: bool = False,
) -> Resolution:
    """Exact correctness of every model on every item of a sequential study.

    An item without a question is wrong where no prediction is readable (nothing had to be asked), else it is
    not part of the study.

    Parameters
    ----------
    on_differences
        Take an item that is not resolved as known where all models predict the same: a comparison
        counts only the difference, which is 0 there.

    Raises
    ------
    EstimateError
        If more than a few items wait for an answer: those resolved early are no random sample.
    """
    options = np.stack([m.option for m in models], axis=1).astype(np.int64)
    ran = np.logical_and.reduce([m.ran for m in models])
    items = np.flatnonzero(ran & (labels.asked_items | (options.max(axis=1) < 0)))
    predicted = options[items]
    answers = read_item_answers(labels)
    correct = answers.correctness(predicted, items)
    if on_differences:
        agreed = (predicted == predicted[:, :1]).all(axis=1) & (correct == UNKNOWN).any(axis=1)
        correct[agreed] = 0
    silent = mark(labels.item[labels.kind == ABSTAINED], labels.index.size)
    waiting = items[(correct == UNKNOWN).any(axis=1) & ~silent[items]]
    if waiting.size > FEW_OPEN * items.size or not items.size:
        example = f", such as {labels.index.ids[waiting[0]]!r}," if waiting.size else ""
        raise EstimateError(
            f"{waiting.size} of {items.size} items{example} are not resolved yet: ask their next question "
            "(oversight label route) before estimating"
        )
    own = answers.was_heard(predicted, items, correct)
    return Resolution(correct=correct, own=own, items=items, waiting=int(waiting.size))
