"""The interface of protocols: items become questions, answers become labels.

For every item, a protocol draws the option to ask about, with a propensity that is fixed before any answer.
It states what estimators can rely on (`RoutingProtocol.statement`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

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
