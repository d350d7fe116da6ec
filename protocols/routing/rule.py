"""The work of every protocol: items become questions, answers become labels.

A protocol draws, for every item, which option is asked about, with a propensity that is fixed
before any answer. What estimators may rely on is stated by the protocol (`RoutingProtocol.statement`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from oversight.harness import BadInput
from oversight.harness.estimate import decode
from oversight.harness.types import Answer, Item, ProtocolStatement, Question, draw_place, question_id

__all__ = ["AsksOn", "RoutingProtocol", "decode", "put_question"]

Predictions = Mapping[str, Mapping[str, int | None]]
"""Model → item id → option, None where unreadable."""

Voices = Mapping[str, Sequence[float]]
"""Item id → probability of each of its options, by what judges say."""


QuestionFields = tuple[str, str, int, str, int, str, float, int, tuple[float, ...], int | None]
"""The fields of a `Question`, in its order."""


class RoutingProtocol(Protocol):
    """A rule that decides who is asked what.

    Attributes
    ----------
    name
        Stored with every question.
    seed
        Seed of all draws.
    statement
        What its labels are good for, see `ProtocolStatement`.
    """

    @property
    def name(self) -> str: ...  # noqa: D102  described above
    @property
    def seed(self) -> int: ...  # noqa: D102  described above

    statement: ClassVar[ProtocolStatement]

    def route(self, items: Sequence[Item]) -> list[Question]:
        """Draw the questions; equal protocols and items give equal questions.

        The draw for an item depends on the seed and on the item's id alone, so that items added
        later change no earlier question.
        """
        ...


@runtime_checkable
class AsksOn(RoutingProtocol, Protocol):
    """A rule whose further questions follow from the answers to those before."""

    def next_questions(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Question]:
        """Give the open questions; an empty list when nothing is left to ask."""
        ...


def put_question(
    rule: RoutingProtocol,
    item: Item,
    option: int,
    expert: str,
    propensity: float = 1.0,
    propensities: tuple[float, ...] = (),
) -> Question:
    """Put an option of an item to an expert, by a rule that draws it with this propensity."""
    name = question_id(rule.name, rule.seed, item.id, option)
    return Question(
        id=name,
        item_id=item.id,
        option=option,
        expert=expert,
        n_options=len(item.options),
        protocol=rule.name,
        propensity=propensity,
        seed=rule.seed,
        propensities=propensities,
        place=draw_place(name),
    )


def predicted_matrix(items: Sequence[Item], predictions: Predictions) -> NDArray[np.int64]:
    """Shape (items, models), in the order given; −1 where a model's answer was unreadable (None).

    Raises
    ------
    BadInput
        If there is no model, a model has no prediction for an item or one outside its options, or
        an item is given twice.
    """
    if not predictions:
        raise BadInput("this protocol looks at predictions; give those of at least one model")
    if len({item.id for item in items}) < len(items):
        raise BadInput("item ids must be unique; one is given twice")
    matrix = np.full((len(items), len(predictions)), -1, dtype=np.int64)
    for column, (model, by_item) in enumerate(predictions.items()):
        for row, item in enumerate(items):
            if item.id not in by_item:
                raise BadInput(f"model {model!r} has no prediction for the item {item.id!r}: run it first")
            option = by_item[item.id]
            if option is None:
                continue
            if not -1 <= option < len(item.options):
                raise BadInput(
                    f"model {model!r}, item {item.id!r}: prediction {option} of {len(item.options)} options"
                )
            matrix[row, column] = option
    return matrix


def hear_judges(votes: NDArray[np.float64], items: Sequence[Item], voices: Voices) -> NDArray[np.float64]:
    """Votes' probabilities times judges', rows sum to 1; votes' alone of items that judges do not know."""
    if not voices:
        return votes
    heard = votes.copy()
    for row, item in enumerate(items):
        said = voices.get(item.id)
        if said is not None:
            both = votes[row, : len(said)] * said
            heard[row, : len(said)] = both / both.sum()
    return heard


def option_counts(items: Sequence[Item]) -> NDArray[np.int64]:
    """K of every item, shape (items,)."""
    return np.array([len(item.options) for item in items], dtype=np.int64)
