"""Which yes/no questions judges are held against: those that experts answered, and what each stands for.

A study draws questions, so the answered ones are a sample of all questions in question. Which these are
depends on the protocol: all options of every item if each could be asked about ("options"), otherwise those
that models predict ("predictions"). Each answer is weighted by the inverse of its propensity, so that means
are unbiased for all of them (Horvitz & Thompson 1952, JASA 47).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.arrays import UNKNOWN, BoolArray, FloatArray, IntArray
from oversight.harness.columns import LabelColumns, PredictionColumns
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
"""Kinds of scopes: all options of every item, or those that models predict."""
_EVEN = 0.5
"""Effective share of the answers from which on they stand for all options: a few of a hundredfold weight
would decide everything else."""
_LEAST = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedQuestions:
    """R questions with experts' answers.

    Attributes
    ----------
    item, option
        Shape (R,): place of the item in the study, and the option asked about.
    answer
        Shape (R,): 1 for yes, 0 for no.
    weight
        Shape (R,): the number of questions that each one stands for.
    cluster
        Shape (R,): number of what is independent, the item or its cluster.
    scope
        Which questions they stand for, `OPTIONS` or `PREDICTIONS`.

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
        """Some of the questions."""
        return replace(
            self,
            item=self.item[rows],
            option=self.option[rows],
            answer=self.answer[rows],
            weight=self.weight[rows],
            cluster=self.cluster[rows],
        )

    def __len__(self) -> int:
        return len(self.item)


def judged_questions(labels: LabelColumns, models: Sequence[PredictionColumns]) -> JudgedQuestions:
    """Gather the answered questions that judges can be held against.

    Parameters
    ----------
    labels
        Labels with their design. Of a collection under way the interim subset counts (`collected_part`).
    models
        Models whose predictions define the scope if not every option could be asked about.

    Raises
    ------
    NotIdentified
        If questions were asked only where models differ, or about other options than all or the models'.
    EstimateError
        If nothing was answered.
    """
    refuse("estimate", labels.conditions)
    everything = np.ones(labels.index.size, dtype=np.bool_)
    part, _ = collected_part(labels, everything)
    if part.is_resolved:
        return _resolved(part, models)
    sample, predicted, items = routed_pool(part, models)
    if (unequal := find_unequal(part, everything)) is not None:
        sample = unequal.tilt(sample)
    return _routed(part, sample, predicted.astype(np.int64), items)


def _routed(
    part: LabelColumns, sample: RoutedSample, predicted: IntArray, items: IntArray
) -> JudgedQuestions:
    """Questions of one draw per item, from their propensities."""
    can = sample.propensities > 0
    asked = np.zeros(len(items), dtype=np.bool_)
    asked[sample.item] = True
    scope, inside = OPTIONS, sample.valid
    chance = sample.propensities[sample.item, sample.asked]
    even = chance.size * _EVEN <= count_effective(1 / np.maximum(chance, _LEAST))
    if not (asked.all() and even and (can | ~sample.valid).all()):
        scope, inside = PREDICTIONS, _predicted(predicted, sample.valid)
        # items that were passed over on purpose have no readable prediction
        if not (can | ~inside).all():
            left = int((inside & ~can).any(axis=1).sum())
            raise NotIdentified(
                f"{left} of {len(items)} items have a prediction that could not be asked about; name the "
                "models that the questions were drawn for with --model"
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


def _resolved(part: LabelColumns, models: Sequence[PredictionColumns]) -> JudgedQuestions:
    """Questions whose answers follow from resolved items: of each item all options, or the predicted."""
    found = resolved_correctness(part, models)
    known = ~(found.correct == UNKNOWN).any(axis=1)
    items = found.items[known]
    predicted = np.stack([m.option[items] for m in models], axis=1).astype(np.int64)
    n_options = part.item_options
    width = max(int(n_options.max()), int(predicted.max(initial=0)) + 1)
    truth = read_item_answers(part).truth[items]
    scope, inside = OPTIONS, np.arange(width) < n_options[items][:, None]
    if not (truth >= 0).all():
        scope, inside = PREDICTIONS, _predicted(predicted, np.ones((len(items), width), dtype=np.bool_))
    row, option = np.nonzero(inside)
    stands = find_weights(items, part)
    return JudgedQuestions(
        item=items[row],
        option=option.astype(np.int64),
        # a predicted option of an item without a confirmed one was refuted
        answer=(truth[row] == option).astype(np.float64),
        weight=np.ones(len(row)) if stands is None else stands[row],
        cluster=_clusters(part, items)[row],
        scope=scope,
    )


def _predicted(predicted: IntArray, valid: BoolArray) -> BoolArray:
    """Options that some model predicts, shape (N, K)."""
    inside = np.zeros_like(valid)
    for column in predicted.T:
        rows = np.flatnonzero(column >= 0)
        inside[rows, column[rows]] = True
    return inside & valid


def _clusters(part: LabelColumns, items: IntArray) -> IntArray:
    number = enough_clusters(items, part.index, part.cluster)
    return np.arange(len(items)) if number is None else number
