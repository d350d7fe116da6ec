"""Units of open answers, and the tables that draws and estimates use.

An *answer* is the text that a model wrote for an item. A *unit* is a criterion of the item's rubric (met or
not met; its points may be negative), or a claim of one answer (true or not; a whole answer can also be a
claim). A *question* shows an answer and a unit to an expert. Equal claims in answers of several models are
one question. If several answers are equal, a criterion is asked about only once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Unit:
    """A criterion or claim that experts judge.

    Attributes
    ----------
    id, item, text
        Id of the unit, id of its item, and the text that experts read.
    points
        Points of an answer that meets the unit; negative for something an answer should not do.
    field
        Field whose experts can judge the unit; None if unknown.
    answer
        Id of the answer that makes the claim; None for a criterion, which applies to every answer to the
        item.

    Examples
    --------
    >>> Unit("c1", "q1", "names the dose", points=2.0, field="medicine").answer is None
    True
    """

    id: str
    item: str
    text: str
    points: float = 1.0
    field: str | None = None
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class OpenAnswer:
    """A model's answer to an item: a text.

    Examples
    --------
    >>> OpenAnswer("a1", "q1", "model", "2 mg").model
    'model'
    """

    id: str
    item: str
    model: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTable:
    """One row per unit of every answer; questions are drawn from these rows.

    Attributes
    ----------
    item, model, answer, unit
        Shape (R,): ids. A model has at most one answer per item.
    points, field
        Shape (R,): as in `Unit`.
    question
        Shape (R,): index of the question; one judgement answers all rows with the same index.

    Examples
    --------
    >>> table = cross_units([Unit("c", "i", "names the dose")], [OpenAnswer("1", "i", "a", "2 mg")])
    >>> len(table), table.unit.tolist()
    (1, ['c'])
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


def cross_units(units: Iterable[Unit], answers: Sequence[OpenAnswer]) -> UnitTable:
    """List the units of every answer: its claims, and the criteria of its item.

    Raises
    ------
    EstimateError
        If a claim names an answer that is not given, or a model has two answers to an item.

    Examples
    --------
    >>> table = cross_units(
    ...     [Unit("c", "i", "names the dose")],
    ...     [OpenAnswer("1", "i", "a", "2 mg"), OpenAnswer("2", "i", "b", "2 mg")],
    ... )
    >>> table.answer.tolist(), table.question.tolist()
    (['1', '2'], [0, 0])
    """
    of_item: dict[str, list[OpenAnswer]] = {}
    by_id = {answer.id: answer for answer in answers}
    for answer in answers:
        there = of_item.setdefault(answer.item, [])
        if any(other.model == answer.model for other in there):
            raise EstimateError(f"model {answer.model!r} has two answers to item {answer.item!r}")
        there.append(answer)
    numbers: dict[tuple[str | None, ...], int] = {}
    rows: list[tuple[OpenAnswer, Unit, int]] = []
    for unit in units:
        if unit.answer is not None and unit.answer not in by_id:
            raise EstimateError(f"unit {unit.id!r} belongs to answer {unit.answer!r}, which is not given")
        for answer in of_item.get(unit.item, []) if unit.answer is None else [by_id[unit.answer]]:
            key = (
                (unit.item, unit.id, answer.text)
                if unit.answer is None
                else (unit.item, None, unit.text, unit.field)
            )
            rows.append((answer, unit, numbers.setdefault(key, len(numbers))))
    return UnitTable(
        item=_objects(answer.item for answer, _, _ in rows),
        model=_objects(answer.model for answer, _, _ in rows),
        answer=_objects(answer.id for answer, _, _ in rows),
        unit=_objects(unit.id for _, unit, _ in rows),
        points=np.array([unit.points for _, unit, _ in rows], dtype=np.float64),
        field=_objects(unit.field for _, unit, _ in rows),
        question=np.array([number for _, _, number in rows], dtype=np.int64),
    )


def _objects(values: Iterable[Any]) -> ObjectArray:
    found = list(values)
    column = np.empty(len(found), dtype=object)
    column[:] = found
    return column


def number_values(column: ObjectArray) -> tuple[IntArray, list[Any]]:
    """Return the index of each row's value, and the distinct values in the order of their first rows."""
    values = column.tolist()
    names = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return np.array([names[value] for value in values], dtype=np.int64), list(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgements:
    """Experts' judgements of units; one row for each answer, unit and expert in the unit's queue.

    A unit that was not drawn has one row. Columns have shape (R,).

    Attributes
    ----------
    item, model, answer, unit, points, field, question
        As in `UnitTable`.
    asked
        Whether the row's expert was asked.
    propensity
        Probability, fixed before any reply, that the unit is asked about. With the scheme "first no", it is
        the probability that the unit is the first of its answer to be asked about. NaN if the unit was not
        drawn, or was asked about only as a control question.
    order
        Place, counted from 1, at which the unit of its answer is asked about with the scheme "first no"; 0
        with the other schemes.
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

    item: ObjectArray
    model: ObjectArray
    answer: ObjectArray
    unit: ObjectArray
    points: FloatArray
    field: ObjectArray
    question: IntArray
    asked: BoolArray
    propensity: FloatArray
    order: IntArray
    expert: ObjectArray
    reply: ObjectArray
    gold: ObjectArray

    def __post_init__(self) -> None:
        for name in self.__slots__:
            _check_length(name, getattr(self, name), len(self))
        _check_rows("points", self.points, np.isfinite(self.points), "be a finite number")
        chance = self.propensity
        _check_rows("propensity", chance, ~((chance < 0) | (chance > 1 + 1e-9)), "lie in [0, 1]")
        said = self.reply != None  # noqa: E711
        for name, column, known in (("reply", self.reply, REPLIES), ("gold", self.gold, (YES, NO))):
            good = column == None  # noqa: E711
            for word in known:
                good = good | (column == word)
            _check_rows(name, column, good, f"be one of {', '.join(known)}, or None")
        _check_rows("reply", self.reply, self.asked | ~said, "be None where nobody was asked")

    def __len__(self) -> int:
        return len(self.item)

    @property
    def is_control(self) -> BoolArray:
        """Whether each row is a control question, which estimates of scores ignore; shape (R,)."""
        found: BoolArray = (self.expert != None) & np.isnan(self.propensity)  # noqa: E711
        return found

    def take(self, rows: NDArray[Any]) -> Judgements:
        """Return the selected rows; `rows` holds positions or is a mask."""
        return Judgements(**{name: getattr(self, name)[rows] for name in self.__slots__})


def _check_length(name: str, column: NDArray[Any], rows: int) -> None:
    if column.shape != (rows,):
        raise EstimateError(f"{name} must have {rows} rows, has the shape {column.shape}")


def _check_rows(name: str, column: NDArray[Any], good: NDArray[Any], rule: str) -> None:
    for row in np.flatnonzero(~good)[:1]:
        raise EstimateError(f"{name}[{row}] must {rule}, is {column[row]!r}")
