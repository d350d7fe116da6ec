"""Units of open answers, and the tables that draws and estimates use.

An *answer* is the text that a model wrote for an item. A *unit* is a criterion of the
item's rubric (met or not met; its points may be negative), or a claim of one answer (true
or not; a whole answer can also be a claim). A *question* shows an answer and a unit to an
expert. Equal claims in answers of several models are one question. If several answers are
equal, a criterion is asked about only once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError

YES, NO = "yes", "no"
CANNOT_TELL, NOT_MY_FIELD = "cannot tell", "not my field"
REPLIES = (YES, NO, CANNOT_TELL, NOT_MY_FIELD)

ObjectArray = NDArray[Any]
"""Ids or names, one per row: strings or numbers, and None where a column allows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTable:
    """One row per unit of every answer; questions are drawn from these rows.

    Attributes
    ----------
    item, model, answer, unit
        Shape (R,): ids. A model has at most one answer per item.
    points, field
        Shape (R,): points of an answer that meets the unit, negative for something an
        answer should not do; and the field whose experts can judge the unit, None if
        unknown.
    question
        Shape (R,): index of the question; one judgement answers all rows with the same index.

    Examples
    --------
    >>> from oversight.harness.example_data import example_units
    >>> table = example_units()
    >>> len(table), table.unit.tolist()[:2]
    (12, ['c0', 'c1'])
    """

    item: ObjectArray
    model: ObjectArray
    answer: ObjectArray
    unit: ObjectArray
    points: FloatArray
    field: ObjectArray
    question: IntArray

    def __len__(self) -> int:
        return len(self.item)

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """Ids of each row's answer and unit."""
        return list(zip(self.answer.tolist(), self.unit.tolist(), strict=True))


def object_column(values: Iterable[Any]) -> ObjectArray:
    """Return a column of any values, which NumPy does not convert."""
    found = list(values)
    column = np.empty(len(found), dtype=object)
    column[:] = found
    return column


def check_points(table: UnitTable) -> None:
    """Refuse a table with an answer of which no unit has positive points.

    Raises
    ------
    EstimateError
        If there is such an answer; the message names the item.
    """
    answer = number_values(table.answer)[0]
    most = np.bincount(answer, np.maximum(table.points, 0.0))
    for row in np.flatnonzero(most[answer] <= 0)[:1]:
        raise EstimateError(
            f"no unit of item {table.item[row]!r} has positive points, so the item has no score"
        )


def number_values(column: ObjectArray) -> tuple[IntArray, list[Any]]:
    """Return the index of each row's value, and the distinct values in the order of their first rows."""
    values = column.tolist()
    names = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return np.array([names[value] for value in values], dtype=np.int64), list(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgements(UnitTable):
    """Experts' judgements of units; one row for each answer, unit and expert in the unit's queue.

    A unit that was not drawn has one row. Columns have shape (R,).

    Attributes
    ----------
    asked
        Whether the row's expert was asked.
    propensity
        Probability, fixed before any reply, that the unit is asked about. With the scheme
        "first no", it is the probability that the unit is the first of its answer to be
        asked about. NaN if the unit was not drawn, or was asked about only as a control
        question.
    order
        Place, counted from 1, at which the unit of its answer is asked about with the
        scheme "first no"; 0 with the other schemes.
    expert
        Expert who is or would be asked; None if the unit was not drawn.
    reply
        One of `REPLIES`, or None.
    gold
        True reply, "yes" or "no"; None if unknown.

    Raises
    ------
    EstimateError
        If columns differ in length or a value is not allowed; the message names column and row.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judgements
    >>> judged = example_judgements()
    >>> judged.take(judged.reply == "no").answer.tolist()
    ['a9', 'a10', 'a11']
    """

    asked: BoolArray
    propensity: FloatArray
    order: IntArray
    expert: ObjectArray
    reply: ObjectArray
    gold: ObjectArray

    def __post_init__(self) -> None:
        for column in fields(self):
            if (shape := getattr(self, column.name).shape) != (len(self),):
                raise EstimateError(f"{column.name} must have {len(self)} rows, has the shape {shape}")
        _check_rows("points", self.points, np.isfinite(self.points), "be a finite number")
        chance = self.propensity
        _check_rows("propensity", chance, ~((chance < 0) | (chance > 1 + 1e-9)), "lie in [0, 1]")
        said = self.reply != None  # noqa: E711
        for name, known in (("reply", REPLIES), ("gold", (YES, NO))):
            values = getattr(self, name)
            good = np.array([value is None or value in known for value in values], np.bool_)
            _check_rows(name, values, good, f"be one of {', '.join(known)}, or None")
        _check_rows("reply", self.reply, self.asked | ~said, "be None where nobody was asked")

    @property
    def is_control(self) -> BoolArray:
        """Whether each row is a control question, which estimates of scores ignore; shape (R,)."""
        found: BoolArray = (self.expert != None) & np.isnan(self.propensity)  # noqa: E711
        return found

    def append(self, other: Judgements) -> Judgements:
        """Return one table with the rows of both."""
        both = ((column.name, [getattr(x, column.name) for x in (self, other)]) for column in fields(self))
        return Judgements(**{name: np.concatenate(parts) for name, parts in both})

    def take(self, rows: NDArray[Any]) -> Judgements:
        """Return the selected rows; `rows` holds positions or is a mask."""
        return Judgements(**{column.name: getattr(self, column.name)[rows] for column in fields(self)})


def _check_rows(name: str, column: NDArray[Any], good: NDArray[Any], rule: str) -> None:
    for row in np.flatnonzero(~good)[:1]:
        raise EstimateError(f"{name}[{row}] must {rule}, is {column[row]!r}")
