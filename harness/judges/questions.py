"""Gather the yes/no questions that judges are measured on: those that experts answered, with weights.

The answered questions are a sample of all questions in a scope. The protocol determines the scope. If every
option of every item could be asked about, the scope is all options ("options"); otherwise it is the options
that models predict ("predictions"). Each answer is weighted by the inverse of its propensity, so that means
are unbiased for the scope (Horvitz & Thompson 1952, JASA 47).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.arrays import UNKNOWN, BoolArray, FloatArray, IntArray, take_rows
from oversight.harness.columns import ABSTAINED, LabelColumns, PredictionColumns
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate import (
    RoutedSample,
    collected_part,
    count_effective,
    enough_clusters,
    find_unequal,
    find_weights,
    read_item_answers,
    refuse,
    resolved_correctness,
    routed_pool,
)

OPTIONS, PREDICTIONS = "options", "predictions"
"""Kinds of scopes: all options of every item, or only the options that models predict."""
_EVEN = 0.5
"""Smallest ratio of the effective to the actual number of answers for the scope `OPTIONS`. With more unequal
weights, a few answers would determine every result."""
_LEAST = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedQuestions:
    """R questions with experts' answers.

    Attributes
    ----------
    item, option
        Shape (R,): position of the item in the study, and the option asked about.
    answer
        Shape (R,): 1 for yes, 0 for no.
    weight
        Shape (R,): inverse propensity of the question, which is the number of questions in `scope` that the
        question represents.
    cluster
        Shape (R,): index of the independent unit, which is the item or its cluster.
    scope
        The questions of which the R questions are a sample: `OPTIONS` (about all options) or `PREDICTIONS`
        (about predicted options).

    Examples
    --------
    >>> from oversight.harness.example_data import example_judge
    >>> p, judge, asked = example_judge()
    >>> asked.take(asked.answer == 1).item[:3].tolist()
    [0, 1, 4]
    """

    item: IntArray
    option: IntArray
    answer: FloatArray
    weight: FloatArray
    cluster: IntArray
    scope: str

    def take(self, rows: IntArray | BoolArray) -> JudgedQuestions:
        """Return the selected questions; `rows` holds positions or is a mask."""
        return take_rows(self, rows)

    def __len__(self) -> int:
        return len(self.item)


def judged_questions(
    labels: LabelColumns, models: Sequence[PredictionColumns], *, missing: int | None = None
) -> JudgedQuestions:
    """Gather the answered questions on which judges can be measured.

    Parameters
    ----------
    labels
        Labels with their design. While a collection runs, only its interim subset is used (`collected_part`).
    models
        Predictions of the models. If the design allows only questions about predicted options, the questions
        about these models' predictions are gathered.
    missing
        Answer, 1 (yes) or 0 (no), that every question without a yes or no gets; None leaves these questions
        out.

    Raises
    ------
    NotIdentified
        If questions were asked only about items on which models differ, or an option in the scope could not
        be asked about.
    EstimateError
        If no question was answered.
    """
    refuse("estimate", labels.conditions)
    part, _ = collected_part(labels, labels.inside)
    if part.is_resolved:
        return _resolved(part, models, missing)
    if missing is not None:
        part = replace(part, kind=np.where(part.kind == ABSTAINED, missing, part.kind), passed=None)
    # A missing answer that counts as yes can be the second yes about an item.
    sample, predicted, items = routed_pool(part, models, error_free=missing is None)
    if (unequal := find_unequal(part, labels.inside)) is not None:
        sample = unequal.tilt(sample)
    return _routed(part, sample, predicted.astype(np.int64), items)


def _routed(
    part: LabelColumns, sample: RoutedSample, predicted: IntArray, items: IntArray
) -> JudgedQuestions:
    """Gather questions that were drawn with known propensities, one draw per item."""
    can = sample.propensities > 0
    asked = np.zeros(len(items), dtype=np.bool_)
    asked[sample.item] = True
    scope, inside = OPTIONS, sample.valid
    chance = sample.propensities[sample.item, sample.asked]
    even = chance.size * _EVEN <= count_effective(1 / np.maximum(chance, _LEAST))
    if not (asked.all() and even and (can | ~sample.valid).all()):
        scope, inside = PREDICTIONS, _predicted(predicted, sample.valid)
        # Items without a readable prediction are left out of `inside`, so they cause no error here.
        if not (can | ~inside).all():
            left = int((inside & ~can).any(axis=1).sum())
            raise NotIdentified(
                f"for {left} of {len(items)} items, the draw could not ask about the predicted option; use "
                "--model to name the models for which the questions were drawn"
            )
    rows = np.flatnonzero(inside[sample.item, sample.asked])
    item, option = sample.item[rows], sample.asked[rows]
    stands = find_weights(items, part)
    weight = 1 / sample.propensities[item, option] * (1.0 if stands is None else stands[item])
    return JudgedQuestions(
        item=items[item],
        option=option,
        answer=sample.answer[rows],
        weight=weight,
        cluster=_clusters(part, items)[item],
        scope=scope,
    )


def _resolved(
    part: LabelColumns, models: Sequence[PredictionColumns], missing: int | None
) -> JudgedQuestions:
    """Gather questions about resolved items: for these, the answers show whether each model is right.

    If the true option of every resolved item is known, the questions are about all options; otherwise they
    are only about predicted options. All questions about other items get the answer `missing`, if given.
    """
    found = resolved_correctness(part, models)
    known = ~(found.correct == UNKNOWN).any(axis=1)
    is_told = known if missing is None else np.ones_like(known)
    items, known = found.items[is_told], known[is_told]
    predicted = np.stack([m.option[items] for m in models], axis=1).astype(np.int64)
    n_options = part.item_options
    width = max(int(n_options.max()), int(predicted.max(initial=0)) + 1)
    truth = read_item_answers(part).truth[items]
    scope, inside = OPTIONS, np.arange(width) < n_options[items][:, None]
    if not (truth[known] >= 0).all():
        scope, inside = PREDICTIONS, _predicted(predicted, np.ones((len(items), width), dtype=np.bool_))
    row, option = np.nonzero(inside)
    stands = find_weights(items, part)
    return JudgedQuestions(
        item=items[row],
        option=option.astype(np.int64),
        # If no option of an item was confirmed, its predicted options were refuted.
        answer=np.where(known[row], truth[row] == option, missing or 0).astype(np.float64),
        weight=np.ones(len(row)) if stands is None else stands[row],
        cluster=_clusters(part, items)[row],
        scope=scope,
    )


def _predicted(predicted: IntArray, valid: BoolArray) -> BoolArray:
    """Return which options at least one model predicts, shape (N, K)."""
    inside = np.zeros_like(valid)
    for column in predicted.T:
        rows = np.flatnonzero(column >= 0)
        inside[rows, column[rows]] = True
    return inside & valid


def _clusters(part: LabelColumns, items: IntArray) -> IntArray:
    number = enough_clusters(items, part.index, part.cluster)
    return np.arange(len(items)) if number is None else number
