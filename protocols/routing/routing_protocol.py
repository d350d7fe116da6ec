"""The interface of protocols: items become questions, answers become labels.

For every item, a protocol draws the option to ask about, with a propensity that is fixed before any answer.
It states what estimators can rely on (`RoutingProtocol.statement`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from oversight.harness import BadInput
from oversight.harness.types import Item, ProtocolStatement, Question, draw_place, question_id

Predictions = Mapping[str, Mapping[str, int | None]]
"""Model → item id → option; None if unreadable."""

OptionProbabilities = Mapping[str, Sequence[float]]
"""Item id → judges' probability of each of its options."""


QuestionFields = tuple[str, str, int, str, int, str, float, int, tuple[float, ...], int | None]
"""The fields of a `Question`, in its order."""


class RoutingProtocol(Protocol):
    """A rule that decides which questions each expert is asked.

    Attributes
    ----------
    name
        Name of the rule, stored with every question.
    seed
        Seed of all draws.
    statement
        Permitted uses of the rule's labels, see `ProtocolStatement`.
    """

    @property
    def name(self) -> str: ...  # noqa: D102  described above
    @property
    def seed(self) -> int: ...  # noqa: D102  described above

    statement: ClassVar[ProtocolStatement]

    def route(self, items: Sequence[Item]) -> list[Question]:
        """Draw the questions; the same protocol and items give the same questions.

        The draw for an item depends only on the seed and on the item's id, so that items added later change
        no earlier question.
        """
        ...


def put_question(
    rule: RoutingProtocol,
    item: Item,
    option: int,
    expert: str,
    propensity: float = 1.0,
    propensities: tuple[float, ...] = (),
) -> Question:
    """Make the question for `expert` about an option that was drawn with this propensity."""
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
    """Return predictions in shape (items, models), in the given order; −1 for an unreadable answer (None).

    Raises
    ------
    BadInput
        If there is no model, a prediction is missing or is not one of the item's options, or an item occurs
        twice.
    """
    if not predictions:
        raise BadInput("this protocol uses predictions; give those of at least one model")
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
                    f"model {model!r}, item {item.id!r}: the prediction {option} is not one of its "
                    f"{len(item.options)} options"
                )
            matrix[row, column] = option
    return matrix


def multiply_by_judges(
    votes: NDArray[np.float64], items: Sequence[Item], judge_probabilities: OptionProbabilities
) -> NDArray[np.float64]:
    """Multiply probabilities from models' votes by judges' probabilities, and normalise rows to a sum of 1.

    An item without judges' probabilities keeps the votes' probabilities.
    """
    if not judge_probabilities:
        return votes
    heard = votes.copy()
    for row, item in enumerate(items):
        said = judge_probabilities.get(item.id)
        if said is not None:
            both = votes[row, : len(said)] * said
            heard[row, : len(said)] = both / both.sum()
    return heard


def option_counts(items: Sequence[Item]) -> NDArray[np.int64]:
    """Return the number of options K of every item, shape (items,)."""
    return np.array([len(item.options) for item in items], dtype=np.int64)
