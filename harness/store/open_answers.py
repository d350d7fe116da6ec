"""SQL of open answers: the models' answers, the units that experts judge, and the drawn questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import sqlalchemy as sa

from oversight.harness.store.database import Repository
from oversight.harness.store.tables.insertion import execute_many, select_values
from oversight.harness.store.tables.study_tables import (
    ITEM,
    OPEN_ANSWER,
    UNIT,
    UNIT_DRAW,
    DrawnExpert,
    StoredAnswer,
    StoredUnit,
)

_POSITION = ITEM.c.position
T = TypeVar("T")


class OpenAnswerRepository(Repository):
    """Reads and writes open answers, their units, and the experts drawn for questions about them."""

    def read_answers(self) -> list[StoredAnswer]:
        """Return all models' answers that experts may be asked about, sorted by item and model."""
        return self._read(StoredAnswer, OPEN_ANSWER, _POSITION, OPEN_ANSWER.c.model)

    def add_answers(self, answers: Iterable[StoredAnswer]) -> int:
        """Store answers that are not stored yet. Returns how many were new."""
        return self._database.add_values(OPEN_ANSWER, StoredAnswer, answers)

    def read_units(self) -> list[StoredUnit]:
        """Return all units, sorted by item, answer and place."""
        return self._read(StoredUnit, UNIT, _POSITION, UNIT.c.answer, UNIT.c.place, UNIT.c.id)

    def add_units(self, units: Iterable[StoredUnit]) -> int:
        """Store units that are not stored yet. Returns how many were new."""
        return self._database.add_values(UNIT, StoredUnit, units)

    def remove_frame(self) -> None:
        """Remove all answers and units; call this only before questions about them are drawn."""
        with self._database.transaction(exclusive=True) as connection:
            connection.execute(sa.delete(UNIT))
            connection.execute(sa.delete(OPEN_ANSWER))

    def read_draw(self) -> list[DrawnExpert]:
        """Return all experts drawn for questions, sorted by the sampling frame's row, then by attempt."""
        return self._database.read_table(DrawnExpert, UNIT_DRAW, UNIT_DRAW.c.row, UNIT_DRAW.c.attempt)

    def add_draw(self, drawn: Iterable[DrawnExpert]) -> int:
        """Store the experts drawn for each question. Returns the number of new rows."""
        return self._database.add_values(UNIT_DRAW, DrawnExpert, drawn)

    def note_questions(self, put: Mapping[tuple[int, int], str]) -> None:
        """Store the ids of the questions that are asked, by (number, attempt) as in `DrawnExpert`."""
        change = sa.update(UNIT_DRAW).where(
            UNIT_DRAW.c.number == sa.bindparam("n"), UNIT_DRAW.c.attempt == sa.bindparam("a")
        )
        rows = [{"n": number, "a": attempt, "q": name} for (number, attempt), name in put.items()]
        with self._database.transaction(exclusive=True) as connection:
            execute_many(connection, change.values(question_id=sa.bindparam("q")), rows)

    def _read(self, kind: type[T], table: sa.Table, *order: sa.ColumnElement[Any]) -> list[T]:
        query = select_values(kind, table).join_from(table, ITEM)
        return self._database.read_values(kind, query.order_by(*order))
