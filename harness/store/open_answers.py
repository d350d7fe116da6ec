"""SQL of open answers: answers as they were when questions were drawn, their units, and the draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, TypeVar

import sqlalchemy as sa

from oversight.harness.store.database import Repository
from oversight.harness.store.tables import ItemRow, OpenAnswerRow, UnitDrawRow, UnitRow, execute_many

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
    """A unit that experts judge: a criterion or a part of an answer.

    Attributes
    ----------
    answer
        Id of the answer that it is a part of; empty for a criterion of the item.
    place
        Position within the item's rubric or the answer, from 0.
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
    """An expert who may be asked a question about a unit of an answer, in the drawn order.

    Attributes
    ----------
    row, number
        Row of the unit and answer in the frame, and number of the question, which several rows may share.
    attempt
        1 for the expert who is asked first.
    answer, unit_id
        Ids of the answer and of the unit that the question shows.
    place
        Order of the unit within its answer, from 1, if units are asked until the first no; else 0.
    propensity
        Probability with which the question was drawn.
    expert, field
        The expert, and the class of the roster for which the expert was drawn.
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
    """Open answers, their units, and the experts drawn for the questions about them."""

    def read_answers(self) -> list[StoredAnswer]:
        """Return all answers from which questions are drawn, by item and model."""
        return self._read(StoredAnswer, _ANSWER, _POSITION, _ANSWER.c.model)

    def add_answers(self, answers: Iterable[StoredAnswer]) -> int:
        """Store answers that are not stored yet. Returns how many were new."""
        return self._add(_ANSWER, StoredAnswer, answers)

    def read_units(self) -> list[StoredUnit]:
        """Return all units, by item, answer and place."""
        return self._read(StoredUnit, _UNIT, _POSITION, _UNIT.c.answer, _UNIT.c.place, _UNIT.c.id)

    def add_units(self, units: Iterable[StoredUnit]) -> int:
        """Store units that are not stored yet. Returns how many were new."""
        return self._add(_UNIT, StoredUnit, units)

    def remove_frame(self) -> None:
        """Remove all answers and units; allowed only before questions about them are drawn."""
        with self._database.transaction(exclusive=True) as connection:
            connection.execute(sa.delete(_UNIT))
            connection.execute(sa.delete(_ANSWER))

    def read_draw(self) -> list[DrawnExpert]:
        """Return all experts drawn for questions, by row of the frame and attempt."""
        return self._database.read_table(DrawnExpert, _DRAW, _DRAW.c.row, _DRAW.c.attempt)

    def add_draw(self, drawn: Iterable[DrawnExpert]) -> int:
        """Store the experts drawn for each question. Returns the number of new rows."""
        return self._add(_DRAW, DrawnExpert, drawn)

    def note_questions(self, put: Mapping[tuple[int, int], str]) -> None:
        """Store the ids of the questions that are asked, by number and attempt."""
        change = sa.update(_DRAW).where(
            _DRAW.c.number == sa.bindparam("n"), _DRAW.c.attempt == sa.bindparam("a")
        )
        rows = [{"n": number, "a": attempt, "q": name} for (number, attempt), name in put.items()]
        with self._database.transaction(exclusive=True) as connection:
            execute_many(connection, change.values(question_id=sa.bindparam("q")), rows)

    def _read(self, kind: type[T], table: sa.Table, *order: sa.ColumnElement[Any]) -> list[T]:
        columns = [table.c[name] for name in _names_of(kind)]
        query = sa.select(*columns).join_from(table, ItemRow.__table__).order_by(*order)
        return self._database.read_values(kind, query)

    def _add(self, table: sa.Table, kind: type, values: Iterable[object]) -> int:
        names = _names_of(kind)
        return self._database.add_rows(table, names, map(attrgetter(*names), values))


def _names_of(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
