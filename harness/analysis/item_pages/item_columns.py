"""What filters are evaluated on: a study's questions and predictions as small columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from oversight.harness.arrays import AnyIntArray
from oversight.harness.columns import LabelColumns, QuestionColumns

OPEN = -2
"""In place of what an expert said: there is no answer yet."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AskedQuestions:
    """R questions, answered or not, in 13 bytes each.

    Attributes
    ----------
    item, option
        Place of the item, and the option asked about; shape (R,).
    expert
        Place of the person in `experts`.
    said
        1 yes, 0 no, −1 abstained, −2 not answered yet.
    """

    item: AnyIntArray
    option: AnyIntArray
    expert: AnyIntArray
    said: AnyIntArray
    experts: Sequence[str]

    @classmethod
    def of(cls, labels: LabelColumns) -> Self:
        """From labels that come with the questions they answer."""
        drawn = labels.drawn or labels.questions
        said = np.full(len(drawn), OPEN, np.int8)
        keys = _number(drawn)
        order = np.argsort(keys)
        said[order[np.searchsorted(keys[order], _number(labels.questions))]] = labels.kind
        return cls(
            item=drawn.item.astype(np.int32),
            option=drawn.option.astype(np.int32),
            expert=drawn.expert.astype(np.int32),
            said=said,
            experts=drawn.experts,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemColumns:
    """N items, what experts were asked about them, and what models predict.

    Attributes
    ----------
    predictions
        Name of the model → shape (N,): the option, from 0; −1 unreadable, −2 failed, −3 not asked.
    classes
        The options of all items; empty where items have options of their own.
    """

    size: int
    questions: AskedQuestions
    predictions: Mapping[str, AnyIntArray]
    classes: Sequence[str]


def _number(questions: QuestionColumns) -> AnyIntArray:
    """A number for every question; nobody is asked twice about an option of an item."""
    return questions.key * len(questions.experts) + questions.expert
