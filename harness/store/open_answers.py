"""SQL of open answers: the models' answers, the units that experts judge, and the drawn questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa

from oversight.harness.store.database import Repository
from oversight.harness.store.tables.content_tables import ItemRow, OpenAnswerRow, UnitDrawRow, UnitRow
from oversight.harness.store.tables.insertion import execute_many, select_values

_ANSWER, _UNIT, _DRAW = OpenAnswerRow.__table__, UnitRow.__table__, UnitDrawRow.__table__
_POSITION = ItemRow.__table__.c.position
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A model's answer to an item, as it was when questions were drawn."""

    item_id: str
    model: str
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """A unit that experts judge: a criterion of an item, or a part of an answer.

    Attributes
    ----------
    answer
        Id of the answer that the unit is part of; empty for a criterion.
    place
        Position of the unit within the item's rubric or the answer, from 0.
    origin
        Source of the unit: ``"rubric"``, ``"answer"``, ``"sentences"``, ``"claims"`` or ``"hand"``.
    """

    id: str
    item_id: str
    answer: str
    place: int
    text: str
    points: float
    field: str | None
    origin: str


@dataclass(frozen=True, slots=True)
class DrawnExpert:
    """An expert drawn for a question about a unit of an answer; `attempt` gives the order of experts.

    Attributes
    ----------
    row, number
        Row of the (unit, answer) pair in the sampling frame, and number of the question. One question can
        belong to several rows.
    attempt
        1 for the expert who is asked first.
    answer, unit_id
        Ids of the answer and of the unit that the question shows.
    place
        In designs that ask about an answer's units one after another, until an expert says no: the unit's
        place in this order, from 1. In all other designs: 0.
    propensity
        Probability with which the question was drawn.
    expert, field
        Name of the expert, and the field of expertise in the roster for which the expert was drawn.
    question_id
        Id of the question; empty until the question is asked.
    """

    row: int
    attempt: int
    number: int
    answer: str
    unit_id: str
    place: int
    propensity: float
    expert: str
    field: str
    question_id: str = ""


class OpenAnswerRepository(Repository):
    """Reads and writes open answers, their units, and the experts drawn for questions about them."""

    def read_answers(self) -> list[StoredAnswer]:
        """Return all models' answers that experts may be asked about, sorted by item and model."""
        return self._read(StoredAnswer, _ANSWER, _POSITION, _ANSWER.c.model)

    def add_answers(self, answers: Iterable[StoredAnswer]) -> int:
        """Store answers that are not stored yet. Returns how many were new."""
        return self._database.add_values(_ANSWER, StoredAnswer, answers)

    def read_units(self) -> list[StoredUnit]:
        """Return all units, sorted by item, answer and place."""
        return self._read(StoredUnit, _UNIT, _POSITION, _UNIT.c.answer, _UNIT.c.place, _UNIT.c.id)

    def add_units(self, units: Iterable[StoredUnit]) -> int:
        """Store units that are not stored yet. Returns how many were new."""
        return self._database.add_values(_UNIT, StoredUnit, units)

    def remove_frame(self) -> None:
        """Remove all answers and units; call this only before questions about them are drawn."""
        with self._database.transaction(exclusive=True) as connection:
            connection.execute(sa.delete(_UNIT))
            connection.execute(sa.delete(_ANSWER))

    def read_draw(self) -> list[DrawnExpert]:
        """Return all experts drawn for questions, sorted by the sampling frame's row, then by attempt."""
        return self._database.read_table(DrawnExpert, _DRAW, _DRAW.c.row, _DRAW.c.attempt)

    def add_draw(self, drawn: Iterable[DrawnExpert]) -> int:
        """Store the experts drawn for each question. Returns the number of new rows."""
        return self._database.add_values(_DRAW, DrawnExpert, drawn)

    def note_questions(self, put: Mapping[tuple[int, int], str]) -> None:
        """Store the ids of the questions that are asked, by (number, attempt) as in `DrawnExpert`."""
        change = sa.update(_DRAW).where(
            _DRAW.c.number == sa.bindparam("n"), _DRAW.c.attempt == sa.bindparam("a")
        )
        rows = [{"n": number, "a": attempt, "q": name} for (number, attempt), name in put.items()]
        with self._database.transaction(exclusive=True) as connection:
            execute_many(connection, change.values(question_id=sa.bindparam("q")), rows)

    def _read(self, kind: type[T], table: sa.Table, *order: sa.ColumnElement[Any]) -> list[T]:
        query = select_values(kind, table).join_from(table, ItemRow.__table__)
        return self._database.read_values(kind, query.order_by(*order))
