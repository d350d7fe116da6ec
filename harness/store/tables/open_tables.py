"""Rows of open answers, the units that experts judge, and the questions about them."""

from __future__ import annotations

from sqlmodel import Field

from oversight.harness.store.tables.row_kinds import TableRow


class OpenAnswerRow(TableRow, table=True):
    """A model's answer to an item, as it was when questions were drawn."""

    item_id: str = Field(primary_key=True, foreign_key="item.id")
    model: str = Field(primary_key=True)
    id: str = Field(unique=True)
    text: str


class UnitRow(TableRow, table=True):
    """A unit that experts judge: a part of a model's answer, or a criterion from an item's rubric.

    The field `answer` is empty for a criterion.

    `origin` is the source of the unit; `place` is the unit's position within the answer or the rubric.
    """

    id: str = Field(primary_key=True)
    item_id: str = Field(foreign_key="item.id", index=True)
    answer: str = Field(index=True)
    place: int
    text: str
    points: float
    field: str | None
    origin: str


class UnitDrawRow(TableRow, table=True):
    """An expert drawn for a question about a unit, with the probability of drawing the question.

    `row`, `number` and `attempt` are as in `oversight.harness.open_answers.Draw`; `place` is the unit's order
    within its answer. `field` is the field of expertise for which the expert was drawn. `question_id` is
    empty until the question is asked.
    """

    row: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    attempt: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    number: int = Field(index=True)
    answer: str
    unit_id: str = Field(foreign_key="unit.id")
    place: int
    propensity: float
    expert: str
    field: str
    question_id: str = Field(index=True)
