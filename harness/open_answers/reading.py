"""Find the state of every unit of each model's answers from experts' replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray, take_rows
from oversight.harness.errors import EstimateError
from oversight.harness.open_answers.units import (
    NO,
    NOT_MY_FIELD,
    YES,
    Judgements,
    ObjectArray,
    number_values,
)

GOOD, BAD, MISSING, UNASKED = 0, 1, 2, 3
"""States of a unit; MISSING: the unit was asked about, but there is no yes or no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUnits:
    """Units of one model's answers, one row each; columns have shape (U,).

    Attributes
    ----------
    item
        Index of the unit's item.
    points, propensity, order
        As in `Judgements`.
    field
        Field of the unit or, if the unit has none, field of the expert who accepted it; None if unknown.
    state
        GOOD, BAD, MISSING or UNASKED.
    judge
        A judge's probability of "yes"; NaN if it gave none.
    fields_known
        Whether the fields of all units were known before anyone was asked.
    """

    item: IntArray
    points: FloatArray
    field: ObjectArray
    state: IntArray
    propensity: FloatArray
    order: IntArray
    judge: FloatArray
    fields_known: bool

    def take(self, rows: IntArray) -> ModelUnits:
        """Return the units at the given positions."""
        return take_rows(self, rows)

    def rows_of_field(self, field: str | None) -> IntArray:
        """Return the positions of all units that are, or could be, in a field.

        A unit of unknown field could be in any field if its judgement is missing. If `field` is None, the
        positions of all units are returned.
        """
        if field is None:
            return np.arange(len(self.item))
        may_be = (self.field == None) & (self.state == MISSING)  # noqa: E711
        return np.flatnonzero((self.field == field) | may_be)

    def of_field(self, field: str | None) -> ModelUnits:
        """Return the units that `rows_of_field` selects."""
        return self if field is None else self.take(self.rows_of_field(field))

    @property
    def judge_bad(self) -> FloatArray:
        """The judge's probability that each unit is bad, shape (U,)."""
        return np.where(self.points < 0, self.judge, 1 - self.judge)


def read_units(
    judgements: Judgements, experts: Mapping[str, str], judge: FloatArray | None = None
) -> tuple[dict[Any, ModelUnits], list[Any]]:
    """Return model → its units, and the names of the items.

    The first yes or no about a unit counts. If all experts in a unit's queue said "not my field", its
    judgement counts as missing in two cases: its field was known, or experts of all fields were asked. In any
    other case, the unit counts as not asked (see `oversight.harness.open_answers.draw`). Control questions
    are left out.

    Raises
    ------
    EstimateError
        If an expert who accepted a unit of unknown field has no field.
    """
    answer, unit = number_values(judgements.answer)[0], number_values(judgements.unit)[0]
    key = answer * (unit.max(initial=0) + 1) + unit
    _, first, code = np.unique(key, return_index=True, return_inverse=True)
    item, items = number_values(judgements.item)
    model, models = number_values(judgements.model)
    state, accepted = _find_states(judgements, first, code, item, len(set(experts.values())))
    field = judgements.field[first].copy()
    fields_known = field != None  # noqa: E711
    for row in np.flatnonzero(accepted & ~fields_known[code]):
        expert = judgements.expert[row]
        if expert not in experts:
            raise EstimateError(f"expert {expert!r} has no field")
        field[code[row]] = experts[expert]
    columns: dict[str, Any] = {
        "item": item[first],
        "points": judgements.points[first],
        "field": field,
        "state": state,
        "propensity": judgements.propensity[first],
        "order": judgements.order[first],
        "judge": np.full(len(first), np.nan) if judge is None else judge[first],
    }
    of_model = model[first]
    found = dict[Any, ModelUnits]()
    for number, name in enumerate(models):
        rows = np.flatnonzero(of_model == number)
        mine = {key: column[rows] for key, column in columns.items()}
        found[name] = ModelUnits(**mine, fields_known=bool(fields_known[rows].all()))
    return found, items


def _find_states(
    judgements: Judgements, first: IntArray, code: IntArray, item: IntArray, fields: int
) -> tuple[IntArray, BoolArray]:
    """Return the state of every unit, and whether the expert of each row of `judgements` accepted the unit.

    To accept a unit means to reply anything except "not my field".
    """
    size, reply = len(first), judgements.reply

    def count(mask: BoolArray) -> IntArray:
        return np.bincount(code[mask], minlength=size)

    in_line = judgements.expert != None  # noqa: E711
    put = judgements.asked & in_line
    said = put & ((reply == YES) | (reply == NO))
    declined = put & (reply == NOT_MY_FIELD)
    decisive = np.full(size, len(judgements) - 1)
    np.minimum.at(decisive, code[said], np.flatnonzero(said))
    yes = reply[decisive] == YES
    state = np.where(yes == (judgements.points[first] >= 0), GOOD, BAD)

    drawn, refusals = count(in_line) > 0, count(declined)
    unknown = judgements.field[first] == None  # noqa: E711
    not_reached = unknown & (refusals == count(in_line)) & (refusals < fields)
    begun = np.bincount(item[put], minlength=int(item.max(initial=0)) + 1)[item[first]] > 0
    waits = drawn & begun & (judgements.order[first] == 0)
    missing = ((count(put) > 0) | waits) & ~not_reached
    state = np.where(count(said) > 0, state, np.where(missing, MISSING, UNASKED))
    return state, put & ~declined & (reply != None)  # noqa: E711
